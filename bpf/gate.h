/* SPDX-License-Identifier: GPL-2.0-only */
/* The gates. IPv4: two bits say what is known of a /24. IPv6: one hashed bit may say yes wrongly, never no. */
#ifndef GATE_H
#define GATE_H

#include "hash.h"

inline_always unsigned int gate4_test(const __u8 *gate, __u32 addr)
{
	return gate[addr >> 10] >> (addr >> 7 & 6) & 3;
}

inline_always __u64 gate6_index(__u64 add, __u64 mul, __u64 log2, __u64 net32)
{
	return fold((net32 + add) * mul) * mul >> (64 - log2);
}

inline_always unsigned int gate6_test(const __u8 *gate, __u64 index)
{
	return gate[index >> 3] >> (index & 7) & 1;
}

#ifndef __bpf__

/* Packets may be looking, nobody else is writing; what was written before is there before it. */
inline_always void gate4_set(__u8 *gate, __u32 addr, unsigned int state)
{
	unsigned int shift = addr >> 7 & 6;
	__u8 *byte = &gate[addr >> 10];

	__atomic_store_n(byte, (__u8)((*byte & ~(3u << shift)) | state << shift), __ATOMIC_RELEASE);
}

inline_always void gate6_set(__u8 *gate, __u64 index)
{
	__atomic_store_n(&gate[index >> 3], (__u8)(gate[index >> 3] | 1u << (index & 7)), __ATOMIC_RELEASE);
}

#endif

#endif
