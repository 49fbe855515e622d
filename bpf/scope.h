/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lists with a scope: which packets of a banned address are dropped. Asked only behind a "yes", where the label stands
 * for such lists; in programs of other generations there is nothing of it. The first part is the same on both sides.
 */
#ifndef SCOPE_H
#define SCOPE_H

#include "decide.h"

#define SCOPE_FRAGMENT 44
#define SCOPE_AH       51
/* What may lie between the header of IPv6 and the ports: hop-by-hop, routing, fragment, AH, destination, mobility. */
#define SCOPE_BETWEEN(protocol)                                                                           \
	((protocol) == 0 || (protocol) == 43 || (protocol) == SCOPE_FRAGMENT || (protocol) == SCOPE_AH || \
	 (protocol) == 60 || (protocol) == 135)
#define SCOPE_HEADERS 8 /* so many of them are looked through */

/* A packet, as scopes see it. */
struct scope_packet {
	__u32 protocol; /* 256: it is not known */
	__s32 port;	/* -1: it has none, or it is not known */
	__u64 hi, lo;	/* the other address; IPv4 as ::ffff:a.b.c.d */
	__u32 ifindex;
	__u32 family; /* of what was seen */
};

/* A bit for each scope: those that take it, and those that could have, had its port or its protocol been known. */
struct scope_fit {
	__u64 fits, unread;
};

inline_always __u64 scope_nets(const struct scopes *t, const struct scope_packet *p)
{
	__u64 nets = t->nets, of = t->any_to;

	for (__u32 i = 0; i < SCOPE_NETS; i++) {
		const struct scope_net *net = &t->net[i];

		if (i >= nets)
			break;
		if (!((p->hi ^ net->hi) & net->mask_hi) && !((p->lo ^ net->lo) & net->mask_lo))
			of |= net->of;
	}
	return of;
}

inline_always __u64 scope_names(const struct scopes *t, const struct scope_packet *p)
{
	__u64 names = t->names, of = t->any_on;

	for (__u32 i = 0; i < SCOPE_NAMES; i++) {
		if (i >= names)
			break;
		if (t->on[i].ifindex == p->ifindex)
			of |= t->on[i].of;
	}
	return of;
}

inline_always struct scope_fit scope_fit(const struct scopes *t, const struct scope_packet *p)
{
	__u32 kind = p->protocol == 6	  ? SCOPE_TCP
		     : p->protocol == 17  ? SCOPE_UDP
		     : p->protocol == 132 ? SCOPE_SCTP
		     : p->protocol > 255  ? SCOPE_UNKNOWN
					  : SCOPE_KINDS;
	struct scope_fit fit = { 0 };
	__u64 where = scope_nets(t, p) & scope_names(t, p);

	if (p->port >= 0 && kind < SCOPE_PORTED) {
		fit.fits = where & t->fits[t->port[kind][p->port & 0xffff]];
		return fit;
	}
	fit.fits = where & t->fits[kind == SCOPE_UNKNOWN ? 0 : t->protocol[p->protocol & 0xff]];
	if (kind < SCOPE_KINDS)
		fit.unread = where & t->unread[kind];
	return fit;
}

/* What an answer comes to whose label is SCOPE_LABELS or more. *unread: 1 + the label that could not be asked. */
inline_always __u32 scope_answer(const struct scopes *t, __u32 answer, const struct scope_fit *fit, int over,
				 __u32 *unread)
{
	__u64 of = t->of[ANSWER_LABEL(answer)], hit = of & fit->fits;

	if (!of || !(answer & ANSWER_DROP))
		return answer;
	if (of & SCOPE_ENDS && !over)
		return answer & ~0xffu;
	if (!hit) {
		hit = of & fit->unread;
		if (hit)
			*unread = 1 + t->account[SCOPE_PLACE(hit)];
		return answer & ~(ANSWER_DROP | 0xff);
	}
	answer = (answer & ~0xffu) | t->account[SCOPE_PLACE(hit)];
	return t->counts & hit & -hit ? answer ^ (ANSWER_DROP | ANSWER_SHADOW) : answer;
}

#ifdef __bpf__

#define SCOPES                                                                                     \
	({                                                                                         \
		__u64 value_;                                                                      \
		asm volatile("%0 = %1 ll" : "=r"(value_) : "i"(CONSTANT_MAGIC | CONSTANT_SCOPES)); \
		(const struct scopes *)value_;                                                     \
	})

/* Has this generation scopes? label: of an answer. */
#define SCOPED(label) SWITCH(SCOPES_MAGIC, label)

/* To the verifier it is any number of 16 bits from here on: ways that differ in what it knows of it become one. */
#define ANY_BITS(number, any)	 asm volatile("%0 ^= %1\n%0 ^= %1" : "+r"(number) : "r"(any))
#define ANY_16_BITS(number, any) asm volatile("%0 ^= %1\n%0 ^= %1\n%0 &= 0x7fff" : "+r"(number) : "r"(any))

/* What is left of a packet, so that no pointer into it is: its source in network order, IPv4 as the first word. */
struct scope_seen {
	struct scope_packet packet;
	__u32 source[4];
};

/* Two bytes of the packet, wherever they are; -1: it ends before. */
inline_always __s64 scope_two(struct xdp_md *ctx, __u64 at)
{
	const __u8 *data = (const __u8 *)(long)ctx->data, *end = (const __u8 *)(long)ctx->data_end;
	__u8 two[2] = { 0 };

	at &= 0x7fff;
	data += at;
	if (PARSE_FITS(data, 2, end))
		return (__u64)data[0] << 8 | data[1];
	if (!GEN((const struct generation *)NULL, frags) || bpf_xdp_load_bytes(ctx, at, two, sizeof(two)))
		return -1;
	return (__u64)two[0] << 8 | two[1];
}

/* Behind IPv6's own header: the protocol, and in the lower half where its header is; 0: elsewhere. */
inline_never __u64 scope_behind6(struct xdp_md *ctx, __u64 protocol, __u64 at)
{
	_Pragma("clang loop unroll(disable)") for (int i = 0; i < SCOPE_HEADERS; i++)
	{
		__s64 two, where;

		if (!SCOPE_BETWEEN(protocol))
			return protocol << 16 | (at & 0xffff);
		two = scope_two(ctx, at);
		if (two < 0)
			return 256 << 16;
		if (protocol == SCOPE_FRAGMENT) {
			where = scope_two(ctx, at + 2);
			if (where < 0)
				return 256 << 16;
			if (where & 0xfff8) {
				protocol = two >> 8;
				return (SCOPE_BETWEEN(protocol) ? 256 : protocol) << 16;
			}
			at += 8;
		} else if (protocol == SCOPE_AH) {
			at += ((two & 0xff) + 2) * 4;
		} else {
			at += ((two & 0xff) + 1) * 8;
		}
		ANY_16_BITS(at, two);
		protocol = two >> 8;
	}
	return SCOPE_BETWEEN(protocol) ? 256 << 16 : protocol << 16 | (at & 0xffff);
}

/* base: the headers, in the packet or a copy of them. */
inline_always int scope_see(struct xdp_md *ctx, const void *base, const void *end, struct scope_seen *seen)
{
	struct source source;
	int family = parse_source(base, end, &source);
	__u64 behind;

	seen->packet.family = family;
	if (family == SOURCE_IPV4) {
		const struct ipv4_header *ip = source.ipv4_at;

		seen->source[0] = ip->source;
		seen->packet.hi = 0;
		seen->packet.lo = 0xffffULL << 32 | NET32(ip->destination);
		behind = (const char *)ip - (const char *)base + (ip->version_ihl & 15) * 4;
		behind = (__u64)ip->rest[8] << 16 | ((ip->rest[5] << 8 | ip->rest[6]) & 0x1fff ? 0 : behind & 0xffff);
	} else if (family == SOURCE_IPV6) {
		const struct ipv6_header *ip =
			(const void *)((const char *)source.ipv6 - offsetof(struct ipv6_header, source));

		seen->source[0] = source.ipv6[0];
		seen->source[1] = source.ipv6[1];
		seen->source[2] = source.ipv6[2];
		seen->source[3] = source.ipv6[3];
		seen->packet.hi = (__u64)NET32(source.ipv6[4]) << 32 | NET32(source.ipv6[5]);
		seen->packet.lo = (__u64)NET32(source.ipv6[6]) << 32 | NET32(source.ipv6[7]);
		behind = scope_behind6(ctx, ip->rest[5], (const char *)(ip + 1) - (const char *)base);
	} else {
		return 0;
	}
	seen->packet.protocol = behind >> 16 & 0x1ff;
	seen->packet.port = behind & 0xffff;
	return 1;
}

inline_never int scope_see_here(struct xdp_md *ctx, struct scope_seen *seen)
{
	return scope_see(ctx, (const void *)(long)ctx->data, (const void *)(long)ctx->data_end, seen);
}

/* Where the headers are not in the first buffer: as decide_frags(). */
inline_never int scope_see_frags(struct xdp_md *ctx, struct scope_seen *seen)
{
	struct {
		__u16 pad;
		char bytes[HEADERS_MAX];
	} __attribute__((aligned(8))) headers = { 0 };
	__u64 length = bpf_xdp_get_buff_len(ctx);

	if (length > HEADERS_MAX)
		length = HEADERS_MAX;
	if (length < ETH_HLEN || bpf_xdp_load_bytes(ctx, 0, headers.bytes, length))
		return 0;
	return scope_see(ctx, headers.bytes, headers.bytes + HEADERS_MAX, seen);
}

/* From where its port is to the port itself. */
inline_never int scope_read_port(struct xdp_md *ctx, struct scope_seen *seen)
{
	__u32 protocol = seen->packet.protocol, at = seen->packet.port;

	seen->packet.port = (protocol == 6 || protocol == 17 || protocol == 132) && at ? scope_two(ctx, at + 2) : -1;
	return 0;
}

inline_never int scope_fits(const struct scope_seen *seen, struct scope_fit *fit)
{
	*fit = scope_fit(SCOPES, &seen->packet);
	return 0;
}

/* What the lists say of the address alone, once more: a scoped answer of an IPv4 address within it hid that. */
inline_never __u32 decide_own6(const struct generation *g, __u64 hi, __u64 lo)
{
	return decide_shadow(g, decide_ipv6(g, hi, lo));
}

inline_never int count_unread(__u32 label, __u64 bytes)
{
	struct tally *tally;
	__u64 map;

	asm volatile("%0 = %1 ll" : "=r"(map) : "i"(CONSTANT_MAGIC | CONSTANT_UNREAD));
	tally = bpf_map_lookup_elem((void *)map, &label);
	if (tally) {
		tally->packets++;
		tally->bytes += bytes;
	}
	return 0;
}

inline_always int scope_asks_end(__u32 answer)
{
	return answer & ANSWER_DROP && SCOPES->of[ANSWER_LABEL(answer)] & SCOPE_ENDS;
}

inline_always __u32 scope_answer4(__u32 answer, __u32 in_network_order, const struct scope_fit *fit, __u32 *unread)
{
	return scope_answer(SCOPES, answer, fit, scope_asks_end(answer) && end_is_over4(in_network_order), unread);
}

/* bytes: of the packet, to be counted; 0: nothing is. */
inline_always __u32 scope_judge(struct xdp_md *ctx, const struct generation *g, __u32 answer, __u64 ifindex,
				__u64 bytes)
{
	struct scope_seen seen = { .packet.ifindex = ifindex };
	struct source source = { .ipv6 = seen.source };
	struct scope_fit fit = { 0 };
	__u32 unread = 0, ipv4;

	if (!scope_see_here(ctx, &seen) && !(GEN(g, frags) && scope_see_frags(ctx, &seen)))
		return answer;
	scope_read_port(ctx, &seen);
	scope_fits(&seen, &fit);
	if (seen.packet.family == SOURCE_IPV4) {
		answer = scope_answer4(answer, seen.source[0], &fit, &unread);
		goto out;
	}
	if (source_mapped(&source))
		ipv4 = NET32(seen.source[3]);
	else if (!SWITCH_ON(g, embedded, source.ipv6[2]) ||
		 !ipv4_within(source_ipv6(&source, 0), source_ipv6(&source, 1), &ipv4))
		goto own;
	answer = scope_answer4(decide_carried(g, ipv4), NET32(ipv4), &fit, &unread);
	if (answer & ANSWER_DROP)
		return answer;
	answer = GEN(g, rungs) ? decide_own6(g, source_ipv6(&source, 0), source_ipv6(&source, 1))
			       : ANSWER(STAGE_GATE, 0, 0);
own:
	answer = scope_answer(SCOPES, answer, &fit, scope_asks_end(answer) && end_is_over6(seen.source), &unread);
out:
	if (unread && bytes && !(answer & (ANSWER_DROP | ANSWER_SHADOW)))
		count_unread(unread - 1, bytes);
	return answer;
}

#endif

#endif
