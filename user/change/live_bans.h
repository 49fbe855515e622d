/* SPDX-License-Identifier: GPL-2.0-only */
/* Live bans from the state into force: in place where that is exact, through a new generation where it is not. */
#ifndef CHANGE_LIVE_BANS_H
#define CHANGE_LIVE_BANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sets/ranges.h"

struct generation;
struct state;

/* Prefixes that were banned, renewed or taken out: what has to agree again. */
struct touched {
	struct ranges set;
	struct touched6 {
		ip6 first;
		unsigned int length;
	} * v6;
	size_t n6;
};

int touched_add(struct touched *touched, struct addr first, unsigned int length);
void touched_free(struct touched *touched);

/*
 * Makes the kernel agree with what the open state holds of these prefixes, and commits it. When it fails the state is
 * not committed and the kernel goes on as it was.
 */
int bans_into_force(struct state *state, struct touched *touched);

/* Is the generation in force the state's own, edited up to what the state says? */
bool bans_agree(struct state *state);
/* -ENODATA where the state knows nothing of what is in force: an older copy of it, or another's. */
int bans_known(struct state *state, const struct generation *live);
/* Was something committed that never got into the kernel? Not where there is nothing in force at all. */
bool bans_behind(struct state *state);

#endif
