/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Did nobody here ask for it? A packet is unanswered that is for this machine and that no socket of it takes: TCP that
 * belongs to no connection and begins none, UDP to a port where nothing listens. It is said of what is certain alone.
 * Where packets are handed on (a router, NAT, containers) an interface forwards, and what is for an address that is not
 * this machine's own (guests behind a bridge) is no question of its sockets; behind a VLAN tag another interface takes
 * it. All that counts as asked for, and so do fragments, what lies in several buffers, and ICMP: who waits for its
 * answers is no socket that can be looked up.
 *
 * And where does it lead? To an address and port, by a SYN, for whomever it is, or by UDP that is unanswered: of these
 * scans are made.
 */
#ifndef UNASKED_H
#define UNASKED_H

#include "proof.h"

/* From this bit on, of what is said: a hash of the address and port, never 0. */
#define UNASKED_PAIR 16

#ifdef __bpf__

#define TCP_HEADER 20
#define UDP_HEADER 8

#define FAMILY4 2 /* the kernel's numbers, the same everywhere */
#define FAMILY6 10

inline_always __u32 pair_of(const struct source *source, int family, const struct transport_header *at)
{
	struct hash_seeds seeds = { DETECT(D, hash.add), DETECT(D, hash.mul1), DETECT(D, hash.mul2),
				    DETECT(D, hash.mul3) };
	__u64 salt = (__u64)at->destination << 1 | SALT_WIDE, hash;

	if (family == SOURCE_IPV4) {
		const struct ipv4_header *ip = source->ipv4_at;

		hash = hash_ipv6(seeds, salt, 0, ip->destination);
	} else {
		struct source destination = { .ipv6 = source->ipv6 + 4 };

		hash = hash_ipv6(seeds, salt, source_ipv6(&destination, 0), source_ipv6(&destination, 1));
	}
	return (hash >> 50) + 1;
}

inline_always int destination_is_own(const struct source *source, int family)
{
	struct end_key key = { 0 };

	if (family == SOURCE_IPV4) {
		const struct ipv4_header *ip = source->ipv4_at;

		key.bits = END_KEY_BITS(32);
		key.family = END_KEY_OWN + 4;
		key.addr[0] = ip->destination;
	} else {
		key.bits = END_KEY_BITS(128);
		key.family = END_KEY_OWN + 6;
		UNROLL
		for (int i = 0; i < 4; i++)
			key.addr[i] = source->ipv6[4 + i];
	}
	return bpf_map_lookup_elem((void *)DETECT(D, trusted), &key) != NULL;
}

/* A connection, or one that begins. A listener takes none of it but the answer to a cookie. */
inline_always int tcp_takes(struct xdp_md *ctx, const struct source *source, int family,
			    const struct transport_header *tcp)
{
	struct bpf_sock_tuple tuple = { 0 };
	__u32 size = tuple_of(&tuple, source, family, tcp);
	struct bpf_sock *found = bpf_skc_lookup_tcp(ctx, &tuple, size, BPF_F_CURRENT_NETNS, 0);
	int takes = 1;

	if (!found)
		return 0;
	if (found->state == BPF_TCP_LISTEN) {
		if (family == SOURCE_IPV4)
			takes = !bpf_tcp_check_syncookie(found, (void *)source->ipv4_at, sizeof(struct ipv4_header),
							 (void *)tcp, TCP_HEADER);
		else
			takes = !bpf_tcp_check_syncookie(found,
							 (char *)source->ipv6 - offsetof(struct ipv6_header, source),
							 sizeof(struct ipv6_header), (void *)tcp, TCP_HEADER);
	}
	bpf_sk_release(found);
	return takes;
}

inline_always int udp_takes(struct xdp_md *ctx, const struct source *source, int family,
			    const struct transport_header *udp)
{
	struct bpf_sock_tuple tuple = { 0 };
	__u32 size = tuple_of(&tuple, source, family, udp);
	struct bpf_sock *found = bpf_sk_lookup_udp(ctx, &tuple, size, BPF_F_CURRENT_NETNS, 0);

	if (!found)
		return 0;
	bpf_sk_release(found);
	return 1;
}

/* Does the interface hand packets on? The kernel says that before it looks for a route. */
looked_at_apart int interface_forwards(struct xdp_md *ctx)
{
	const void *end = (const void *)(long)ctx->data_end;
	const struct ethernet *eth = (const void *)(long)ctx->data;
	struct bpf_fib_lookup route = { .ifindex = ctx->ingress_ifindex };

	if (!DETECT(D, looks_up) || !PARSE_FITS(eth, sizeof(*eth), end))
		return 1;
	route.family = eth->proto == NET16(ETH_P_IP) ? FAMILY4 : FAMILY6;
	return bpf_fib_lookup(ctx, &route, sizeof(route), 0) != BPF_FIB_LKUP_RET_FWD_DISABLED;
}

/* Does no socket take it, where it is for this machine? Not where that cannot be known. */
looked_at_apart int nobody_takes(struct xdp_md *ctx)
{
	const void *end = (const void *)(long)ctx->data_end;
	const struct ethernet *eth = (const void *)(long)ctx->data;
	const struct transport_header *at;
	struct source source = { 0 };
	__u32 protocol = 0;
	int family;

	if (!DETECT(D, looks_up) || !PARSE_FITS(eth, sizeof(*eth), end))
		return 0;
	family = eth->proto == NET16(ETH_P_IP)	   ? parse_ipv4(eth + 1, end, &source)
		 : eth->proto == NET16(ETH_P_IPV6) ? parse_ipv6(eth + 1, end, &source)
						   : SOURCE_NONE;
	at = transport_behind(&source, family, end, 0, &protocol, UDP_HEADER);
	if (!at)
		return 0;
	if (protocol == PROTOCOL_UDP)
		return !udp_takes(ctx, &source, family, at);
	return protocol == PROTOCOL_TCP && PARSE_FITS(at, TCP_HEADER, end) && !tcp_takes(ctx, &source, family, at);
}

/* The classes that it is of, a bit each; behind them the pair. 0: of none. UNASKED_IF_NOBODY: it is for this machine,
   and of them only if nobody takes it. */
#define UNASKED_IF_NOBODY 1

looked_at_apart int source_unasked(struct xdp_md *ctx)
{
	const void *data = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;
	const struct transport_header *at;
	__u32 protocol = 0, found;
	struct source source = { 0 };
	int family, begins = 0;

	if (!DETECT(D, looks_up) || !DETECT(D, trusted))
		return 0;
	family = parse_source(data, end, &source);
	at = transport_behind(&source, family, end, 0, &protocol, UDP_HEADER);
	if (!at)
		return 0;
	if (protocol == PROTOCOL_TCP) {
		if (!PARSE_FITS(at, TCP_HEADER, end))
			return 0;
		begins = (at->flags & (FLAG_SYN | FLAG_ACK)) == FLAG_SYN;
		found = begins ? 1U << CLASS_SCAN : 1U << CLASS_UNANSWERED;
	} else if (protocol == PROTOCOL_UDP) {
		found = 1U << CLASS_SCAN | 1U << CLASS_UNANSWERED;
	} else {
		return 0;
	}
	found &= DETECT(D, looks_up);
	if (!found)
		return 0;
	found |= pair_of(&source, family, at) << UNASKED_PAIR;
	if (begins)
		return found;
	return destination_is_own(&source, family) ? found | UNASKED_IF_NOBODY : 0;
}

/* All of it, one after the other: calls within calls have 512 bytes of stack together. */
inline_always int unasked(struct xdp_md *ctx)
{
	int found = source_unasked(ctx);

	return found & UNASKED_IF_NOBODY && (!nobody_takes(ctx) || interface_forwards(ctx)) ? 0 : found;
}

#endif

#endif
