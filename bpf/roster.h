/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The roster: the exact answer. A key lives in one of two buckets (IPv4: half a cache line, IPv6: a whole one), in the
 * first if there is room, with the label of the list that put it there. Only packets about to be dropped get here, and
 * most find their key in the first bucket.
 *
 * An empty slot holds a value that no key of that bucket can have, so that a test needs no notion of empty:
 * roster4_vacant(), and 0 for IPv6.
 */
#ifndef ROSTER_H
#define ROSTER_H

#include "hash.h"

#define ROSTER4_SLOTS 6
#define ROSTER6_SLOTS 7

struct roster_choice {
	__u64 first, second;
};

/* word is hash_more() of the key's hash, whose top bits chose the lanes: mixed once more before it chooses buckets. */
inline_always struct roster_choice roster4_choose(struct hash_seeds s, __u64 word, __u64 buckets)
{
	__u64 x = fold(word) * s.mul1;

	return (struct roster_choice){ reduce(x >> 32, buckets), reduce(x & 0xffffffff, buckets) };
}

/* Where a key is if it is not in this bucket; its own inverse, so that a bucket can be cleared for another key. */
inline_always __u64 roster6_other(__u64 bucket, __u64 tag, __u64 buckets)
{
	__u64 sum = reduce(tag >> 32, buckets);

	return sum >= bucket ? sum - bucket : sum + buckets - bucket;
}

/* What the roster keeps of an IPv6 key: 62 keyed bits that the filter's hash knows nothing of; below 2^63, never 0. */
inline_always __u64 roster6_tag(struct hash_seeds s, __u64 salt, __u64 hi, __u64 lo)
{
	return hash_ipv6(s, salt, hi, lo) >> 1 | 1;
}

inline_always __u64 roster6_first(__u64 word, __u64 buckets)
{
	return reduce(fold(word) & 0xffffffff, buckets);
}

/*
 * Without branches, two slots to a word: adding 2^31 - 1 to the low 31 bits of a half sets its top bit unless they are
 * all zero, and no carry leaves the half. BPF has no set-on-condition; this is it, twice at once.
 */
#define ROSTER4_PAIR(i)                                  \
	do {                                             \
		__u64 differ_ = pair[i] ^ both;          \
		differ_ |= (differ_ & low31) + low31;    \
		differ = differ >> 1 | (differ_ & tops); \
		KEEP(differ, low31);                     \
	} while (0)

/* Pair i leaves its two bits at 29 + i and 61 + i; this product puts each of the six at a label of its own. */
inline_always unsigned int roster4_label_index(__u64 bit)
{
	return bit * 0x80000003ULL >> 61;
}

/* The second slot of a pair is the upper half of its word on little-endian machines, the lower one on others. */
inline_always __u64 roster4_slot_bit(unsigned int slot)
{
	int upper = (slot & 1) == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

	return 1ULL << ((upper ? 61 : 29) + slot / 2);
}

/* 1 + where the key's label is, or 0. */
inline_always unsigned int roster4_test(const struct bucket4 *bucket, __u32 addr)
{
	const __u64 *pair = (const __u64 *)bucket->addr;
	const __u64 tops = 0x8000000080000000ULL;
	__u64 both = (__u64)addr << 32 | addr, low31 = ~tops, differ = 0;

	ROSTER4_PAIR(0);
	ROSTER4_PAIR(1);
	ROSTER4_PAIR(2);
	differ ^= 0xe0000000e0000000ULL;
	return differ ? 1 + roster4_label_index(differ) : 0;
}

/* The same for the seven bits of an IPv6 bucket. */
inline_always unsigned int roster6_label_index(__u64 bit)
{
	return bit * 0x1600000000000000ULL >> 61;
}

/* Both sides of the difference are below 2^63, so that taking one off borrows into the top bit only from zero. */
#define ROSTER6_SLOT(i) (found |= ((bucket->key[i] ^ tag) - 1) >> 63 << (i))

inline_always unsigned int roster6_test(const struct bucket6 *bucket, __u64 tag)
{
	__u64 found = 0;

	ROSTER6_SLOT(0);
	ROSTER6_SLOT(1);
	ROSTER6_SLOT(2);
	ROSTER6_SLOT(3);
	ROSTER6_SLOT(4);
	ROSTER6_SLOT(5);
	ROSTER6_SLOT(6);
	return found ? 1 + roster6_label_index(found) : 0;
}

#ifndef __bpf__

inline_always __u32 roster4_vacant(struct hash_seeds s, __u64 at, __u64 buckets)
{
	__u32 addr = 0;

	for (;; addr++) {
		struct roster_choice c = roster4_choose(s, hash_more(s, hash_ipv4(s, addr)), buckets);

		if (c.first != at && c.second != at)
			return addr;
	}
}

/* The label first: a packet that finds the key must find its label. */
inline_always void roster4_set(struct bucket4 *bucket, unsigned int slot, __u32 addr, __u8 label)
{
	bucket->label[roster4_label_index(roster4_slot_bit(slot))] = label;
	__atomic_store_n(&bucket->addr[slot], addr, __ATOMIC_RELEASE);
}

inline_always void roster4_clear(struct bucket4 *bucket, unsigned int slot, __u32 vacant)
{
	__atomic_store_n(&bucket->addr[slot], vacant, __ATOMIC_RELEASE);
}

inline_always void roster6_set(struct bucket6 *bucket, unsigned int slot, __u64 tag, __u8 label)
{
	bucket->label[roster6_label_index(1ULL << slot)] = label;
	__atomic_store_n(&bucket->key[slot], tag, __ATOMIC_RELEASE);
}

inline_always void roster6_clear(struct bucket6 *bucket, unsigned int slot)
{
	__atomic_store_n(&bucket->key[slot], 0, __ATOMIC_RELEASE);
}

#endif

#endif
