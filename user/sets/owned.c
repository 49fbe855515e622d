// SPDX-License-Identifier: GPL-2.0-only
#include "sets/owned.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"

/* So much needs no look at the free memory. */
#define UNSEEN_BYTES ((size_t)16 << 20)

struct side {
	struct range4 *at;
	uint8_t *label;
	size_t n;
};

static void put(struct side *out, uint32_t lo, uint32_t hi, uint8_t label)
{
	if (out->n && out->label[out->n - 1] == label && out->at[out->n - 1].hi + 1 == lo) {
		out->at[out->n - 1].hi = hi;
		return;
	}
	out->at[out->n] = (struct range4){ lo, hi };
	out->label[out->n++] = label;
}

/*
 * IPv4, the priority union: what a holds stays on a's accounts, b gets what is left. Both are sorted and disjoint. A
 * cut makes at most one extra piece for each range of a.
 */
static int merge4(struct side *out, const struct side *a, const struct side *b)
{
	size_t room = 2 * a->n + b->n + 1, i = 0, j = 0;
	uint32_t from = b->n ? b->at[0].lo : 0; /* what is left of b[j] begins here */

	out->at = malloc(room * sizeof(*out->at));
	out->label = malloc(room);
	if (!out->at || !out->label)
		return -ENOMEM;
	while (i < a->n || j < b->n) {
		if (j == b->n || (i < a->n && a->at[i].lo <= from)) {
			uint32_t hi = a->at[i].hi;

			put(out, a->at[i].lo, hi, a->label[i]);
			i++;
			while (j < b->n && b->at[j].hi <= hi)
				if (++j < b->n)
					from = b->at[j].lo;
			if (j < b->n && from <= hi)
				from = hi + 1;
		} else if (i < a->n && a->at[i].lo <= b->at[j].hi) {
			put(out, from, a->at[i].lo - 1, b->label[j]);
			from = a->at[i].lo;
		} else {
			put(out, from, b->at[j].hi, b->label[j]);
			if (++j < b->n)
				from = b->at[j].lo;
		}
	}
	return 0;
}

/* Every prefix but those that lie wholly within the set. */
static void append6(struct owned *out, const struct owned *from, const struct ranges *but)
{
	size_t n = out->n6;

	for (size_t i = 0; i < from->n6; i++) {
		size_t low = 0, high = but->n6;

		while (low < high) {
			size_t mid = (low + high) / 2;

			if (but->v6[mid].hi < from->v6[i].lo)
				low = mid + 1;
			else
				high = mid;
		}
		if (low < but->n6 && but->v6[low].lo <= from->v6[i].lo && but->v6[low].hi >= from->v6[i].hi)
			continue;
		out->v6[n] = from->v6[i];
		out->label6[n++] = from->label6[i];
	}
	out->n6 = n;
}

/*
 * IPv6: cutting a wide prefix around what others hold of it would take a hundred keys for one. It stays whole: the
 * longest rung that has an address decides the account. Prefixes lie within each other or apart, so what a holds of a
 * prefix of b is longer, or all of it: then b's prefix goes.
 */
static int merge6(struct owned *out, const struct owned *a, const struct owned *b)
{
	struct ranges none = RANGES_EMPTY, held = RANGES_EMPTY;
	int err = 0;

	out->v6 = malloc((a->n6 + b->n6 + 1) * sizeof(*out->v6));
	out->label6 = malloc(a->n6 + b->n6 + 1);
	if (!out->v6 || !out->label6)
		return -ENOMEM;
	for (size_t i = 0; i < a->n6 && !err; i++)
		err = ranges_add6(&held, a->v6[i].lo, a->v6[i].hi);
	if (!err)
		err = ranges_finish(&held);
	if (!err) {
		append6(out, a, &none);
		append6(out, b, &held);
	}
	ranges_free(&held);
	return err;
}

int owned_behind(struct owned *out, struct owned *a, struct owned *b)
{
	struct side a4 = { a->v4, a->label4, a->n4 }, b4 = { b->v4, b->label4, b->n4 }, out4 = { 0 };
	int err = merge4(&out4, &a4, &b4);

	*out = (struct owned){ .v4 = out4.at, .label4 = out4.label, .n4 = out4.n };
	if (!err)
		err = merge6(out, a, b);
	if (err)
		owned_free(out);
	owned_free(a);
	owned_free(b);
	return err;
}

/* One range of odd ends is 250 prefixes: a small list can be more than there is memory for. */
static int fits6(size_t prefixes)
{
	size_t bytes = prefixes * (sizeof(struct range6) + 1);
	uint64_t most = bytes > UNSEEN_BYTES ? memory_available() / 2 : 0;

	if (!most || bytes <= most)
		return 0;
	return because(-E2BIG, "its IPv6 ranges are %zu prefixes, and need %zu bytes; half of what is free is %llu",
		       prefixes, bytes, (unsigned long long)most);
}

/* The ranges of a set as prefixes. */
static int cut6(struct owned *out, const struct ranges *set)
{
	size_t n = ranges_count_prefixes(&(struct ranges){ .v6 = set->v6, .n6 = set->n6 });
	int err = fits6(n);

	if (err)
		return err;
	out->v6 = malloc((n + 1) * sizeof(*out->v6));
	if (!out->v6)
		return -ENOMEM;
	for (size_t i = 0; i < set->n6; i++)
		for (struct cut6 cut = { .lo = set->v6[i].lo, .hi = set->v6[i].hi }; range6_next_prefix(&cut);)
			out->v6[out->n6++] = (struct range6){ cut.first, cut.first | addr_mask(6, cut.length) };
	return 0;
}

int owned_take(struct owned *out, struct ranges *set, uint8_t label)
{
	int err;

	*out = (struct owned){ .v4 = set->v4, .n4 = set->n4 };
	set->v4 = NULL;
	err = cut6(out, set);
	ranges_free(set);
	out->label4 = malloc(out->n4 + 1);
	out->label6 = err ? NULL : malloc(out->n6 + 1);
	if (!err && (!out->label4 || !out->label6))
		err = -ENOMEM;
	if (err) {
		owned_free(out);
		return err;
	}
	memset(out->label4, label, out->n4);
	memset(out->label6, label, out->n6);
	return 0;
}

/* One account alone, less what is allowed. */
static int single(struct owned *out, const struct account *account, const struct ranges *allowed)
{
	struct ranges left = RANGES_EMPTY;
	int err = ranges_subtract(&left, account->banned, allowed);

	return err ? err : owned_take(out, &left, account->label);
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
	return owned_behind(out, &a, &b);
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

uint8_t owned_majority24(const struct owned *owned, const struct net24_walk *walk)
{
	uint16_t held[256] = { 0 };
	uint8_t major = owned->label4[walk->from];

	for (size_t i = walk->from; i < walk->until; i++) {
		struct range4 part = owned_clip24(owned, i, walk->first);
		uint8_t label = owned->label4[i];

		held[label] = (uint16_t)(held[label] + part.hi - part.lo + 1);
		if (held[label] > held[major])
			major = label;
	}
	return major;
}
