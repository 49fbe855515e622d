/* SPDX-License-Identifier: GPL-2.0-only */
/* For how long the lists and bans of a state drop an address. */
#ifndef STATE_UNTIL_H
#define STATE_UNTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sets/address.h"
#include "sets/ranges.h"

struct state;

#define UNTIL_ENDLESS INT64_MAX

/*
 * Until that date, in seconds since the epoch; 0: it is not dropped. What waits for confirmation goes back at its
 * deadline, and what it took the place of comes back.
 */
struct until {
	int64_t all;	  /* its packets */
	int64_t some;	  /* those of a scope */
	int64_t excepted; /* an exception lets it through until then, */
	int64_t again;	  /* and again from then on; 0: none does */
};

int state_until(struct state *state, const struct addr *addrs, size_t n, struct until *until);
/* Something else drops it from then (0: now) until then, as far as no exception lets it through. */
void until_dropped(struct until *until, bool scoped, int64_t from, int64_t to);
/* What is allowed only until what waits goes back. */
int state_allowed_waiting(struct state *state, struct ranges *waiting);
/*
 * All that may be dropped when what waits goes back, and is not now: what an exception holds that goes, and with `bans`
 * what lists and bans do that come back; all there is, where an image does.
 */
int state_later(struct state *state, bool bans, struct ranges *later);

#endif
