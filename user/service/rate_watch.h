/* SPDX-License-Identifier: GPL-2.0-only */
/* When to measure whether the filter's rate of false yes exceeds the target; then a rotation into a larger one is due.
 */
#ifndef SERVICE_RATE_WATCH_H
#define SERVICE_RATE_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <linux/types.h>

struct context;

/* ms: how long to wait after a rotation that failed or did not help. */
#define ROTATE_AGAIN 600000

/* Times are in ms of CLOCK_MONOTONIC. */
struct rate_watch {
	int64_t at;   /* when to measure; INT64_MAX: not at all */
	int64_t next; /* not before */
	int64_t began;
	__u64 number, edits; /* the generation that was measured last */
};

/* The generation may be another, or was edited: then it is to be measured. */
void rate_watch_schedule(struct rate_watch *w, const struct context *context, int64_t now);
/* It is measured again, whatever is in force. */
void rate_watch_forget(struct rate_watch *w);

/* A job measures it: when that begins, its function (EXIT_PASSES: rotate), when it ends. */
void rate_watch_begin(struct rate_watch *w, int64_t now);
int rate_watch_run(const struct context *context);
void rate_watch_end(struct rate_watch *w, int64_t now, bool due);

#endif
