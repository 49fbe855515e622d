/* SPDX-License-Identifier: GPL-2.0-only */
/* Adding and deleting live bans within a change. 0 or -errno with the reason recorded. */
#ifndef CHANGE_BAN_H
#define CHANGE_BAN_H

#include "base/options.h"
#include "change/change.h"
#include "sets/prefixes.h"
#include "sets/scope.h"
#include "state/bans.h"

struct ban_options {
	struct number ttl;
	const char *reason;
	bool keep_longer, replace, force, mask;
	struct number confirm;
	struct scope scope;
};

/* The result of ban_add(). */
struct banned {
	size_t added, renewed, kept;
	size_t refused;	       /* of members of a fleet: fleet shows why */
	struct ban *shortened; /* as they were before */
	struct ban *longer;    /* their ends stay, later than what was asked for */
	struct ban *reasons;   /* their reasons stay, although another was given */
	struct ban *former;    /* their reasons are gone, as what was asked for ends later */
	size_t shortened_n, longer_n, reasons_n, former_n;
	int64_t ends; /* when those end now that became shorter */
};

int ban_add(struct change *change, const struct ban_options *options, const struct prefixes *prefixes,
	    struct banned *banned);

/* One of many, each with its own time and reason. */
struct ban_order {
	struct prefix prefix;
	double ttl;	     /* seconds; 0: without an end. Of one to take out: what it has, if it is not any */
	const char *reason;  /* NULL: none is given */
	const char *account; /* the member of a fleet that says it; NULL: this machine */
	bool del, missed;    /* missed: there was no such ban to take out; or it is another's, and stays */
	bool much;	     /* left out, by ban_sum() */
	/* Of a member's word: it has been said, and waits (change/accounts.h); it is to wait, and afterwards: it does.
	 */
	bool again, waits;
};

/*
 * All of them, in their order; what they cost does not depend on how many bans there are. `whose`: what the reasons of
 * bans begin with that may be changed or taken out, or NULL: any. Behind one that ends later, another's ban is kept
 * until its own end (change/behind.h); and one that lasts longer now than its order says has become another's.
 */
int ban_orders(struct change *change, const struct ban_options *options, const char *whose, struct ban_order *orders,
	       size_t n, struct banned *banned);
void banned_free(struct banned *banned);
/*
 * With a reason, only bans that have it; with a scope (NULL: none is given), only those that have that one. *build: a
 * new generation is needed.
 */
int ban_del(struct change *change, const struct prefixes *prefixes, const char *reason, const struct scope *scope,
	    bool *build);

/* The list on whose account an answer drops; NULL if the arrays do not say. */
const char *ban_answer_list(const struct list_info *lists, size_t n, __u32 answer);

#endif
