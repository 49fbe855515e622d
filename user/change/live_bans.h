/* SPDX-License-Identifier: GPL-2.0-only */
/* Live bans from the state into force: in place where that is exact, through a new generation where it is not. */
#ifndef CHANGE_LIVE_BANS_H
#define CHANGE_LIVE_BANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sets/ranges.h"

struct live;
struct state;

/* Prefixes that were banned, renewed or taken out: what has to agree again. */
struct touched {
	struct ranges set;
	struct touched6 {
		ip6 first;
		unsigned int length;
	} * v6;
	size_t n6;
	/* Of the set: held is banned by the state, gone by nobody; what is allowed is in neither. */
	struct ranges allowed, banned, held, gone;
};

int touched_add(struct touched *touched, struct addr first, unsigned int length);
/* Once all are in it: asks the state what became of them. */
int touched_divide(struct touched *touched, struct state *state);
void touched_free(struct touched *touched);

/*
 * Makes the kernel agree with what the open state holds of these prefixes, divided, and commits it. When it fails the
 * state is not committed and the kernel goes on as it was.
 */
int bans_into_force(struct state *state, struct live *live, const struct touched *touched);

#endif
