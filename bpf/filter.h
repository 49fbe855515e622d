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

/* Six bits a lane, from the top of the word, where a product is mixed best. */
#define FILTER_LANE_BIT(lanes, i) ((lanes) >> (58 - 6 * (i)))

#define FILTER_LANE(i)                                                     \
	do {                                                               \
		__u64 word = block[i], amount = FILTER_LANE_BIT(lanes, i); \
		SHIFT_RIGHT(word, amount);                                 \
		all &= word;                                               \
	} while (0)

/*
 * Half of the lanes settle nearly every "no" (at the usual fill of a third, all but one in a hundred), and a branch
 * that goes one way is free; so the other half costs only packets that are about to be dropped.
 */
inline_always int filter_test(const __u64 *block, __u64 lanes)
{
	__u64 all = 1;

	FILTER_LANE(0);
	FILTER_LANE(1);
	FILTER_LANE(2);
	FILTER_LANE(3);
	if (!all)
		return 0;
	FILTER_LANE(4);
	FILTER_LANE(5);
	FILTER_LANE(6);
	FILTER_LANE(7);
	return all != 0;
}

#ifndef __bpf__

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
