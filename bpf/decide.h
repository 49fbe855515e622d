/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The stages in their order; the first "no" wins. This is the decision of every program of a generation, of the
 * builder's check before a generation goes live, and of the benchmarks: there is no other.
 */
#ifndef DECIDE_H
#define DECIDE_H

#include "codes.h"
#include "ends.h"
#include "filter.h"
#include "gate.h"
#include "parse.h"
#include "roster.h"

/* The label of a drop by the gate: kept for each /24, unless all share one. */
inline_always __u32 decide_gate4_label(const struct generation *g, __u32 addr)
{
	const __u8 *labels;

	if (!GEN(g, gate4_labels))
		return GEN(g, gate4_label);
	labels = BLOCK_AT(g, gate4_labels, no_flat, addr >> 14);
	return labels ? labels[addr >> 8 & 63] : LABEL_LIVE;
}

/* Buckets of either kind are half a line. */
inline_always const void *decide_bucket4(const struct generation *g, __u64 at)
{
	const struct bucket4 *line = BLOCK_AT(g, roster4, roster4_flat, at / 2);

	return line ? line + at % 2 : NULL;
}

/* Behind the filter, where the roster keeps codes. */
inline_never __u32 decide_codes4(const struct generation *g, __u32 addr)
{
	struct hash_seeds seeds = HASH_SEEDS(g, hash);
	__u64 shape = CODES4_SHAPE(g);
	__u32 mixed = codes4_mix(seeds, addr);
	struct code4 at = codes4_first(shape, mixed);
	const struct codes4 *bucket = decide_bucket4(g, at.bucket);
	unsigned int found;

	if (!bucket)
		return ANSWER(STAGE_ROSTER, 0, 0);
	found = codes4_test(bucket, at.code);
	if (found)
		return ANSWER_DROP | ANSWER(STAGE_ROSTER, 0, bucket->label[(found - 1) & 15]);
	at = codes4_second(shape, codes4_mix_more(seeds, mixed));
	bucket = codes4_is_second(shape, at.code) ? decide_bucket4(g, at.bucket) : NULL;
	if (!bucket)
		return ANSWER(STAGE_ROSTER, 0, 0);
	found = codes4_test(bucket, at.code);
	if (!found)
		return ANSWER(STAGE_ROSTER, 0, 0);
	return ANSWER_DROP | ANSWER(STAGE_ROSTER, 0, bucket->label[(found - 1) & 15]);
}

/* The filter's yes where no roster of addresses is asked: it decides alone, or codes are. */
inline_always __u32 decide_alone4(const struct generation *g, __u32 addr)
{
#ifdef __bpf__
	(void)g;
	(void)addr;
	return RARE(ALONE_MAGIC);
#else
	if (CODES4_SHAPE(g))
		return decide_codes4(g, addr);
	return ANSWER_DROP | ANSWER(STAGE_FILTER, 0, LABEL_LIVE);
#endif
}

/* 1 + label, or 0 where the roster does not hold the address. */
inline_always __u32 decide_roster4(const struct generation *g, __u64 word, __u32 addr)
{
	struct roster_choice at = roster4_choose((struct hash_seeds){ .mul1 = GEN_LATE(g, hash.mul1) }, word,
						 GEN_LATE(g, roster4_buckets));
	const struct bucket4 *bucket = decide_bucket4(g, at.first);
	unsigned int found;

	if (!bucket)
		return 0;
	found = roster4_test(bucket, addr);
	if (found)
		return 1 + bucket->label[(found - 1) & 7];
	bucket = decide_bucket4(g, at.second);
	if (!bucket)
		return 0;
	found = roster4_test(bucket, addr);
	return found ? 1 + bucket->label[(found - 1) & 7] : 0;
}

inline_always __u32 decide_roster6(const struct generation *g, __u64 word, __u64 tag)
{
	__u64 at = roster6_first(word, GEN(g, roster6_buckets));
	const struct bucket6 *bucket = BLOCK_AT(g, roster6, no_flat, at);
	unsigned int found;

	if (!bucket)
		return 0;
	found = roster6_test(bucket, tag);
	if (found)
		return 1 + bucket->label[(found - 1) & 7];
	bucket = BLOCK_AT(g, roster6, no_flat, roster6_other(at, tag, GEN(g, roster6_buckets)));
	if (!bucket)
		return 0;
	found = roster6_test(bucket, tag);
	return found ? 1 + bucket->label[(found - 1) & 7] : 0;
}

/* Behind the filter; or where the gate bans the /24, but a host of it may be on another account. */
inline_always __u32 decide_exact4(const struct generation *g, __u64 hash, __u32 addr, __u32 otherwise)
{
	__u32 label = decide_roster4(g, HASH_MORE(g, hash), addr);

	return label ? ANSWER_DROP | ANSWER(STAGE_ROSTER, 0, label - 1) : otherwise;
}

inline_always __u32 decide_ipv4(const struct generation *g, __u32 addr)
{
	__u64 hash;

	if (GEN(g, gate4)) {
		unsigned int gate = gate4_test((const __u8 *)GEN(g, gate4), addr);

		if (gate == GATE4_CLEAR)
			return ANSWER(STAGE_GATE, 0, 0);
		if (gate != GATE4_SOME) {
			__u32 answer = ANSWER_DROP | ANSWER(STAGE_GATE, 0, decide_gate4_label(g, addr));

			if (gate == GATE4_ALL || !ADDRESSES4(g))
				return answer;
			return decide_exact4(g, hash_ipv4(HASH_SEEDS(g, hash), addr), addr, answer);
		}
	}
	if (!GEN(g, keys4)) {
		BRANCH_APART();
		return ANSWER(STAGE_GATE, 0, 0);
	}
	hash = hash_ipv4(HASH_SEEDS(g, hash), addr);
	if (!filter_test(g, hash))
		return ANSWER(STAGE_FILTER, 0, 0);
	if (!ADDRESSES4(g))
		return decide_alone4(g, addr);
	return decide_exact4(g, hash, addr, ANSWER(STAGE_ROSTER, 0, 0));
}

/* The same, and where codes are to be asked, they are: for all but the program that has a way for that of its own. */
inline_always __u32 decide_whole4(const struct generation *g, __u32 addr)
{
	__u32 answer = decide_ipv4(g, addr);

	return CODES4_ON(answer) && answer == ANSWER_CODES ? decide_codes4(g, addr) : answer;
}

#ifndef DECIDE_PLAIN4
#define DECIDE_PLAIN4 decide_whole4
#endif

inline_always __u32 decide_rung(const struct generation *g, __u32 rung, __u64 hi, __u64 lo, __u64 salt)
{
	__u64 hash = hash_ipv6(HASH_SEEDS(g, hash), salt, hi, lo);
	__u32 label;

	if (!filter_test(g, hash))
		return ANSWER(STAGE_FILTER, rung, 0);
	if (!GEN(g, roster6_buckets))
		return ANSWER_DROP | ANSWER(STAGE_FILTER, rung, LABEL_LIVE);
	label = decide_roster6(g, HASH_MORE(g, hash), roster6_tag(HASH_SEEDS(g, tag), salt, hi, lo));
	if (!label)
		return ANSWER(STAGE_ROSTER, rung, 0);
	return ANSWER_DROP | ANSWER(STAGE_ROSTER, rung, label - 1);
}

#define DECIDE_RUNG(i)                                                                                 \
	do {                                                                                           \
		if ((i) >= GEN(g, rungs))                                                              \
			return answer;                                                                 \
		if (!(gate & 1 << (i)))                                                                \
			break;                                                                         \
		answer = decide_rung(g, i, hi & GEN(g, rung[i].mask_hi), lo & GEN(g, rung[i].mask_lo), \
				     GEN(g, rung[i].salt));                                            \
		if (answer & ANSWER_DROP)                                                              \
			return answer;                                                                 \
	} while (0)

/* Unrolled: a rung that is not in use is not in the program; one that the gate rules out is not looked up. */
inline_always __u32 decide_ipv6(const struct generation *g, __u64 hi, __u64 lo)
{
	__u32 answer = ANSWER(STAGE_GATE, 0, 0), gate = ~0U;

	if (!GEN(g, rungs))
		return answer;
	if (GEN(g, gate6)) {
		__u64 index = gate6_index(GEN(g, gate6_add), GEN(g, gate6_mul), GEN(g, gate6_log2), hi >> 32);

		gate = ((const __u8 *)GEN(g, gate6))[index];
		if (!gate)
			return answer;
	}
	DECIDE_RUNG(0);
	DECIDE_RUNG(1);
	DECIDE_RUNG(2);
	DECIDE_RUNG(3);
	DECIDE_RUNG(4);
	DECIDE_RUNG(5);
	DECIDE_RUNG(6);
	DECIDE_RUNG(7);
	return answer;
}

/* A shadow list's drop is counted, and passes. Only drops cost more, and only where there is such a list. */
inline_always __u32 decide_shadow(const struct generation *g, __u32 answer)
{
	__u32 label = ANSWER_LABEL(answer);
	__u64 word;

	if (!GEN(g, shadows) || !(answer & ANSWER_DROP))
		return answer;
	if (label < 128)
		word = label < 64 ? GEN(g, shadow[0]) : GEN(g, shadow[1]);
	else
		word = label < 192 ? GEN(g, shadow[2]) : GEN(g, shadow[3]);
	return word >> (label & 63) & 1 ? answer ^ (ANSWER_DROP | ANSWER_SHADOW) : answer;
}

/* Addresses that stand for an IPv4 one: 6to4, Teredo, NAT64 by its well-known prefix, ISATAP, and ::a.b.c.d. */
inline_always int ipv4_within(__u64 hi, __u64 lo, __u32 *ipv4)
{
	*ipv4 = lo;
	if (hi >> 48 == 0x2002)
		*ipv4 = hi >> 16;
	else if (hi >> 32 == 0x20010000)
		*ipv4 = ~lo;
	else if ((lo >> 32 | 0x02000000) != 0x02005efe && ((hi && hi != 0x0064ff9b00000000) || lo >> 32))
		return 0;
	return 1;
}

/* By the IPv4 address that an IPv6 one carries: a copy, which costs all other packets nothing. */
inline_never __u32 decide_carried(const struct generation *g, __u32 ipv4)
{
	__u32 answer = decide_shadow(g, decide_whole4(g, ipv4));

	RARE_ANSWER(answer, rare);
	return answer;
rare:
	return ANSWER_LABEL(answer) == LABEL_ENDS ? end_answer(answer, end_is_over4(NET32(ipv4))) : answer;
}

inline_never __u32 decide_within(const struct generation *g, const __u32 *ipv6)
{
	struct source source = { .ipv6 = ipv6 };
	__u32 ipv4;

	return ipv4_within(source_ipv6(&source, 0), source_ipv6(&source, 1), &ipv4) ? decide_carried(g, ipv4) : 0;
}

/* What the lists say of an IPv6 address alone: a copy, for those who ask apart. */
inline_never __u32 decide_own6(const struct generation *g, __u64 hi, __u64 lo)
{
	return decide_shadow(g, decide_ipv6(g, hi, lo));
}

/* The answer for a source, which may be a destination; UNPARSED or HIDDEN, which are negative, for what is none. */
inline_always __s64 decide_source(const struct generation *g, const struct source *source, int family)
{
	if (family == SOURCE_IPV4)
		return decide_shadow(g, DECIDE_PLAIN4(g, source->ipv4));
	if (family == SOURCE_IPV6) {
		if (source_mapped(source)) {
			__u32 answer = decide_carried(g, NET32(source->ipv6[3]));

			if (answer & ANSWER_DROP)
				return answer;
		}
		if (SWITCH_ON(g, embedded, source->ipv6[2])) {
			__u32 answer = decide_within(g, source->ipv6);

			if (answer & ANSWER_DROP)
				return answer;
		}
		if (!GEN(g, rungs))
			return ANSWER(STAGE_GATE, 0, 0);
		return decide_shadow(g, decide_ipv6(g, source_ipv6(source, 0), source_ipv6(source, 1)));
	}
	return family == SOURCE_HIDDEN ? RARE((int)ANSWER_HIDDEN) : (int)ANSWER_UNPARSED;
}

/* The answer for a packet's source. */
inline_always __s64 decide_packet(const struct generation *g, const void *data, const void *end)
{
	struct source source;
	int family = parse_source(data, end, &source);

	return decide_source(g, &source, family);
}

#ifdef __bpf__

/* Of a packet whose own source is banned with an end: what the clock makes of the answer. */
inline_never __u32 decide_end(const void *data, const void *end, __u32 answer)
{
	struct source source;
	int family = parse_source(data, end, &source), over = 0;

	if (family == SOURCE_IPV4)
		over = end_is_over4(NET32(source.ipv4));
	else if (family == SOURCE_IPV6)
		over = end_is_over6(source.ipv6);
	return end_answer(answer, over);
}

#endif

#endif
