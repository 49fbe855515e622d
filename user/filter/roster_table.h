/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a generation's rosters keep a key: its two buckets, and the label that belongs to a slot. */
#ifndef FILTER_ROSTER_TABLE_H
#define FILTER_ROSTER_TABLE_H

#include "bpf/roster.h"
#include "filter/keys.h"

inline_always struct bucket4 *bucket4(const struct generation *g, __u64 at)
{
	return (struct bucket4 *)g->roster4 + at;
}

inline_always struct bucket6 *bucket6(const struct generation *g, __u64 at)
{
	return (struct bucket6 *)g->roster6 + at;
}

inline_always __u8 *label4(struct bucket4 *bucket, unsigned int slot)
{
	return &bucket->label[roster4_label_index(roster4_slot_bit(slot))];
}

inline_always __u8 *label6(struct bucket6 *bucket, unsigned int slot)
{
	return &bucket->label[roster6_label_index(1ULL << slot)];
}

inline_always struct roster_choice choose4(const struct generation *g, __u32 addr)
{
	return roster4_choose(g->hash, hash_more(g->hash, hash_ipv4(g->hash, addr)), g->roster4_buckets);
}

/* Is that one of the address's buckets? Otherwise the address is a vacant slot's value. */
inline_always bool is_bucket_of(const struct generation *g, __u64 at, __u32 addr)
{
	struct roster_choice choice = choose4(g, addr);

	return choice.first == at || choice.second == at;
}

inline_always __u32 vacant4(const struct generation *g, __u64 at)
{
	return roster4_vacant(g->hash, at, g->roster4_buckets);
}

inline_always struct roster_choice choose6(const struct generation *g, unsigned int rung, ip6 first, __u64 *tag)
{
	__u64 at = roster6_first(hash_more(g->hash, key6_hash(g, rung, first)), g->roster6_buckets);

	*tag = roster6_tag(g->tag, g->rung[rung].salt, (__u64)(first >> 64), (__u64)first);
	return (struct roster_choice){ at, roster6_other(at, *tag, g->roster6_buckets) };
}

#endif
