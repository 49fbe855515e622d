/* SPDX-License-Identifier: GPL-2.0-only */
/* When to try again what failed: soon at first, then backing off. Times are in ms of CLOCK_MONOTONIC. */
#ifndef SERVICE_RETRY_H
#define SERVICE_RETRY_H

#include <stdint.h>

struct retry {
	int64_t first, most; /* how long to wait */
	int64_t at;	     /* INT64_MAX: nothing to try */
	int64_t wait;	     /* the last one; 0: nothing failed */
};

static inline void retry_later(struct retry *r, int64_t now)
{
	r->wait = !r->wait ? r->first : 2 * r->wait < r->most ? 2 * r->wait : r->most;
	r->at = now + r->wait;
}

static inline void retry_forget(struct retry *r)
{
	r->wait = 0;
	r->at = INT64_MAX;
}

#endif
