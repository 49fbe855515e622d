/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bans on accounts: this machine's own, and those of the members of a fleet, each within what the receiver accepts of
 * it. In force is what this machine says, or enough of the members. 0 or -errno with the reason recorded.
 */
#ifndef CHANGE_ACCOUNTS_H
#define CHANGE_ACCOUNTS_H

#include "sets/prefixes.h"
#include "state/members.h"
#include "state/said.h"

struct change;
struct own_address;

struct account_held {
	struct member is;
	int64_t held; /* bans on its account, once counted */
	bool counted, changed;
};

/* What a change has learned of them; all zeros: nothing. */
struct accounts {
	struct account_held *at; /* by their numbers */
	size_t n, last;
	bool known;
	struct ranges asked;	   /* what members want banned */
	struct own_address *needs; /* what this machine needs of that */
	size_t needs_n;
	bool holds; /* what is said next is not to come into force yet */
	bool waits; /* what was said last waits */
};

/* This machine's own ban of exactly this prefix; -ENOENT where it has none. */
int account_own(struct state *state, struct addr first, unsigned int length, struct ban *own);
/* Adds or replaces it. */
int account_own_put(struct change *change, const struct ban *own);
/* -ENOENT where there is none. What members say stays. */
int account_own_drop(struct change *change, struct addr first, unsigned int length);
/* After it was put or dropped by other ways: those of a fleet hear of it. `fresh`: there was none before. */
int account_own_changed(struct change *change, const struct ban *own, bool fresh);
/* Is its ban one of several accounts? Then that is where it is kept. 1, 0 or -errno. */
int account_beside(struct state *state, struct addr first, unsigned int length);
/* Does any member say it? 1, 0 or -errno. */
int account_others(struct state *state, struct addr first, unsigned int length);

/* Before the first account_say(): what members want banned, and this machine may need. */
int account_asked(struct change *change, const struct prefix *prefix);
int account_asked_all(struct change *change);
/*
 * A member bans: *taken says whether it may. seconds 0: without an end. What this machine needs is kept on its account
 * and waits; what counts already goes on, as no more of it is dropped then.
 */
int account_say(struct change *change, const char *member, const struct prefix *prefix, double seconds, const char *why,
		bool *taken, bool *fresh);
/* What it said, and waits, comes into force if it is needed no more. */
int account_again(struct change *change, const char *member, const struct prefix *prefix, bool *taken);
/* Or ends its ban. -ENOENT where it has none. */
int account_unsay(struct change *change, const char *member, const struct prefix *prefix);
/* All that a member has said ends; *n: so many. -ENOENT where there is no such member. */
int account_forget(struct change *change, const char *member, size_t *n);
/* What it may from now on; what it said before is judged by that. `limits` NULL: it is refused. */
int account_rule(struct change *change, const char *member, const struct member_limits *limits);
/* Before the commit. */
int accounts_put(struct change *change);
void accounts_free(struct accounts *accounts);

/* The limits that hold for it, and whether it is accepted at all. `any`: that of MEMBER_ANY, or NULL. */
const struct member_limits *member_limits_of(const struct member *member, const struct member *any, bool *accepted);

#endif
