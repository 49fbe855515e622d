/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lists with a scope: which packets of a banned address are dropped. Asked only behind a "yes", where the label stands
 * for such lists; in programs of other generations there is nothing of it. The first part is the same on both sides.
 */
#ifndef SCOPE_H
#define SCOPE_H

#include "behind.h"
#include "match.h"

/* A packet, as scopes see it. */
struct scope_packet {
	__u32 protocol; /* 256: it is not known */
	__s32 port;	/* -1: it has none, or it is not known */
	__u64 hi, lo;	/* where it goes; IPv4 as ::ffff:a.b.c.d */
	__u32 ifindex;
};

/* A bit for each scope: those that take it, and those that could have, had its port or its protocol been known. */
struct scope_fit {
	__u64 fits, unread;
};

inline_always int scope_has(const struct scope_net *net, const struct scope_packet *p)
{
	return !((p->hi ^ net->hi) & net->mask_hi) && !((p->lo ^ net->lo) & net->mask_lo);
}

inline_always __u64 scope_nets(const struct scopes *t, const struct scope_packet *p)
{
	__u64 nets = t->nets, of = t->any_to;

	for (__u32 i = 0; i < SCOPE_NETS; i++) {
		const struct scope_net *net = &t->net[i];

		if (i >= nets)
			break;
		if (scope_has(net, p))
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

/* Those that take such a port, wherever the packet goes and comes in. */
inline_always __u64 scope_ported(const struct scopes *t, __u32 kind, __u32 port)
{
	return t->fits[t->port[kind][port & 0xffff]];
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
		fit.fits = where & scope_ported(t, kind, p->port);
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

#define SCOPES ((const struct scopes *)LOADED(CONSTANT_SCOPES))

/* What is left of a packet, so that no pointer into it is: the address that was looked up, in network order, IPv4 as
 * the first word. */
struct scope_seen {
	union {
		struct scope_packet packet;
		struct scope_fit fit; /* then */
	};
	__u32 addr[4];
	__u32 next; /* protocol, and in the lower half where its header is; 0: elsewhere */
	__u16 family, counts;
};

/* base: the headers, in the packet or a copy of them. */
inline_always int scope_see(const void *base, const void *end, struct scope_seen *seen)
{
	struct source source;
	int family = parse_source(base, end, &source);

	seen->family = family;
	if (family == SOURCE_IPV4) {
		const struct ipv4_header *ip = source.ipv4_at;

		seen->addr[0] = ip->source;
		seen->packet.hi = 0;
		seen->packet.lo = 0xffffULL << 32 | NET32(ip->destination);
		seen->next = behind_ipv4(ip, (const char *)ip - (const char *)base);
	} else if (family == SOURCE_IPV6) {
		const struct ipv6_header *ip =
			(const void *)((const char *)source.ipv6 - offsetof(struct ipv6_header, source));

		seen->addr[0] = source.ipv6[0];
		seen->addr[1] = source.ipv6[1];
		seen->addr[2] = source.ipv6[2];
		seen->addr[3] = source.ipv6[3];
		seen->packet.hi = (__u64)NET32(source.ipv6[4]) << 32 | NET32(source.ipv6[5]);
		seen->packet.lo = (__u64)NET32(source.ipv6[6]) << 32 | NET32(source.ipv6[7]);
		seen->next = BEHIND(ip->rest[5], (const char *)(ip + 1) - (const char *)base);
	} else {
		return 0;
	}
	return 1;
}

/* The destination was looked up. */
inline_never int scope_turn(struct scope_seen *seen)
{
	if (seen->family == SOURCE_IPV4) {
		seen->addr[0] = NET32((__u32)seen->packet.lo);
		return 0;
	}
	seen->addr[0] = NET32(seen->packet.hi >> 32);
	seen->addr[1] = NET32((__u32)seen->packet.hi);
	seen->addr[2] = NET32(seen->packet.lo >> 32);
	seen->addr[3] = NET32((__u32)seen->packet.lo);
	return 0;
}

/* From where its port is to the port itself. */
inline_never int scope_read_port(PACKET *ctx, struct scope_seen *seen)
{
	__u32 protocol = BEHIND_PROTOCOL(seen->next), at = BEHIND_AT(seen->next);

	seen->packet.protocol = protocol;
	seen->packet.port = (protocol == 6 || protocol == 17 || protocol == 132) && at ? read_two(ctx, at + 2) : -1;
	return 0;
}

inline_never int scope_fits(struct scope_seen *seen)
{
	struct scope_fit fit = scope_fit(SCOPES, &seen->packet);

	seen->fit = fit;
	return 0;
}

inline_always int scope_asks_end(const struct scopes *t, __u32 answer)
{
	return answer & ANSWER_DROP && t->of[ANSWER_LABEL(answer)] & SCOPE_ENDS;
}

inline_always __u32 scope_answer4(__u32 answer, __u32 in_network_order, const struct scope_fit *fit, __u32 *unread)
{
	const struct scopes *t = SCOPES;

	return scope_answer(t, answer, fit, scope_asks_end(t, answer) && end_is_over4(in_network_order), unread);
}

/* Of which address an answer may be. */
#if MATCH == MATCH_SOURCE
#define SCOPE_TO 0
#else
#define SCOPE_TO ANSWER_TO
#endif

inline_never int count_unread(PACKET *ctx, __u64 label)
{
	count_several((void *)LOADED(CONSTANT_UNREAD), label, PACKETS(ctx), PACKET_LENGTH(ctx));
	return 0;
}

#define SCOPE_STOPS(answer) ((answer) & (ANSWER_DROP | ANSWER_SHADOW))

/* Of IPv4: by many networks or interfaces. */
inline_never __u64 scope_where4(__u64 to, __u64 ifindex)
{
	struct scope_packet packet = { .lo = to, .ifindex = ifindex };

	return scope_nets(SCOPES, &packet) & scope_names(SCOPES, &packet);
}

/* By one of each, as mostly, which are asked without a loop. */
inline_always __u64 scope_where_plain(const struct scopes *t, const struct scope_packet *p)
{
	__u64 to = t->any_to, on = t->any_on;

	if (t->nets > 1 || t->names > 1)
		return scope_where4(p->lo, p->ifindex);
	if (t->nets && scope_has(&t->net[0], p))
		to |= t->net[0].of;
	if (t->names && t->on[0].ifindex == p->ifindex)
		on |= t->on[0].of;
	return to & on;
}

/* The header of a packet as most are, without a call and in registers; unread: its port is known. */
inline_always __u32 scope_judge_plain(const struct ipv4_header *ip, __u32 answer, __u32 ifindex)
{
	struct scope_packet packet = { .lo = 0xffffULL << 32 | NET32(ip->destination), .ifindex = ifindex };
	__u32 kind = ip->rest[8] == 6 ? SCOPE_TCP : SCOPE_UDP, unread;
	__u64 port = NET16(((const __u16 *)(ip + 1))[1]);
	const struct scopes *t = SCOPES;
	struct scope_fit fit = { 0 };

	LOW_16_BITS(port); /* bytes that were turned round */
	fit.fits = scope_ported(t, kind, port) & scope_where_plain(t, &packet);
	return scope_answer4(answer, answer & SCOPE_TO ? ip->destination : ip->source, &fit, &unread);
}

inline_never __u64 scope_judge_any(PACKET *ctx, __u64 answer, __u32 ifindex, __u32 counts)
{
	struct scope_seen seen = { .packet.ifindex = ifindex, .counts = counts };
	struct source source = { .ipv6 = seen.addr };
	__u32 unread = 0, ipv4;

	if (!scope_see_headers(ctx, &seen))
		return (__u32)answer;
	if (seen.family == SOURCE_IPV6)
		seen.next = behind_ipv6(ctx, seen.next >> 16, BEHIND_AT(seen.next));
	scope_read_port(ctx, &seen);
	if (answer & SCOPE_TO)
		scope_turn(&seen);
	scope_fits(&seen);
	if (seen.family == SOURCE_IPV4) {
		answer = scope_answer4(answer, seen.addr[0], &seen.fit, &unread);
		goto out;
	}
	if (source_mapped(&source))
		ipv4 = NET32(seen.addr[3]);
	else if (!SWITCH_ON(G, embedded, source.ipv6[2]) ||
		 !ipv4_within(source_ipv6(&source, 0), source_ipv6(&source, 1), &ipv4))
		goto own;
	answer = scope_answer4(decide_carried(G, ipv4), NET32(ipv4), &seen.fit, &unread);
	if (answer & ANSWER_DROP)
		return answer;
	answer = GEN(G, rungs) ? decide_own6(G, source_ipv6(&source, 0), source_ipv6(&source, 1))
			       : ANSWER(STAGE_GATE, 0, 0);
own:
	answer = scope_answer(SCOPES, answer, &seen.fit, scope_asks_end(SCOPES, answer) && end_is_over6(seen.addr),
			      &unread);
out:
	if (SCOPE_STOPS(answer) || !unread)
		return (__u32)answer;
	if (seen.counts)
		count_unread(ctx, unread - 1);
	return (__u32)answer | (__u64)unread << 32;
}

/*
 * What scopes make of an answer for one address; of which one it is, the caller knows. Whether a port that cannot be
 * read is counted, and otherwise said: in the upper half, 1 + the label that could not be asked.
 */
looked_at_apart __u64 scope_judge(PACKET *ctx, __u64 answer, __u32 ifindex, __u32 counts)
{
	const struct ipv4_header *plain = scope_plain(ctx);

	return plain ? scope_judge_plain(plain, answer, ifindex) : scope_judge_any(ctx, answer, ifindex, counts);
}

/* Verifiers know it of all other answers, and leave out what becomes of such a one: so kept packets are not asked. */
inline_always __u32 scope_known(__u32 answer)
{
	return GEN(G, shadows) ? answer : answer & ~ANSWER_SHADOW;
}

#if MATCH != MATCH_BOTH

inline_always __u32 packet_scope(PACKET *ctx, __u64 answer, const struct headers *headers)
{
	(void)headers;
	return scope_known(scope_judge(ctx, (__u32)answer, PACKET_IFINDEX(ctx), 1) | SCOPE_TO);
}

#else

/*
 * The upper half of the answer has the one for the source, which holds where the one for the destination comes to
 * nothing. Not a function of its own: verifiers follow no more than eight that call each other.
 */
inline_always __u32 packet_scope(PACKET *ctx, __u64 answer, const struct headers *headers)
{
	__u64 said = scope_judge(ctx, (__u32)answer, PACKET_IFINDEX(ctx), 0) | (answer & ANSWER_TO),
	      source = answer >> 32, unread = said >> 32;

	(void)headers;
	if (!(answer & ANSWER_TO) && !(said & ANSWER_DROP)) {
		source = said;
		said = (__u32)SCOPE_DECIDE_TO(ctx, headers);
		if (said & ANSWER_TO && ANSWER_LABEL(said) >= SCOPE_LABELS)
			said = scope_judge(ctx, (__u32)said, PACKET_IFINDEX(ctx), 0) | ANSWER_TO;
		if (!unread)
			unread = said >> 32;
	}
	if (!SCOPE_STOPS(said) && source)
		said = source;
	if (unread && !SCOPE_STOPS(said))
		count_unread(ctx, unread - 1);
	return scope_known(said);
}

#endif

#endif

#endif
