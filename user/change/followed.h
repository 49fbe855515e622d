/* SPDX-License-Identifier: GPL-2.0-only */
/* A list that follows something else than a file: all that it is to hold is put into force, as often as that changes.
 */
#ifndef CHANGE_FOLLOWED_H
#define CHANGE_FOLLOWED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sets/list.h"
#include "sets/ranges.h"

struct context;
struct own_address;

struct followed {
	const char *list, *source;
	bool shadow; /* where there is no such list yet */
	bool wide;   /* it may ban much; how wide each prefix of it is, is for whoever calls to judge */
};

struct followed_put {
	bool changed;  /* it was not so already */
	bool too_much; /* and is refused for that */
	int64_t waits; /* so does a change of the list, for so many ns: it is refused until then; 0: none does */
	uint64_t prefixes;
	ip6 came, went;		    /* addresses */
	struct own_address *spared; /* what this machine needs, and is not banned therefore */
	size_t spared_n;
	unsigned long long generation;
};

/*
 * What this machine needs is taken out of the set. -GUARD_REFUSED: the list would ban too much in all, or another
 * guard rail refuses it; what was in force stays. -EBUSY: a change of the list waits for confirmation, and would undo
 * this as it goes back. Another -errno likewise. followed_put_free() in any case.
 */
int followed_put(struct context *context, const struct followed *followed, struct ranges *set,
		 struct followed_put *put);
void followed_put_free(struct followed_put *put);

/* That nobody else makes this list what it follows; until this process ends. -EBUSY: somebody does. */
int followed_alone(const struct context *context, const struct followed *followed);

/* What the list holds now; empty where there is none. -EEXIST where it is another's. */
int followed_get(struct context *context, const struct followed *followed, struct ranges *set);

#endif
