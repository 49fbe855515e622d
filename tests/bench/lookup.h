/* SPDX-License-Identifier: GPL-2.0-only */
/* What the loops in the kernel and their driver agree on. */
#ifndef LOOKUP_H
#define LOOKUP_H

#include <linux/types.h>

#define KEYS (1u << 20)

/* The generator of addresses: good enough in its upper half, and the cheapest there is. */
#define RANDOM_NEXT(x) ((x)*6364136223846793005ULL + 1442695040888963407ULL)

struct key6 {
	__u64 hi, lo;
};

/* One run of a loop. Made addresses, or with from_keys those of the key map, one after the other. */
struct run {
	__u64 rounds;
	__u64 random;
	__u64 first; /* key */
	__u64 from_keys;
};

/* The key of a longest-prefix-match trie. */
struct lpm4 {
	__u32 length;
	__u32 addr; /* in network order */
};

struct lpm6 {
	__u32 length;
	__u32 addr[4];
};

/* The map-in-map peer's arrays. */
enum inner { INNER_META, INNER_GATE, INNER_FILTER, INNER_ROSTER, INNERS };

#endif
