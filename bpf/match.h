/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which address of a packet is asked about: its source, its destination, or both. It is a matter of the whole program:
 * whoever asks about sources alone runs what knows of nothing else.
 */
#ifndef MATCH_H
#define MATCH_H

#include "abi.h"

#ifndef MATCH
#define MATCH MATCH_SOURCE
#endif

/* Of sources that come in, as nearly all do: a packet whose codes are to be asked has a rare way of its own. */
#if defined(__bpf__) && MATCH == MATCH_SOURCE && defined(CODES_LATER)
#define DECIDE_PLAIN4 decide_ipv4
#endif

#include "decide.h"

/* The answer for a packet, as the rare ways have it: of both addresses with an upper half. */
#if MATCH == MATCH_BOTH
#define MATCHED __u64
#else
#define MATCHED __u32
#endif

#if MATCH == MATCH_SOURCE

#define decide_matched(g, data, end, zero) decide_packet(g, data, end)
#define decide_match_end		   decide_end

#else

/* What the clock makes of an answer: it says itself of which address it is. */
inline_never __u32 decide_match_end(const void *data, const void *end, __u32 answer)
{
	struct source source;
	int family = parse_source(data, end, &source), over = 0;

	if (answer & ANSWER_TO)
		source_turn(&source, family);
	if (family == SOURCE_IPV4)
		over = end_is_over4(NET32(source.ipv4));
	else if (family == SOURCE_IPV6)
		over = end_is_over6(source.ipv6);
	return end_answer(answer, over);
}

inline_always __s64 answer_to(__s64 answer)
{
	return answer & (ANSWER_DROP | ANSWER_SHADOW) ? answer | ANSWER_TO : answer;
}

/* Of a packet as nearly all are: a function of its own, as below, but nothing is read anew. */
inline_never __u32 decide_to4(const struct generation *g, __u32 destination)
{
	return answer_to(decide_shadow(g, decide_whole4(g, destination)));
}

/*
 * The answer for the destination. It reads the headers anew, in a function of its own: then the verifier comes here in
 * few states, and not in one for each way through the headers and each answer for the source.
 */
inline_never __s64 decide_to(const struct generation *g, const void *data, const void *end)
{
	struct source source;
	int family = parse_source(data, end, &source);

	if (family == SOURCE_IPV4 || family == SOURCE_IPV6)
		source_turn(&source, family);
	if (family == SOURCE_IPV4)
		return decide_to4(g, source.ipv4);
	return answer_to(decide_source(g, &source, family));
}

/* The answer for a packet's destination: as nearly all packets are, or however they are. */
inline_always __s64 decide_destination(const struct generation *g, const void *data, const void *end)
{
	const struct ethernet *eth = data;
	const struct ipv4_header *ip = (const void *)(eth + 1);

	if (PARSE_FITS(ip, sizeof(*ip), end) && eth->proto == NET16(ETH_P_IP))
		return (__u32)answer_to(decide_shadow(g, decide_whole4(g, NET32(ip->destination))));
	return decide_to(g, data, end);
}

/*
 * Of a packet for whose source there was an answer: it is dropped, would be if its list were not a shadow, or has no
 * addresses. zero: a number that is never as large as 2^31, which the verifier does not know. What it knows of the
 * first answer it would carry through all of the second, and of both through all that becomes of them.
 */
inline_always __s64 decide_both(const struct generation *g, const void *data, const void *end, __s64 answer, __u32 zero)
{
	__s64 to;

	answer ^= -(__s64)(zero >> 31);
	if (answer < 0)
		return answer;
	RARE_ANSWER(answer, ends);
	goto ended;
ends:
	/* Whatever comes of it, packet_scope() goes on from there. */
	if (SCOPED(ANSWER_LABEL(answer)))
		return answer;
	if (ANSWER_LABEL(answer) == LABEL_ENDS)
		answer = decide_match_end(data, end, answer);
ended:
	if (answer & ANSWER_DROP)
		return answer;
	to = decide_to(g, data, end) ^ -(__s64)(zero >> 31);
	/* It may come to nothing: a scope, or an end. */
	if (to & ANSWER_TO && to & LABEL_ENDS_BIT && answer & ANSWER_SHADOW)
		return to | answer << 32;
	return to & ANSWER_TO || !(answer & ANSWER_SHADOW) ? to : answer;
}

/* The answer for a packet: a drop, if either is to be dropped. The source is asked first. */
inline_always __s64 decide_matched(const struct generation *g, const void *data, const void *end, __u32 zero)
{
	if (MATCH == MATCH_BOTH) {
		__s64 answer = decide_packet(g, data, end);

		if ((__u64)answer >= ANSWER_DROP)
			return decide_both(g, data, end, answer, zero);
	}
	return decide_destination(g, data, end);
}

#endif

#ifdef __bpf__
/* The same of a packet's answer: where the destination's comes to nothing, the source's holds. */
inline_always __u32 match_ended(const void *data, const void *end, MATCHED answer)
{
	__u32 said = decide_match_end(data, end, answer);

#if MATCH == MATCH_BOTH
	if (!(said & ANSWER_DROP) && answer >> 32)
		return answer >> 32;
#endif
	return said;
}
#endif

#endif
