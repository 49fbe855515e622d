/* SPDX-License-Identifier: GPL-2.0-only */
/* Who banned what: ranges, each on the account of one list. What the arrays are built from. */
#ifndef SETS_OWNED_H
#define SETS_OWNED_H

#include <stdbool.h>

#include "sets/ranges.h"

struct owned {
	struct range4 *v4; /* sorted, disjoint; adjacent ones differ in their label */
	/* Prefixes, the first list's first. They may lie within each other: the longest decides the account. */
	struct range6 *v6;
	uint8_t *label4, *label6;
	size_t n4, n6;
};

struct account {
	const struct ranges *banned;
	uint8_t label;
};

/*
 * Where several accounts hold an address, the first one counts; what is allowed is on no account. 0, -ENOMEM,
 * or -E2BIG and the reason where IPv6 ranges are more prefixes than there is memory for.
 */
int owned_settle(struct owned *out, const struct account *accounts, size_t count, const struct ranges *allowed);
/* One account with nothing allowed: the set moves into it, and is empty afterwards. Errors as above. */
int owned_take(struct owned *out, struct ranges *set, uint8_t label);
/* What a holds stays on a's accounts, b has what is left. Both are empty afterwards. */
int owned_behind(struct owned *out, struct owned *a, struct owned *b);
void owned_free(struct owned *owned);

/*
 * Walks the IPv4 side by /24: either a run of whole /24s on one account, or one /24 with the ranges that touch it,
 * whole or not. Start with a walk of zeros.
 */
struct net24_walk {
	size_t next;	      /* the first range that is not done */
	uint64_t at;	      /* the first address that is not done */
	uint32_t first, last; /* /24 numbers, both included; last == first unless it is a run */
	size_t from, until;   /* the ranges that touch it */
	uint32_t banned;      /* addresses banned of it, when first == last */
	bool run;	      /* every address, one account */
};

bool owned_next_net24(const struct owned *owned, struct net24_walk *walk);

/* The part of range i that lies in that /24. */
struct range4 owned_clip24(const struct owned *owned, size_t i, uint32_t net24);

/* Of a /24 that is banned whole on several accounts: the one that holds most of it. The gate drops it on that one. */
uint8_t owned_majority24(const struct owned *owned, const struct net24_walk *walk);

#endif
