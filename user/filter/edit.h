/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bans put into, and taken out of, the arrays of a generation that packets are looking at.
 *
 * An edit is planned first: every key gets its place, nothing is written, and whatever cannot be done exactly says so
 * while it costs nothing. Making it afterwards cannot fail. A key that was there is never absent meanwhile.
 */
#ifndef FILTER_EDIT_H
#define FILTER_EDIT_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/abi.h"
#include "sets/ranges.h"

struct owned;
struct step;

struct edit {
	struct generation *g; /* the members that stand for arrays are their addresses */
	struct step *steps;
	size_t n;
	__u64 *taken; /* slots that a step before has its eye on: a hash set */
	size_t taken_n, taken_room;
	__u64 new4, new6, net24s, gone4, gone6, swept;
	bool must_wait;
	bool full; /* -EAGAIN because there was no room */
	/* Returns when no reader is left that began before. NULL: the kernel cannot say; then no key moves. */
	void (*wait)(void);
};

/* Everything but 0 ends the edit: -EAGAIN where only a new generation will do, -ENOMEM. */
void edit_begin(struct edit *edit, struct generation *g);
/* On the account of live bans; less what is allowed, which the caller has taken out. */
int edit_ban(struct edit *edit, const struct owned *wanted);
/* No live ban holds these any more. */
int edit_unban4(struct edit *edit, const struct ranges *gone);
/* A ban of exactly this prefix is gone. covered: other bans hold all of it; otherwise none holds any of it. */
int edit_unban6(struct edit *edit, ip6 first, unsigned int length, bool covered);
/* The plan is complete: is what comes out worth having? */
int edit_worthwhile(const struct edit *edit);
/* All that edit_make() will touch is there afterwards, or live_map_failed(). */
void edit_bring_in(const struct edit *edit);
/* Does it, and brings the description in g up to date. */
void edit_make(struct edit *edit);
void edit_end(struct edit *edit);

/* Have so many keys been taken out that what is left of them in the filter is worth a rotation? */
bool edit_wants_rotation(const struct generation *g);

/* The default of wait: where the kernel has it. */
bool edit_can_wait(void);
void edit_wait(void);

#endif
