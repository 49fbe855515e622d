/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SETS_RANGES_H
#define SETS_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sets/address.h"

struct range4 {
	uint32_t lo, hi; /* both included */
};

struct range6 {
	ip6 lo, hi;
};

/*
 * A set of addresses of both families. Between ranges_finish() and the next add it is normal: sorted, disjoint, no two
 * ranges adjacent. Every function but the adds takes and leaves normal sets.
 */
struct ranges {
	struct range4 *v4;
	struct range6 *v6;
	size_t n4, n6;
	size_t room4, room6;
	size_t settled4, settled6; /* the first so many are in normal form, whatever was added behind them */
	/*
	 * Single IPv4 addresses wait here until ranges_finish() merges them in. The first hosts_sorted are sorted,
	 * without duplicates, so that a list that repeats itself stays small while it is read.
	 */
	uint32_t *hosts;
	size_t hosts_n, hosts_room, hosts_sorted;
	/* Entries added twice, to the letter. Where more than SETTLE_BYTES wait, some of them count as merged instead.
	 */
	uint64_t duplicates;
};

#define RANGES_EMPTY ((struct ranges){ 0 })

/*
 * All return 0 or -ENOMEM. On an error the output is empty, the inputs are as they were. The output is none of the
 * inputs, and what it held is not released. While it grows, a set takes at most 2.5 times the memory of what it holds
 * (4 bytes a host, 8 an IPv4 range, 32 an IPv6 range) plus 128 MiB.
 */
int ranges_add4(struct ranges *set, uint32_t lo, uint32_t hi);
int ranges_add6(struct ranges *set, ip6 lo, ip6 hi);
int ranges_add_prefix(struct ranges *set, struct addr first, unsigned int length);
int ranges_finish(struct ranges *set);
void ranges_free(struct ranges *set);

int ranges_union(struct ranges *out, const struct ranges *a, const struct ranges *b);
int ranges_intersect(struct ranges *out, const struct ranges *a, const struct ranges *b);
int ranges_subtract(struct ranges *out, const struct ranges *a, const struct ranges *b);

bool ranges_equal(const struct ranges *a, const struct ranges *b);

/* Does the set hold any address of that prefix? */
bool ranges_touch(const struct ranges *set, struct addr first, unsigned int length);

/* The widest prefix inside the set that holds addr: its length, or -1 when the set does not hold addr. */
int ranges_covering(const struct ranges *set, struct addr addr);

uint64_t ranges_count4(const struct ranges *set);
/* How many IPv6 addresses; saturates at 2^128 - 1 for ::/0. */
ip6 ranges_count6(const struct ranges *set);

/* Cuts [lo, hi] into its fewest prefixes: first and length are the next one, until it returns false. */
struct cut4 {
	uint32_t lo, hi, first;
	unsigned int length;
	bool done;
};
struct cut6 {
	ip6 lo, hi, first;
	unsigned int length;
	bool done;
};
bool range4_next_prefix(struct cut4 *cut);
bool range6_next_prefix(struct cut6 *cut);

/* For the reader's innermost loop. */
int ranges_make_host_room(struct ranges *set);

static inline int ranges_add_host(struct ranges *set, uint32_t host)
{
	if (set->hosts_n == set->hosts_room) {
		int err = ranges_make_host_room(set);

		if (err)
			return err;
	}
	set->hosts[set->hosts_n++] = host;
	return 0;
}

/* Of both families; saturates. */
ip6 ranges_count(const struct ranges *set);

/* How many prefixes the set takes, at the fewest. */
uint64_t ranges_count_prefixes(const struct ranges *set);

#endif
