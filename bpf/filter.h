/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The Bloom filter in the lanes layout: a key picks one block of eight 64-bit words and one bit in each, k = 8.
 *
 * With c keys a block, Poisson distributed around n / blocks, a key that is not in the set finds a lane's bit set with
 * 1 - (1 - 1/64)^c; the rate is the mean over c of that to the eighth power (math in docs/design.md).
 */
#ifndef FILTER_H
#define FILTER_H

#include "hash.h"

#define FILTER_LANES 8

inline_always __u64 filter_block(__u64 hash, __u64 blocks)
{
	return reduce(hash >> 32, blocks);
}

/*
 * Six bits a lane: the first four lanes are chosen by that half of the hash that did not choose the block, the others
 * by the top of the second word, which a "no" does not need. Each shift brings the next lane's bits to the front.
 */
#define FILTER_FIRST(hash) ((hash) >> 8)
#define FILTER_REST(word)  ((word) >> 40)

#define FILTER_LANE(i)                    \
	do {                              \
		__u64 bits_ = block[i];   \
		SHIFT_LEFT(bits_, lanes); \
		all &= bits_;             \
	} while (0)

#define FILTER_NEXT_LANE(i)       \
	do {                      \
		KEEP(all, lanes); \
		lanes >>= 6;      \
		FILTER_LANE(i);   \
	} while (0)

/* The sign is where the bits meet: a test of its own costs nothing. */
inline_always int filter_test_half(const __u64 *block, __u64 lanes)
{
	__u64 all = ~0ULL;

	FILTER_LANE(0);
	FILTER_NEXT_LANE(1);
	FILTER_NEXT_LANE(2);
	FILTER_NEXT_LANE(3);
	return (__s64)all < 0;
}

/*
 * Half of the lanes settle nearly every "no" (at the usual fill of a third, all but one in fifty), and a branch that
 * goes one way is free; so the other half, and the word that chooses it, cost only packets about to be dropped.
 */
#define FILTER_TEST(block, hash, word) \
	(filter_test_half(block, FILTER_FIRST(hash)) && filter_test_half((block) + FILTER_LANES / 2, FILTER_REST(word)))

#ifndef __bpf__

/* All eight in one word, the first lane's bits in front; and which bit of its word a lane means. */
inline_always __u64 filter_lanes(__u64 hash, __u64 word)
{
	return (FILTER_FIRST(hash) & 0xffffff) | FILTER_REST(word) << 24;
}

#define FILTER_LANE_BIT(lanes, i) (~((lanes) >> 6 * (i)))

inline_always int filter_test(const __u64 *block, __u64 lanes)
{
	return filter_test_half(block, lanes) && filter_test_half(block + FILTER_LANES / 2, lanes >> 24);
}

/* Packets may be looking: each word changes in one go. */
inline_always void filter_set(__u64 *block, __u64 lanes)
{
	for (int i = 0; i < FILTER_LANES; i++)
		__atomic_fetch_or(&block[i], 1ULL << (FILTER_LANE_BIT(lanes, i) & 63), __ATOMIC_RELAXED);
}

/* Nobody is looking yet. */
inline_always void filter_set_fresh(__u64 *block, __u64 lanes)
{
	for (int i = 0; i < FILTER_LANES; i++)
		block[i] |= 1ULL << (FILTER_LANE_BIT(lanes, i) & 63);
}

#endif

#endif
