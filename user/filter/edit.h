/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bans put into, and taken out of, the arrays of a generation in force.
 *
 * An edit is planned first: every key gets its place, nothing is written, and what cannot be done exactly fails here.
 * Making it afterwards cannot fail. A key that stays is never absent meanwhile.
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
	__u64 *taken; /* slots that earlier steps use: a hash set */
	size_t taken_n, taken_room;
	__u64 new4, new6, net24s, gone4, gone6, swept;
	__u8 label; /* of what is being put in */
	__u8 list;  /* what goes was on this list's account; 0: on that of live bans */
	bool must_wait;
	bool full; /* -EAGAIN because there was no room */
	/* Returns when no reader is left that began before. NULL: the kernel cannot say; then no key moves. */
	void (*wait)(void);
};

/* Errors end the edit: -EAGAIN where it takes a new generation, -ENOMEM. */
void edit_begin(struct edit *edit, struct generation *g);
/* All on one account of live bans. The caller has taken out what is allowed. */
int edit_ban(struct edit *edit, const struct owned *wanted);
/* Prefixes of IPv6 are banned as keys of the next length that there are, at most 2^EDIT_SPAN6 of them. */
#define EDIT_SPAN6 12
/* This length, or where its keys would be more than that, the shortest behind it that can be banned. */
unsigned int edit_nearest6(const struct generation *g, unsigned int length);
/* No live ban, or not that list, holds these any more, and nobody else does. */
int edit_unban4(struct edit *edit, const struct ranges *gone);
/*
 * A ban of exactly this prefix is gone. covered: other bans hold all of it, and each wider key is what one of them
 * left; otherwise none holds any of it.
 */
int edit_unban6(struct edit *edit, ip6 first, unsigned int length, bool covered);
/* That list does not hold this prefix any more, and nobody else any part of it. */
int edit_unlist6(struct edit *edit, ip6 first, unsigned int length);
/*
 * Nothing of this prefix is to be dropped any more, whoever banned it. -EAGAIN too where a wider key holds it, or it
 * may have more keys than can be asked for.
 */
int edit_allow6(struct edit *edit, ip6 first, unsigned int length);
/* The next wider key of a live ban that holds it: *first, and its length. -ENOENT: none. */
int edit_wider6(const struct edit *edit, ip6 *first, unsigned int length);
/* Is its own key there, and one that has no end? */
bool edit_lasts6(const struct edit *edit, ip6 first, unsigned int length);
/* Has a ban of this length a key of its own? */
bool edit_has_rung6(const struct edit *edit, unsigned int length);
/* The plan is complete: is what comes out worth having? */
int edit_worthwhile(const struct edit *edit);
/* All that edit_make() will touch is there afterwards, or live_map_failed(). */
void edit_bring_in(const struct edit *edit);
/* Makes the changes, and updates the description in g. */
void edit_make(struct edit *edit);
void edit_end(struct edit *edit);

/* The default of wait: membarrier(2), where the kernel supports it. */
bool edit_can_wait(void);
void edit_wait(void);

#endif
