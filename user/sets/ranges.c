// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "sets/ranges.h"

/* Up to this size, an array just grows; from there on it is put in order first, so that repetition takes no memory. */
#if defined(FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION)
#define SETTLE_BYTES ((size_t)128)
#elif !defined(SETTLE_BYTES)
#define SETTLE_BYTES ((size_t)64 << 20)
#endif

#define NUM	 uint32_t
#define RANGE	 struct range4
#define CUT	 struct cut4
#define FN(name) range4_##name
#include "sets/ranges_family.h"

#define NUM	 ip6
#define RANGE	 struct range6
#define CUT	 struct cut6
#define FN(name) range6_##name
#include "sets/ranges_family.h"

#define RADIX_BITS 11
#define RADIX	   (1U << RADIX_BITS)

/* Into spare, since the counting passes are three, back and forth; a few are inserted one by one. */
static void hosts_sort(uint32_t *hosts, uint32_t *spare, size_t n)
{
	size_t count[3][RADIX];

	if (n < 64) {
		for (size_t i = 0, j; i < n; i++) {
			for (j = i; j && spare[j - 1] > hosts[i]; j--)
				spare[j] = spare[j - 1];
			spare[j] = hosts[i];
		}
		return;
	}
	memset(count, 0, sizeof(count));
	for (size_t i = 0; i < n; i++)
		for (unsigned int pass = 0; pass < 3; pass++)
			count[pass][hosts[i] >> (pass * RADIX_BITS) & (RADIX - 1)]++;
	for (unsigned int pass = 0; pass < 3; pass++) {
		uint32_t *swap = hosts;
		size_t sum = 0;

		for (size_t digit = 0; digit < RADIX; digit++) {
			size_t at = sum;

			sum += count[pass][digit];
			count[pass][digit] = at;
		}
		for (size_t i = 0; i < n; i++)
			spare[count[pass][hosts[i] >> (pass * RADIX_BITS) & (RADIX - 1)]++] = hosts[i];
		hosts = spare;
		spare = swap;
	}
}

static int hosts_resize(struct ranges *set, size_t room)
{
	uint32_t *grown = realloc(set->hosts, room * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	large_pages(grown, room * sizeof(*grown));
	set->hosts = grown;
	set->hosts_room = room;
	return 0;
}

/* Sorts the hosts that are not yet sorted and merges them with those that are. */
static int hosts_compact(struct ranges *set)
{
	size_t head = set->hosts_sorted, tail = set->hosts_n - head, all = set->hosts_n, out, i;
	uint32_t *v = set->hosts, *sorted;

	for (i = head ? head : 1; i < all && v[i - 1] < v[i];)
		i++;
	if (i >= all) {
		set->hosts_sorted = all;
		return 0;
	}
	if (hosts_resize(set, all + tail))
		return -ENOMEM;
	v = set->hosts;
	sorted = v + all;
	hosts_sort(v + head, sorted, tail);
	/* Backwards, into the place where the two lie one after the other: what is written has always been read. */
	for (out = all; tail;) {
		uint32_t host = head && v[head - 1] >= sorted[tail - 1] ? v[--head] : sorted[--tail];

		if (out < all && v[out] == host)
			set->duplicates++;
		else
			v[--out] = host;
	}
	memmove(v + head, v + out, (all - out) * sizeof(*v));
	set->hosts_n = set->hosts_sorted = head + all - out;
	return 0;
}

int ranges_make_host_room(struct ranges *set)
{
	size_t settle = SETTLE_BYTES / sizeof(*set->hosts), room = 2 * set->hosts_room + 256;

	if (set->hosts_room >= settle) {
		if (hosts_compact(set))
			goto no_memory;
		room = set->hosts_n + set->hosts_n / 2;
		if (room < settle)
			room = settle;
	} else if (room > settle) {
		room = settle;
	}
	if (hosts_resize(set, room))
		goto no_memory;
	return 0;
no_memory:
	ranges_free(set);
	return -ENOMEM;
}

/*
 * The hosts become ranges in the memory they lie in, and v4 is merged in on the way: the hosts move to the end of an
 * array that is large enough for all, then what is written at its beginning never overtakes what is read.
 */
static int hosts_expand(struct ranges *set)
{
	size_t hosts = set->hosts_n, all = hosts + set->n4, n = 0, i = 0, j = 0;
	const uint32_t *from;
	struct range4 *out;

	if (!hosts)
		return 0;
	if (hosts_resize(set, 2 * all))
		return -ENOMEM;
	from = memmove(set->hosts + 2 * all - hosts, set->hosts, hosts * sizeof(*from));
	out = (struct range4 *)set->hosts;
	while (i < hosts || j < set->n4) {
		if (j == set->n4 || (i < hosts && from[i] < set->v4[j].lo)) {
			n = range4_append(out, n, from[i], from[i]);
			i++;
		} else {
			n = range4_append(out, n, set->v4[j].lo, set->v4[j].hi);
			j++;
		}
	}
	free(set->v4);
	set->v4 = out;
	set->n4 = n;
	set->room4 = all;
	set->hosts = NULL;
	set->hosts_n = set->hosts_room = set->hosts_sorted = 0;
	return 0;
}

/* All is in normal form now. */
static void settled(struct ranges *set)
{
	set->settled4 = set->n4;
	set->settled6 = set->n6;
	range4_trim(&set->v4, set->n4, &set->room4);
	range6_trim(&set->v6, set->n6, &set->room6);
}

int ranges_add4(struct ranges *set, uint32_t lo, uint32_t hi)
{
	int err;

	if (lo == hi)
		return ranges_add_host(set, lo);
	err = range4_push(&set->v4, &set->n4, &set->room4, &set->settled4, (struct range4){ lo, hi }, &set->duplicates);
	if (err)
		ranges_free(set);
	return err;
}

int ranges_add6(struct ranges *set, ip6 lo, ip6 hi)
{
	int err = range6_push(&set->v6, &set->n6, &set->room6, &set->settled6, (struct range6){ lo, hi },
			      &set->duplicates);

	if (err)
		ranges_free(set);
	return err;
}

int ranges_add_prefix(struct ranges *set, struct addr first, unsigned int length)
{
	ip6 last = first.num | addr_mask(first.family, length);

	if (first.family == 4)
		return ranges_add4(set, (uint32_t)first.num, (uint32_t)last);
	return ranges_add6(set, first.num, last);
}

int ranges_finish(struct ranges *set)
{
	set->n4 = range4_compact(set->v4, set->n4, &set->settled4, &set->duplicates);
	set->n6 = range6_compact(set->v6, set->n6, &set->settled6, &set->duplicates);
	if (hosts_compact(set) || hosts_expand(set)) {
		ranges_free(set);
		return -ENOMEM;
	}
	settled(set);
	return 0;
}

void ranges_free(struct ranges *set)
{
	free(set->v4);
	free(set->v6);
	free(set->hosts);
	*set = RANGES_EMPTY;
}

static int combine(struct ranges *out, const struct ranges *a, const struct ranges *b, range4_algebra *of4,
		   range6_algebra *of6)
{
	size_t room4 = a->n4 + b->n4 + 1, room6 = a->n6 + b->n6 + 1;

	*out = (struct ranges){ .room4 = room4, .room6 = room6 };
	out->v4 = malloc(room4 * sizeof(*out->v4));
	out->v6 = malloc(room6 * sizeof(*out->v6));
	if (!out->v4 || !out->v6) {
		ranges_free(out);
		return -ENOMEM;
	}
	large_pages(out->v4, room4 * sizeof(*out->v4));
	large_pages(out->v6, room6 * sizeof(*out->v6));
	out->n4 = of4(out->v4, a->v4, a->n4, b->v4, b->n4);
	out->n6 = of6(out->v6, a->v6, a->n6, b->v6, b->n6);
	settled(out);
	return 0;
}

int ranges_union(struct ranges *out, const struct ranges *a, const struct ranges *b)
{
	return combine(out, a, b, range4_unite, range6_unite);
}

int ranges_intersect(struct ranges *out, const struct ranges *a, const struct ranges *b)
{
	return combine(out, a, b, range4_intersect, range6_intersect);
}

int ranges_subtract(struct ranges *out, const struct ranges *a, const struct ranges *b)
{
	return combine(out, a, b, range4_subtract, range6_subtract);
}

bool ranges_equal(const struct ranges *a, const struct ranges *b)
{
	if (a->n4 != b->n4 || a->n6 != b->n6)
		return false;
	return (!a->n4 || !memcmp(a->v4, b->v4, a->n4 * sizeof(*a->v4))) &&
	       (!a->n6 || !memcmp(a->v6, b->v6, a->n6 * sizeof(*a->v6)));
}

bool ranges_touch(const struct ranges *set, struct addr first, unsigned int length)
{
	ip6 last = first.num | addr_mask(first.family, length);

	if (first.family == 4)
		return range4_meets(set->v4, set->n4, (uint32_t)first.num, (uint32_t)last);
	return range6_meets(set->v6, set->n6, first.num, last);
}

int ranges_covering(const struct ranges *set, struct addr addr)
{
	if (addr.family == 4)
		return range4_covering(set->v4, set->n4, (uint32_t)addr.num);
	return range6_covering(set->v6, set->n6, addr.num);
}

uint64_t ranges_count4(const struct ranges *set)
{
	uint64_t count = 0;

	for (size_t i = 0; i < set->n4; i++)
		count += (uint64_t)set->v4[i].hi - set->v4[i].lo + 1;
	return count;
}

ip6 ranges_count6(const struct ranges *set)
{
	ip6 count = 0;

	for (size_t i = 0; i < set->n6; i++) {
		ip6 span = set->v6[i].hi - set->v6[i].lo;

		if (span == ~(ip6)0)
			return span;
		count += span + 1;
	}
	return count;
}

uint64_t ranges_count_prefixes(const struct ranges *set)
{
	uint64_t n = 0;

	for (size_t i = 0; i < set->n4; i++) {
		struct cut4 cut = { .lo = set->v4[i].lo, .hi = set->v4[i].hi };

		/* The large sets are of hosts. */
		if (cut.lo == cut.hi)
			n++;
		else
			while (range4_next_prefix(&cut))
				n++;
	}
	for (size_t i = 0; i < set->n6; i++)
		for (struct cut6 cut = { .lo = set->v6[i].lo, .hi = set->v6[i].hi }; range6_next_prefix(&cut);)
			n++;
	return n;
}

ip6 ranges_count(const struct ranges *set)
{
	ip6 v6 = ranges_count6(set), all = v6 + ranges_count4(set);

	return all < v6 ? v6 : all;
}
