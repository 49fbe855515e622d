// SPDX-License-Identifier: GPL-2.0-only
#include "owned.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * The priority union, once for each family: what a holds stays a's, b gets what is left. Both are sorted and disjoint.
 * A cut makes at most one extra piece for each range of a.
 */
#define DEFINE_MERGE(family, num_t)                                                                                    \
	struct side##family {                                                                                          \
		struct range##family *at;                                                                              \
		uint8_t *label;                                                                                        \
		size_t n;                                                                                              \
	};                                                                                                             \
                                                                                                                       \
	static void put##family(struct side##family *out, num_t lo, num_t hi, uint8_t label)                           \
	{                                                                                                              \
		if (out->n && out->label[out->n - 1] == label && out->at[out->n - 1].hi + 1 == lo) {                   \
			out->at[out->n - 1].hi = hi;                                                                   \
			return;                                                                                        \
		}                                                                                                      \
		out->at[out->n] = (struct range##family){ lo, hi };                                                    \
		out->label[out->n++] = label;                                                                          \
	}                                                                                                              \
                                                                                                                       \
	static int merge##family(struct side##family *out, const struct side##family *a, const struct side##family *b) \
	{                                                                                                              \
		size_t room = 2 * a->n + b->n + 1, i = 0, j = 0;                                                       \
		num_t from = b->n ? b->at[0].lo : 0; /* what is left of b[j] begins here */                            \
                                                                                                                       \
		out->n = 0;                                                                                            \
		out->at = malloc(room * sizeof(*out->at));                                                             \
		out->label = malloc(room);                                                                             \
		if (!out->at || !out->label)                                                                           \
			return -ENOMEM;                                                                                \
		while (i < a->n || j < b->n) {                                                                         \
			if (j == b->n || (i < a->n && a->at[i].lo <= from)) {                                          \
				num_t hi = a->at[i].hi;                                                                \
                                                                                                                       \
				put##family(out, a->at[i].lo, hi, a->label[i]);                                        \
				i++;                                                                                   \
				while (j < b->n && b->at[j].hi <= hi) {                                                \
					if (++j < b->n)                                                                \
						from = b->at[j].lo;                                                    \
				}                                                                                      \
				if (j < b->n && from <= hi)                                                            \
					from = hi + 1;                                                                 \
			} else if (i < a->n && a->at[i].lo <= b->at[j].hi) {                                           \
				put##family(out, from, a->at[i].lo - 1, b->label[j]);                                  \
				from = a->at[i].lo;                                                                    \
			} else {                                                                                       \
				put##family(out, from, b->at[j].hi, b->label[j]);                                      \
				if (++j < b->n)                                                                        \
					from = b->at[j].lo;                                                            \
			}                                                                                              \
		}                                                                                                      \
		return 0;                                                                                              \
	}

DEFINE_MERGE(4, uint32_t)
DEFINE_MERGE(6, ip6)

static int merge(struct owned *out, struct owned *a, struct owned *b)
{
	struct side4 a4 = { a->v4, a->label4, a->n4 }, b4 = { b->v4, b->label4, b->n4 }, out4 = { 0 };
	struct side6 a6 = { a->v6, a->label6, a->n6 }, b6 = { b->v6, b->label6, b->n6 }, out6 = { 0 };
	int err = merge4(&out4, &a4, &b4);

	if (!err)
		err = merge6(&out6, &a6, &b6);
	*out = (struct owned){ out4.at, out6.at, out4.label, out6.label, out4.n, out6.n };
	if (err)
		owned_free(out);
	owned_free(a);
	owned_free(b);
	return err;
}

/* One account alone, less what is allowed. */
static int single(struct owned *out, const struct account *account, const struct ranges *allowed)
{
	struct ranges left = RANGES_EMPTY;
	int err = ranges_subtract(&left, account->banned, allowed);

	if (err)
		return err;
	*out = (struct owned){ .v4 = left.v4, .v6 = left.v6, .n4 = left.n4, .n6 = left.n6 };
	out->label4 = malloc(left.n4 + 1);
	out->label6 = malloc(left.n6 + 1);
	if (!out->label4 || !out->label6) {
		owned_free(out);
		return -ENOMEM;
	}
	memset(out->label4, account->label, left.n4);
	memset(out->label6, account->label, left.n6);
	return 0;
}

int owned_settle(struct owned *out, const struct account *accounts, size_t count, const struct ranges *allowed)
{
	struct owned a = { 0 }, b = { 0 };
	int err;

	*out = (struct owned){ 0 };
	if (count == 0)
		return 0;
	if (count == 1)
		return single(out, accounts, allowed);
	/* Halves, so that many lists cost a logarithm. */
	err = owned_settle(&a, accounts, count / 2, allowed);
	if (err)
		return err;
	err = owned_settle(&b, accounts + count / 2, count - count / 2, allowed);
	if (err) {
		owned_free(&a);
		return err;
	}
	return merge(out, &a, &b);
}

void owned_free(struct owned *owned)
{
	free(owned->v4);
	free(owned->v6);
	free(owned->label4);
	free(owned->label6);
	*owned = (struct owned){ 0 };
}

struct range4 owned_clip24(const struct owned *owned, size_t i, uint32_t net24)
{
	struct range4 range = owned->v4[i];

	if (range.lo < net24 << 8)
		range.lo = net24 << 8;
	if (range.hi > (net24 << 8 | 255))
		range.hi = net24 << 8 | 255;
	return range;
}

bool owned_next_net24(const struct owned *owned, struct net24_walk *walk)
{
	uint64_t lo, end;

	if (walk->next == owned->n4)
		return false;
	lo = owned->v4[walk->next].lo > walk->at ? owned->v4[walk->next].lo : walk->at;
	end = (uint64_t)owned->v4[walk->next].hi + 1;
	walk->first = walk->last = (uint32_t)(lo >> 8);
	walk->from = walk->next;
	walk->until = walk->next + 1;
	if (!(lo & 255) && end - lo >= 256) {
		walk->run = true;
		walk->banned = 256;
		walk->last = (uint32_t)(end >> 8) - 1;
		walk->at = end & ~255ULL;
		if (walk->at == end)
			walk->next++;
		return true;
	}
	walk->run = false;
	walk->banned = 0;
	walk->at = ((uint64_t)walk->first + 1) << 8;
	for (size_t i = walk->next; i < owned->n4 && owned->v4[i].lo < walk->at; i++) {
		struct range4 part = owned_clip24(owned, i, walk->first);

		walk->banned += part.hi - part.lo + 1;
		walk->until = i + 1;
		if (owned->v4[i].hi < walk->at)
			walk->next = i + 1;
		else
			walk->next = i;
	}
	return true;
}

size_t owned_majority24(const struct owned *owned, const struct net24_walk *walk)
{
	size_t major = walk->from;
	uint32_t most = 0;

	for (size_t i = walk->from; i < walk->until; i++) {
		struct range4 part = owned_clip24(owned, i, walk->first);

		if (part.hi - part.lo >= most) {
			most = part.hi - part.lo;
			major = i;
		}
	}
	return major;
}
