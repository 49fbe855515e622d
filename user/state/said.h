/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who says that a prefix is banned, each on an account of its own. The table of bans (bans.h) has what is in force. A
 * prefix that only this machine bans has no row here; where others say it, too, this machine's own ban is one of the
 * rows.
 */
#ifndef STATE_SAID_H
#define STATE_SAID_H

#include "sets/prefixes.h"
#include "state/bans.h"

struct said {
	struct ban ban;
	int64_t member; /* state/members.h; MEMBER_OWN: this machine itself */
};

/* A member's word that counts for nothing until this machine needs the prefix no more: as what date it is is kept. */
#define SAID_WAITS 0

static inline bool said_waits(const struct said *said)
{
	return said->member && said->ban.added == SAID_WAITS;
}

/* Is there any? 1, 0 or -errno. Otherwise a ban is what it was before there were fleets. */
int state_said_any(struct state *state);
/* All of exactly this prefix, this machine's first; free() the array. */
int state_said_of(struct state *state, struct addr first, unsigned int length, struct said **said, size_t *n);
/* All of a member, in the order of bans; free() the array. */
int state_said_by(struct state *state, int64_t member, struct said **said, size_t *n);
/* Of all members, the same. */
int state_said(struct state *state, struct said **said, size_t *n);
/* Of all members, what waits. */
int state_said_waiting(struct state *state, struct said **said, size_t *n);
/* How many rows each has, by its number; free() the array. */
struct said_count {
	int64_t member, n;
};
int state_said_counts(struct state *state, struct said_count **counts, size_t *n);
/* How many rows a member has. */
int state_said_count(struct state *state, int64_t member, int64_t *n);
/* One of the same prefix and member is replaced: *fresh says whether there was none. */
int state_said_put(struct state *state, const struct said *said, bool *fresh);
/* -ENOENT where there is none. */
int state_said_drop(struct state *state, struct addr first, unsigned int length, int64_t member);

/* Nor does it come back when an image does that waits; `p` NULL: all of the member. */
int state_said_no_more(struct state *state, const struct prefix *p, int64_t member);
/* What came back is in no ban yet: account_judge_returned(). */
bool state_said_came_back(const struct state *state);
void state_said_is_judged(struct state *state);

#endif
