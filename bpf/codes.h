/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The IPv4 roster of many addresses. The seeds make a permutation of all 2^32, and a bucket takes what lies in one
 * stretch of it: so it keeps of an address only where in the stretch it is, a code of 16 bits, and is exact all the
 * same. The second bucket is that of a permutation further on, whose codes count down from the top: a code says which
 * of the two it is of. Where buckets are few, the codes from both sides would meet: such an address has one bucket
 * only.
 */
#ifndef CODES_H
#define CODES_H

#include "hash.h"

#define CODES4_SLOTS 10
#define CODES4_TOP   0xffffu

/* The shape of a roster, in one constant: how many addresses share a bucket, and how many buckets there are. */
#define CODES4_SHARE(shape)   ((shape) >> 32 & CODES4_TOP)
#define CODES4_BUCKETS(shape) ((shape)&0xffffffff)

#ifdef __bpf__
#define CODES4_SHAPE(g) ((void)(g), LOADED(CONSTANT_CODES))
#define ADDRESSES4(g)	GEN(g, roster4_buckets)
#define CODES4_ON(word) SWITCH(CODES_MAGIC, word)
#else
#define CODES4_SHAPE(g) ((g)->roster4_buckets & ROSTER4_CODES ? (g)->roster4_buckets : 0)
#define ADDRESSES4(g)	((g)->roster4_buckets & ROSTER4_CODES ? 0 : (g)->roster4_buckets)
#define CODES4_ON(word) ((void)(word), 0)
#endif

struct code4 {
	__u64 bucket, code;
};

/* What is odd to multiply by, or half of the bits folded onto the other, can be undone. */
inline_always __u32 fold32(__u32 x)
{
	return x ^ x >> 16;
}

inline_always __u32 codes4_mix(struct hash_seeds s, __u32 addr)
{
	return fold32((__u32)(addr + s.add) * (__u32)s.mul1) * (__u32)s.mul2;
}

inline_always __u32 codes4_mix_more(struct hash_seeds s, __u32 mixed)
{
	return fold32(mixed) * (__u32)s.mul3;
}

/*
 * Its bucket, and in place of a code which of the bucket's addresses it is: they are `buckets` apart in the lower half
 * of the product, and 2^32 <= share * buckets, so that no two of them come to one number.
 */
inline_always struct code4 codes4_place(__u64 shape, __u32 mixed)
{
	__u64 product = mixed, low;

	MULTIPLY(product, CODES4_BUCKETS(shape));
	low = (__u32)product;
	return (struct code4){ product >> 32, low * CODES4_SHARE(shape) >> 32 };
}

inline_always struct code4 codes4_first(__u64 shape, __u32 mixed)
{
	struct code4 at = codes4_place(shape, mixed);

	at.code++;
	return at;
}

/* One that the first bucket's codes reach too is none. */
inline_always struct code4 codes4_second(__u64 shape, __u32 mixed_more)
{
	struct code4 at = codes4_place(shape, mixed_more);

	at.code = CODES4_TOP - at.code;
	return at;
}

inline_always int codes4_is_second(__u64 shape, __u64 code)
{
	return code > CODES4_SHARE(shape);
}

/* As ROSTER4_PAIR, four to a word. Half a word ends in zeros, which no code is. */
#define CODES4_WORD(word)                                \
	do {                                             \
		__u64 differ_ = (word) ^ all;            \
		differ_ |= (differ_ & low15) + low15;    \
		differ = differ >> 1 | (differ_ & tops); \
		KEEP(differ, low15);                     \
	} while (0)

/* The words leave their bits at 13, 14 and 15 and each sixteen further on; this puts the ten at labels of their own. */
inline_always unsigned int codes4_label_index(__u64 bit)
{
	return bit * 0x4c00140002001ULL >> 60;
}

inline_always __u64 codes4_slot_bit(unsigned int slot)
{
	unsigned int word = (slot + 2) / 4, lane = slot < 2 ? slot : (slot - 2) % 4;

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
	lane = (slot < 2 ? 1 : 3) - lane;
#endif
	return 1ULL << (13 + word + 16 * lane);
}

/* 1 + where the code's label is, or 0. */
inline_always unsigned int codes4_test(const struct codes4 *bucket, __u64 code)
{
	const __u64 tops = 0x8000800080008000ULL;
	const __u32 __attribute__((may_alias)) *half = (const void *)bucket->code;
	const __u64 __attribute__((may_alias)) *words = (const void *)&bucket->code[2];
	__u64 all = code * 0x0001000100010001ULL, low15 = ~tops, differ = 0;

	CODES4_WORD(*half);
	CODES4_WORD(words[0]);
	CODES4_WORD(words[1]);
	differ ^= 0xe000e000e000e000ULL;
	return differ ? 1 + codes4_label_index(differ) : 0;
}

#ifndef __bpf__

/* 0: so many addresses would share one of so few buckets that the codes do not tell them apart. */
inline_always __u64 codes4_shape(__u64 buckets)
{
	__u64 share = ((1ULL << 32) + buckets - 1) / buckets;

	return share <= CODES4_TOP ? ROSTER4_CODES | share << 32 | buckets : 0;
}

/* The label first: a packet that finds the code must find its label. */
inline_always void codes4_set(struct codes4 *bucket, unsigned int slot, __u64 code, __u8 label)
{
	bucket->label[codes4_label_index(codes4_slot_bit(slot))] = label;
	__atomic_store_n(&bucket->code[slot], (__u16)code, __ATOMIC_RELEASE);
}

inline_always void codes4_clear(struct codes4 *bucket, unsigned int slot)
{
	__atomic_store_n(&bucket->code[slot], 0, __ATOMIC_RELEASE);
}

#endif

#endif
