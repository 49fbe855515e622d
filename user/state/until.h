/* SPDX-License-Identifier: GPL-2.0-only */
/* When the lists and bans of a state drop an address, from now on. */
#ifndef STATE_UNTIL_H
#define STATE_UNTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sets/address.h"
#include "sets/ranges.h"

struct scope;
struct state;

#define UNTIL_ENDLESS INT64_MAX

/*
 * From then (0: now) until then, in seconds since the epoch, packets of an address are dropped: those of a scope. due:
 * the same end by clock_boot(), where that decides; 0: the date does.
 */
struct period {
	int64_t from, to, due;
	size_t scope;
};

/*
 * All of one address. What waits for confirmation goes back at its deadline, and what it took the place of comes back:
 * at once, where that is over.
 */
struct until {
	struct period *periods;
	size_t n;
	int64_t excepted; /* an exception lets it through until then, */
	int64_t again;	  /* and again from then on; 0: none does */
};

/* Of each of several; the first scope is that of all packets. */
struct untils {
	struct until *of;
	size_t n;
	struct scope *scopes;
	size_t scopes_n;
	int64_t image; /* when the image in force goes back */
};

/* What of all that waits is the first that is confirmed: UNTIL_ENDLESS, nothing, or each one there is. free() it. */
int state_first_kept(struct state *state, int64_t **first, size_t *n);
/* With that, what goes back before it does so, and the rest stays. untils_free() it, also after an error. */
int state_until(struct state *state, const struct addr *addrs, size_t n, int64_t first_kept, struct untils *untils);
void untils_free(struct untils *untils);
/* Something else drops it from then until then, as far as no exception lets it through. */
int until_dropped(struct until *until, struct period period);
/* What is allowed only until what waits goes back. */
int state_allowed_waiting(struct state *state, struct ranges *waiting);
/* And what is allowed now and then. */
int state_allowed_staying(struct state *state, struct ranges *staying);
/*
 * All that may be dropped when what waits goes back, and is not now: what an exception holds that goes, and with `bans`
 * what lists and bans do that come back; all there is, where an image does.
 */
int state_later(struct state *state, bool bans, struct ranges *later);

#endif
