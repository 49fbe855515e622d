// SPDX-License-Identifier: GPL-2.0-only
#include "sets/combined.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Ranges of IPv4, sorted and disjoint, and who holds each. */
struct side {
	struct range4 *at;
	uint64_t *mask;
	size_t n;
};

static void side_free(struct side *side)
{
	free(side->at);
	free(side->mask);
	*side = (struct side){ 0 };
}

static void put(struct side *out, uint32_t lo, uint32_t hi, uint64_t mask)
{
	out->at[out->n] = (struct range4){ lo, hi };
	out->mask[out->n++] = mask;
}

/* Each range begins or ends at most one piece at each of its ends; no two beside each other are of the same. */
static int join4(struct side *out, const struct side *a, const struct ranges *b, uint64_t bit)
{
	size_t room = 2 * (a->n + b->n4) + 1, i = 0, j = 0;
	uint64_t at = 0;

	out->n = 0;
	out->at = malloc(room * sizeof(*out->at));
	out->mask = malloc(room * sizeof(*out->mask));
	if (!out->at || !out->mask)
		return -ENOMEM;
	while (i < a->n || j < b->n4) {
		bool in_a = i < a->n && a->at[i].lo <= at, in_b = j < b->n4 && b->v4[j].lo <= at;
		uint64_t until = UINT32_MAX;

		if (i < a->n)
			until = in_a ? a->at[i].hi : a->at[i].lo - 1ULL;
		if (j < b->n4) {
			uint64_t other = in_b ? b->v4[j].hi : b->v4[j].lo - 1ULL;

			until = other < until ? other : until;
		}
		if (in_a || in_b)
			put(out, (uint32_t)at, (uint32_t)until, (in_a ? a->mask[i] : 0) | (in_b ? bit : 0));
		at = until + 1;
		if (in_a && a->at[i].hi < at)
			i++;
		if (in_b && b->v4[j].hi < at)
			j++;
	}
	return 0;
}

struct prefix6 {
	struct range6 at;
	uint64_t mask;
};

/* Of prefixes that hold each other the widest comes first. */
static int widest_first(const void *a, const void *b)
{
	const struct range6 *x = &((const struct prefix6 *)a)->at, *y = &((const struct prefix6 *)b)->at;

	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return x->hi == y->hi ? 0 : x->hi > y->hi ? -1 : 1;
}

static int longest_first(const void *a, const void *b)
{
	const struct range6 *x = &((const struct prefix6 *)a)->at, *y = &((const struct prefix6 *)b)->at;
	ip6 one = x->hi - x->lo, other = y->hi - y->lo;

	if (one != other)
		return one < other ? -1 : 1;
	return x->lo == y->lo ? 0 : x->lo < y->lo ? -1 : 1;
}

/* Each has what those that hold it have, too. Equal ones become one. */
static size_t inherit(struct prefix6 *all, size_t n)
{
	const struct prefix6 *around[129];
	size_t kept = 0, depth = 0;

	for (size_t i = 0; i < n; i++) {
		struct prefix6 one = all[i];

		for (; i + 1 < n && !widest_first(&all[i + 1], &one); i++)
			one.mask |= all[i + 1].mask;
		while (depth && around[depth - 1]->at.hi < one.at.lo)
			depth--;
		if (depth)
			one.mask |= around[depth - 1]->mask;
		all[kept] = one;
		around[depth++] = &all[kept++];
	}
	return kept;
}

static int add6(struct prefix6 **all, size_t *n, const struct owned *cut, uint64_t bit)
{
	struct prefix6 *grown = cut->n6 ? reallocarray(*all, *n + cut->n6, sizeof(*grown)) : *all;

	if (cut->n6 && !grown)
		return -ENOMEM;
	*all = grown;
	for (size_t i = 0; i < cut->n6; i++)
		grown[(*n)++] = (struct prefix6){ cut->v6[i], bit };
	return 0;
}

/* Neighbours on one account become one where they go behind the others. */
static int label4(struct owned *out, const struct side *side, const struct combined *c)
{
	int err = 0;

	out->v4 = malloc((side->n + 1) * sizeof(*out->v4));
	out->label4 = malloc(side->n + 1);
	if (!out->v4 || !out->label4)
		return -ENOMEM;
	for (; out->n4 < side->n && !err; out->n4++) {
		out->v4[out->n4] = side->at[out->n4];
		err = c->label_of(c->arg, side->mask[out->n4], &out->label4[out->n4]);
	}
	return err;
}

/* Longest first: where the rungs cut two of them into the same keys, the earlier one's stay. */
static int label6(struct owned *out, struct prefix6 *all, size_t n, const struct combined *c)
{
	int err = 0;

	out->v6 = malloc((n + 1) * sizeof(*out->v6));
	out->label6 = malloc(n + 1);
	if (!out->v6 || !out->label6)
		return -ENOMEM;
	if (n)
		qsort(all, n, sizeof(*all), longest_first);
	for (; out->n6 < n && !err; out->n6++) {
		out->v6[out->n6] = all[out->n6].at;
		err = c->label_of(c->arg, all[out->n6].mask, &out->label6[out->n6]);
	}
	return err;
}

static int join(struct owned *out, const struct combined *c, const struct ranges *allowed)
{
	struct side side = { 0 };
	struct prefix6 *all = NULL;
	size_t n = 0;
	int err = 0;

	*out = (struct owned){ 0 };
	for (size_t i = 0; i < c->joint_n && !err; i++) {
		struct ranges left = RANGES_EMPTY;
		struct owned cut = { 0 };
		struct side both = { 0 };

		err = ranges_subtract(&left, c->joint[i].banned, allowed);
		if (!err)
			err = join4(&both, &side, &left, c->joint[i].bit);
		side_free(&side);
		side = both;
		if (!err)
			err = owned_take(&cut, &left, 0) ?: add6(&all, &n, &cut, c->joint[i].bit);
		owned_free(&cut);
		ranges_free(&left);
	}
	if (!err && n) {
		qsort(all, n, sizeof(*all), widest_first);
		n = inherit(all, n);
	}
	err = err ?: label4(out, &side, c) ?: label6(out, all, n, c);
	side_free(&side);
	free(all);
	if (err)
		owned_free(out);
	return err;
}

int combined_settle(struct owned *out, const struct combined *c, const struct ranges *allowed)
{
	struct owned first = { 0 }, behind = { 0 };
	int err = owned_settle(&first, c->accounts, c->n, allowed);

	if (err)
		return err;
	err = join(&behind, c, allowed);
	if (err) {
		owned_free(&first);
		return err;
	}
	return owned_behind(out, &first, &behind);
}
