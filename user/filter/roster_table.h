/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a generation's rosters keep a key: its two buckets, and the label that belongs to a slot. */
#ifndef FILTER_ROSTER_TABLE_H
#define FILTER_ROSTER_TABLE_H

#include "bpf/codes.h"
#include "bpf/roster.h"
#include "filter/keys.h"

inline_always bool keeps_codes4(const struct generation *g)
{
	return g->roster4_buckets & ROSTER4_CODES;
}

inline_always __u64 buckets4(const struct generation *g)
{
	return keeps_codes4(g) ? CODES4_BUCKETS(g->roster4_buckets) : g->roster4_buckets;
}

inline_always __u64 generation_version(const struct generation *g)
{
	return keeps_codes4(g) ? GENERATION_CODES : GENERATION_VERSION;
}

inline_always unsigned int slots4(const struct generation *g)
{
	return keeps_codes4(g) ? CODES4_SLOTS : ROSTER4_SLOTS;
}

inline_always struct bucket4 *bucket4(const struct generation *g, __u64 at)
{
	return (struct bucket4 *)g->roster4 + at;
}

inline_always struct codes4 *bucket_of_codes4(const struct generation *g, __u64 at)
{
	return (struct codes4 *)g->roster4 + at;
}

inline_always struct bucket6 *bucket6(const struct generation *g, __u64 at)
{
	return (struct bucket6 *)g->roster6 + at;
}

inline_always __u8 *label4(const struct generation *g, __u64 at, unsigned int slot)
{
	if (keeps_codes4(g))
		return &bucket_of_codes4(g, at)->label[codes4_label_index(codes4_slot_bit(slot))];
	return &bucket4(g, at)->label[roster4_label_index(roster4_slot_bit(slot))];
}

inline_always __u8 *label6(struct bucket6 *bucket, unsigned int slot)
{
	return &bucket->label[roster6_label_index(1ULL << slot)];
}

/* In each bucket that it may be in; a second code of 0: it has one bucket. */
inline_always void codes4_of(const struct generation *g, __u32 addr, struct code4 *first, struct code4 *second)
{
	__u32 mixed = codes4_mix(g->hash, addr);

	*first = codes4_first(g->roster4_buckets, mixed);
	*second = codes4_second(g->roster4_buckets, codes4_mix_more(g->hash, mixed));
	if (!codes4_is_second(g->roster4_buckets, second->code))
		*second = (struct code4){ first->bucket, 0 };
}

inline_always struct roster_choice choose4(const struct generation *g, __u32 addr)
{
	struct code4 first, second;

	if (!keeps_codes4(g))
		return roster4_choose(g->hash, hash_more(g->hash, hash_ipv4(g->hash, addr)), g->roster4_buckets);
	codes4_of(g, addr, &first, &second);
	return (struct roster_choice){ first.bucket, second.bucket };
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

/* What stands in a slot: the value that means the address there, and that says that there is none. */
inline_always __u32 value4(const struct generation *g, __u64 at, __u32 addr)
{
	struct code4 first, second;

	if (!keeps_codes4(g))
		return addr;
	codes4_of(g, addr, &first, &second);
	return (__u32)(first.bucket == at ? first.code : second.code);
}

inline_always __u32 no_value4(const struct generation *g, __u64 at)
{
	return keeps_codes4(g) ? 0 : vacant4(g, at);
}

inline_always __u32 value4_at(const struct generation *g, __u64 at, unsigned int slot)
{
	return keeps_codes4(g) ? bucket_of_codes4(g, at)->code[slot] : bucket4(g, at)->addr[slot];
}

inline_always void value4_set(const struct generation *g, __u64 at, unsigned int slot, __u32 value, __u8 label)
{
	if (keeps_codes4(g))
		codes4_set(bucket_of_codes4(g, at), slot, value, label);
	else
		roster4_set(bucket4(g, at), slot, value, label);
}

inline_always void value4_clear(const struct generation *g, __u64 at, unsigned int slot)
{
	if (keeps_codes4(g))
		codes4_clear(bucket_of_codes4(g, at), slot);
	else
		roster4_clear(bucket4(g, at), slot, vacant4(g, at));
}

/* The one address that this code means in that bucket; false: there is none. */
bool codes4_addr(const struct generation *g, __u64 bucket, __u32 code, __u32 *addr);
/* The address that stands in a slot; false: none does. */
bool addr4_at(const struct generation *g, __u64 at, unsigned int slot, __u32 *addr);

inline_always struct roster_choice choose6(const struct generation *g, unsigned int rung, ip6 first, __u64 *tag)
{
	__u64 at = roster6_first(hash_more(g->hash, key6_hash(g, rung, first)), g->roster6_buckets);

	*tag = roster6_tag(g->tag, g->rung[rung].salt, (__u64)(first >> 64), (__u64)first);
	return (struct roster_choice){ at, roster6_other(at, *tag, g->roster6_buckets) };
}

#endif
