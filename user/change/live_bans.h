/* SPDX-License-Identifier: GPL-2.0-only */
/* Puts live bans into force: by editing arrays in place where that is exact, else through a new generation. */
#ifndef CHANGE_LIVE_BANS_H
#define CHANGE_LIVE_BANS_H

#include <stddef.h>

#include "sets/prefixes.h"
#include "sets/ranges.h"

struct candidate;
struct edit;
struct ends;
struct guard;
struct live;
struct state;

/* Prefixes whose bans were added, renewed or taken out. */
struct touched {
	struct ranges set;
	struct touched6 {
		ip6 first;
		unsigned int length;
	} * v6;
	size_t n6;
	struct prefixes each;
	/*
	 * Of the set: held is banned by a live ban, gone by none; allowed addresses are in neither. Of held, ending is
	 * what only bans hold that end.
	 */
	struct ranges allowed, banned, held, gone, ending;
	bool ends; /* that has a label of its own */
};

int touched_add(struct touched *touched, struct addr first, unsigned int length);
/* After the last touched_add(): asks the state which are banned now. */
int touched_divide(struct touched *touched, struct state *state);
void touched_free(struct touched *touched);

/*
 * After touched_divide(): commits, and brings the kernel up to date, where the guard accepts it. On failure nothing is
 * committed or changed.
 */
int bans_into_force(struct state *state, struct live *live, const struct touched *touched, struct guard *guard);

/*
 * Behind a new generation: what waits for confirmation, and comes back by itself, gets these bans too, or it is said
 * that it has not. and_more: also what no edit brings in.
 */
void before_has_it(struct state *state, struct live *live, const struct touched *touched, const struct guard *guard,
		   bool and_more);

/* What was planned: commits, and makes it. After edit_bring_in(); on failure nothing is committed or changed. */
int edit_commit(struct state *state, struct live *live, struct candidate *candidate, struct edit *edit,
		const struct ends *ends);

#endif
