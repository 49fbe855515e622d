/* SPDX-License-Identifier: GPL-2.0-only */
/* How often the detector has banned whom, for as long as that counts. */
#ifndef STATE_STRIKES_H
#define STATE_STRIKES_H

#include <stddef.h>
#include <stdint.h>

#include "sets/address.h"

struct ladder;
struct state;

struct strike {
	struct addr first;
	unsigned int length;
	unsigned int strikes; /* 0: it was not banned, as this machine needs it */
	int64_t ended;	      /* when the last ban ends, or when that was said; seconds since the epoch */
};

#define STRIKES_MOST 100000
/* How long it is known that it was said. */
#define STRIKE_SAID 3600

/* -ENOENT: it has none. */
int state_strike_get(struct state *state, struct addr first, unsigned int length, struct strike *strike);
int state_strike_put(struct state *state, const struct strike *strike);
int state_strike_drop(struct state *state, struct addr first, unsigned int length);
/*
 * Before any is put: drops those that have fallen to nothing. One that ends later than any ban can was written before
 * the clock was set back: it counts from now on.
 */
int state_strikes_fall(struct state *state, const struct ladder *ladder, int64_t now);
/* After the last: where there are more than STRIKES_MOST, those go whose bans ended first. */
int state_strikes_bound(struct state *state);
/* All of them; free() the array. */
int state_strikes(struct state *state, struct strike **strikes, size_t *n);

#endif
