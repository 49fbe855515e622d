/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The gates. IPv4: two bits say what is known of a /24. IPv6: a hashed byte has a bit for each rung that a /32 may hold
 * something of; it may say yes wrongly, never no.
 */
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

#ifndef __bpf__

/* Packets may be looking; there is one writer. Release: what was written before is visible before it. */
inline_always void gate4_set(__u8 *gate, __u32 addr, unsigned int state)
{
	unsigned int shift = addr >> 7 & 6;
	__u8 *byte = &gate[addr >> 10];

	__atomic_store_n(byte, (__u8)((*byte & ~(3u << shift)) | state << shift), __ATOMIC_RELEASE);
}

/* In memory that comes when it is touched (user/kernel/map_window.h). */
inline_always void gate6_touch(const struct generation *g, unsigned int rung, __u64 hi)
{
	__u64 length = g->rung[rung].length, nets = length < 32 ? 1ULL << (32 - length) : 1;

	for (__u64 net = hi >> 32; g->gate6 && nets; net++, nets--)
		(void)*((const volatile __u8 *)g->gate6 + gate6_index(g->gate6_add, g->gate6_mul, g->gate6_log2, net));
}

/* For all /32s that a key of this rung lies in, or covers; hi is its upper half. */
inline_always void gate6_open(const struct generation *g, unsigned int rung, __u64 hi)
{
	__u64 length = g->rung[rung].length, nets = length < 32 ? 1ULL << (32 - length) : 1;

	for (__u64 net = hi >> 32; g->gate6 && nets; net++, nets--) {
		__u8 *byte = (__u8 *)g->gate6 + gate6_index(g->gate6_add, g->gate6_mul, g->gate6_log2, net);

		__atomic_store_n(byte, (__u8)(*byte | 1u << rung), __ATOMIC_RELEASE);
	}
}

#endif

#endif
