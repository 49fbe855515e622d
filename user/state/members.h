/* SPDX-License-Identifier: GPL-2.0-only */
/* Members of a fleet: what each may say, and what became of what it said. Each has a number, by which its bans know it.
 */
#ifndef STATE_MEMBERS_H
#define STATE_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fleet/name.h"

struct state;

#define MEMBER_WHY_MAX 128
/* Whoever has no rule of its own; no member is called so. */
#define MEMBER_ANY "*"
/* What this machine says itself, where others say it, too. */
#define MEMBER_OWN 0
/* Nobody fills the state with names: so many are kept that no rule names; and where nobody may say anything without a
   rule of his own, so many as one wants to see of those who try. */
#define MEMBERS_MOST   4096
#define STRANGERS_MOST 64

enum member_rule { MEMBER_BY_ANY, MEMBER_ACCEPTED, MEMBER_REFUSED, MEMBER_RULES };

/* What a member may. */
struct member_limits {
	int64_t entries;      /* so many bans at a time */
	int64_t ttl;	      /* seconds; what is said for longer is shortened to that */
	unsigned int wide[2]; /* no shorter prefix, of IPv4 and of IPv6 */
	double rate;	      /* bans a second, beyond the first `entries` */
	bool shadow;	      /* they are kept and shown, and drop nothing */
	unsigned int quorum;  /* in force once so many members say it */
};

#define MEMBER_ENTRIES_MOST 10000000
#define MEMBER_TTL_MOST	    (366LL * 24 * 3600)
#define MEMBER_RATE_MOST    1e6
#define MEMBER_QUORUM_MOST  1000

static const struct member_limits member_limits_default = {
	.entries = 100000, .ttl = 86400, .wide = { 24, 48 }, .rate = 1000, .quorum = 1
};

struct member {
	int64_t id; /* from 1 on */
	char name[MEMBER_NAME_MAX];
	enum member_rule rule;
	struct member_limits limits; /* of its own rule */
	/* What became of it: */
	int64_t heard;	 /* its last word, seconds since the epoch; 0: never */
	int64_t free_at; /* when it has used nothing of its rate, in us since the epoch */
	int64_t taken, ended, refused;
	char why[MEMBER_WHY_MAX]; /* the last refusal */
};

/* A member's, or that of all others. */
bool member_name_is_sound(const char *name, bool or_any);

/* By name, and MEMBER_ANY first; free() the array. */
int state_members(struct state *state, struct member **members, size_t *n);
/* -ENOENT where there is none of that name. */
int state_member_get(struct state *state, const char *name, struct member *member);
/* One whose id is 0 gets one. */
int state_member_put(struct state *state, struct member *member);
/* With all that it said. */
int state_member_drop(struct state *state, int64_t id);

#endif
