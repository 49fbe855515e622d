/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The packet within a packet (tune --inner on): one level of IP in IP, 6in4 and GRE. It is looked for where the packet
 * itself would be kept, in generations that want it; in programs of others there is nothing of it. Where it begins is
 * found by the same code on both sides.
 */
#ifndef INNER_H
#define INNER_H

#include <linux/if_ether.h>

#include "behind.h"
#include "match.h"

/* Is that address nobody's to ban? Of what leaves some are. */
#ifndef IS_SPARED
#define IS_SPARED(answer, family, ipv4, ipv6) 0
#endif

#define INNER_IPV4 4
#define INNER_IPV6 41
#define INNER_GRE  47

#define INNER_WCCP	0x883e /* IPv4, maybe behind four bytes of its own */
#define INNER_ETHERNET	0x6558
#define INNER_IS(x, at) ((__u64)(x) << 16 | ((at)&0xffff))
#define INNER_FAMILY(x) ((x) >> 16)
#define INNER_AT(x)	((x)&0xffff)
#define INNER_TAG(type) ((type) == ETH_P_8021Q || (type) == ETH_P_8021AD)
#define INNER_HIDDEN	0x7ffffffe /* an answer: as ANSWER_HIDDEN, in a number that is tested in one instruction */

inline_always __u64 inner_typed(__s64 type, __u64 at)
{
	return type == ETH_P_IP ? INNER_IS(SOURCE_IPV4, at) : type == ETH_P_IPV6 ? INNER_IS(SOURCE_IPV6, at) : 0;
}

/* Of what is behind that type: whoever ends the tunnel takes off any number of tags. */
inline_never __u64 inner_tagged(PACKET *from, __s64 type, __u64 at)
{
	NOT_UNROLLED
	for (int i = 0; i < TAGS_MAX && INNER_TAG(type); i++) {
		type = read_two(from, at + sizeof(__u16));
		at += sizeof(struct vlan_tag);
		ANY_15_BITS(at, type);
	}
	return INNER_TAG(type) ? INNER_IS(SOURCE_HIDDEN, at) : inner_typed(type, at);
}

/* As the kernel reads it: it knows neither other versions nor routes in it. */
inline_never __u64 inner_gre(PACKET *from, __u64 at)
{
	__s64 flags = read_two(from, at), type = read_two(from, at + 2), first;

	if (flags < 0 || type < 0 || flags & 0x4007)
		return 0;
	at += 4 + (flags >> 13 & 4) + (flags >> 11 & 4) + (flags >> 10 & 4);
	ANY_15_BITS(at, flags);
	if (type == INNER_ETHERNET)
		return inner_tagged(from, read_two(from, at + 12), at + ETH_HLEN);
	if (type != INNER_WCCP)
		return inner_tagged(from, type, at);
	first = read_two(from, at);
	if (flags || first < 0)
		return 0;
	return INNER_IS(SOURCE_IPV4, first >> 12 == 4 ? at : at + 4);
}

/*
 * SOURCE_IPV4, _IPV6 or _HIDDEN, and where it begins; 0: there is none, or it is in another fragment. base: where the
 * frame begins.
 */
inline_always __u64 inner_find(PACKET *from, const void *base, const void *end)
{
	struct source source;
	int family = parse_source(base, end, &source);
	__u64 behind, at;

	if (family != SOURCE_IPV4 && family != SOURCE_IPV6)
		return 0;
	behind = behind_source(from, base, &source, family);
	at = BEHIND_AT(behind);
	if (!at)
		return 0;
	if (BEHIND_PROTOCOL(behind) == INNER_IPV4)
		return INNER_IS(SOURCE_IPV4, at);
	if (BEHIND_PROTOCOL(behind) == INNER_IPV6)
		return INNER_IS(SOURCE_IPV6, at);
	return BEHIND_PROTOCOL(behind) == INNER_GRE ? inner_gre(from, at) : 0;
}

/* Its addresses in network order, those of IPv4 as the first word of each. */
struct inner {
	__u32 source[4], destination[4];
};

inline_always int inner_read(PACKET *from, __u64 where, struct inner *inner)
{
	__u64 at = INNER_AT(where);

	if (INNER_FAMILY(where) == SOURCE_IPV4)
		return read_bytes(from, at + offsetof(struct ipv4_header, source), inner->source, 4) ||
		       read_bytes(from, at + offsetof(struct ipv4_header, destination), inner->destination, 4);
	return read_bytes(from, at + offsetof(struct ipv6_header, source), inner, sizeof(*inner));
}

/* Has this generation a look into packets? word: of 32 bits. */
#ifdef __bpf__
#define INNER_ON(g, word) ((void)(g), SWITCH(INNER_MAGIC, word))
#else
#define INNER_ON(g, word) ((void)(word), (g)->inner)
#define find_inner(from)  inner_find(from, (from)->at, (from)->at + (from)->n)
#endif

/* A list with a scope is about packets as they came, so it says nothing here. */
inline_always __u32 inner_unscoped(__u32 answer, int over)
{
#if defined(__bpf__) && defined(SCOPE_H)
	struct scope_fit fit = { 0 };
	__u32 unread;

	if (SCOPED(ANSWER_LABEL(answer)))
		return scope_answer(SCOPES, answer, &fit, over, &unread);
#endif
	return ANSWER_LABEL(answer) == LABEL_ENDS ? end_answer(answer, over) : answer;
}

inline_never __u32 decide_inner4(const struct generation *g, __u32 in_network_order)
{
	__u32 answer = decide_shadow(g, decide_whole4(g, NET32(in_network_order)));

	return answer & ANSWER_DROP ? inner_unscoped(answer, end_is_over4(in_network_order)) : answer;
}

inline_never __u32 decide_inner6(const struct generation *g, const __u32 *addr)
{
	struct source source = { .ipv6 = addr };
	__u32 answer = GEN(g, rungs) ? decide_own6(g, source_ipv6(&source, 0), source_ipv6(&source, 1))
				     : ANSWER(STAGE_GATE, 0, 0);

	return answer & ANSWER_DROP ? inner_unscoped(answer, end_is_over6(addr)) : answer;
}

/* All that one of its addresses is judged by. */
inline_never __u32 decide_inner(const struct generation *g, __u64 family, const __u32 *addr)
{
	struct source source = { .ipv6 = addr };
	__u32 answer = 0, ipv4;

	if (family == SOURCE_IPV4)
		return decide_inner4(g, addr[0]);
	if (source_mapped(&source))
		answer = decide_inner4(g, addr[3]);
	else if (SWITCH_ON(g, embedded, source.ipv6[2]) &&
		 ipv4_within(source_ipv6(&source, 0), source_ipv6(&source, 1), &ipv4))
		answer = decide_inner4(g, NET32(ipv4));
	return answer & ANSWER_DROP ? answer : decide_inner6(g, addr);
}

/* The answer for a packet that is not dropped by itself, or INNER_HIDDEN. */
inline_always __u32 inner_judge(const struct generation *g, PACKET *from, __u32 answer)
{
	struct inner inner = { 0 };
	__u64 where = find_inner(from);
	__u32 found;

	if (!where)
		return answer;
	if (INNER_FAMILY(where) == SOURCE_HIDDEN)
		return INNER_HIDDEN;
	if (inner_read(from, where, &inner))
		return answer;
	if (MATCH != MATCH_DESTINATION) {
		found = decide_inner(g, INNER_FAMILY(where), inner.source);
		if (found & (ANSWER_DROP | ANSWER_SHADOW))
			answer = found | ANSWER_INNER;
	}
	if (MATCH != MATCH_SOURCE && !(answer & ANSWER_DROP)) {
		found = decide_inner(g, INNER_FAMILY(where), inner.destination);
		if (found & (ANSWER_DROP | ANSWER_SHADOW) &&
		    !IS_SPARED(ANSWER_TO, INNER_FAMILY(where), NET32(inner.destination[0]), inner.destination))
			answer = found | ANSWER_INNER | ANSWER_TO;
	}
	return answer;
}

#ifdef __bpf__
looked_at_apart __u32 inner_apart(PACKET *ctx, __u32 answer)
{
	return inner_judge(G, ctx, answer);
}
#endif

#endif
