/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who sent a packet himself? A source that is forged proves nothing. One proof is a packet that fits into a connection
 * of this machine: its peer alone knows the numbers, and who guesses them hits with one packet in millions; a ban takes
 * as many as a limit's burst within its time. The other is an interface whose network lets nobody forge.
 */
#ifndef PROOF_H
#define PROOF_H

#include "parse.h"

#ifdef __bpf__

struct transport_header {
	__u16 source, destination;
	__u32 sequence, acknowledged;
	__u8 offset, flags;
};

#define PROTOCOL_TCP 6
#define PROTOCOL_UDP 17
#define FLAG_SYN     0x02
#define FLAG_RST     0x04
#define FLAG_ACK     0x10

/* The header behind IP's, where the packet is not a fragment and all of `size` is in the first buffer. wanted: 0, or
   only of that protocol. */
inline_always const struct transport_header *transport_behind(const struct source *source, int family, const void *end,
							      __u32 wanted, __u32 *protocol, __u64 size)
{
	const struct transport_header *at;

	if (family == SOURCE_IPV4) {
		const struct ipv4_header *ip = source->ipv4_at;

		*protocol = ip->rest[8];
		if ((wanted && ip->rest[8] != wanted) || (ip->rest[5] << 8 | ip->rest[6]) & 0x3fff)
			return NULL;
		at = (const void *)((const char *)ip + (ip->version_ihl & 15) * 4);
	} else if (family == SOURCE_IPV6) {
		const struct ipv6_header *ip =
			(const void *)((const char *)source->ipv6 - offsetof(struct ipv6_header, source));

		*protocol = ip->rest[5];
		if ((wanted && ip->rest[5] != wanted) || source_mapped(source))
			return NULL;
		at = (const void *)(ip + 1);
	} else {
		return NULL;
	}
	return PARSE_FITS(at, size, end) ? at : NULL;
}

inline_always const struct transport_header *transport_of(const struct xdp_md *ctx, struct source *source, int *family,
							  __u32 protocol, __u64 size)
{
	const void *data = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;
	__u32 is;

	*family = parse_source(data, end, source);
	return transport_behind(source, *family, end, protocol, &is, size);
}

/* Both ends of the packet; how long that is. */
inline_always __u32 tuple_of(struct bpf_sock_tuple *tuple, const struct source *source, int family,
			     const struct transport_header *at)
{
	if (family == SOURCE_IPV4) {
		const struct ipv4_header *ip = source->ipv4_at;

		tuple->ipv4.saddr = ip->source;
		tuple->ipv4.daddr = ip->destination;
		tuple->ipv4.sport = at->source;
		tuple->ipv4.dport = at->destination;
		return sizeof(tuple->ipv4);
	}
	UNROLL
	for (int i = 0; i < 4; i++) {
		tuple->ipv6.saddr[i] = source->ipv6[i];
		tuple->ipv6.daddr[i] = source->ipv6[4 + i];
	}
	tuple->ipv6.sport = at->source;
	tuple->ipv6.dport = at->destination;
	return sizeof(tuple->ipv6);
}

#define SOCKET_WORD(socket, field) (*(const __u32 *)((const char *)(socket) + DETECT(D, field)))

/* As TCP itself would take it for one of this connection, or for one that was sent twice. */
inline_always int socket_takes(const void *socket, __u32 sequence, __u32 acknowledged)
{
	__u32 window = SOCKET_WORD(socket, tcp_rcv_wnd), una = SOCKET_WORD(socket, tcp_snd_una);
	__u32 most = SOCKET_WORD(socket, tcp_max_window);

	if (sequence - (SOCKET_WORD(socket, tcp_rcv_nxt) - window) >= 2 * window)
		return 0;
	return acknowledged - (una - most) <= SOCKET_WORD(socket, tcp_snd_nxt) - (una - most);
}

#define OWNER_ROOT 0
#define ANSWERS	   -1 /* it does, or it may: somebody here, or behind this machine, asked for it */

/*
 * 1: of a connection that its source has opened; 0: of none, as far as is known. Whoever is asked for something is no
 * attacker, in whatever state the socket is that asked, nor once it is gone, behind NAT or on another machine. So what
 * acknowledges proves only where it comes to a listener, and what can be nothing but an answer never.
 */
inline_always int tcp_proves(struct xdp_md *ctx, const struct source *source, int family,
			     const struct transport_header *tcp)
{
	struct bpf_sock_tuple tuple;
	__u32 size = tuple_of(&tuple, source, family, tcp);
	struct bpf_sock *found;
	const void *socket;
	__u32 owner;
	int takes = 0;

	if (tcp->flags & FLAG_RST || (tcp->flags & (FLAG_SYN | FLAG_ACK)) == (FLAG_SYN | FLAG_ACK))
		return ANSWERS;
	if (!(tcp->flags & FLAG_ACK))
		return 0;
	/* No connection comes from port 0: only who listens is found. */
	if (size == sizeof(tuple.ipv4))
		tuple.ipv4.sport = 0;
	else
		tuple.ipv6.sport = 0;
	found = bpf_skc_lookup_tcp(ctx, &tuple, size, BPF_F_CURRENT_NETNS, 0);
	if (!found)
		return ANSWERS;
	socket = DETECT(D, tcp_rcv_nxt) ? bpf_skc_to_tcp_sock(found) : NULL;
	owner = socket ? SOCKET_WORD(socket, tcp_sk_uid) : OWNER_ROOT;
	bpf_sk_release(found);
	if (!DETECT(D, tcp_rcv_nxt))
		return 0;
	if (size == sizeof(tuple.ipv4))
		tuple.ipv4.sport = tcp->source;
	else
		tuple.ipv6.sport = tcp->source;
	found = bpf_skc_lookup_tcp(ctx, &tuple, size, BPF_F_CURRENT_NETNS, 0);
	if (!found)
		return 0;
	socket = bpf_skc_to_tcp_sock(found);
	if (socket && owner != OWNER_ROOT && owner != SOCKET_WORD(socket, tcp_sk_uid))
		takes = ANSWERS;
	else if (socket && found->state == BPF_TCP_ESTABLISHED)
		takes = socket_takes(socket, NET32(tcp->sequence), NET32(tcp->acknowledged));
	bpf_sk_release(found);
	return takes;
}

inline_always int interface_proves(struct xdp_md *ctx)
{
	__u32 interface = ctx->ingress_ifindex;

	return bpf_map_lookup_elem((void *)DETECT(D, proven), &interface) != NULL;
}

looked_at_apart int source_is_proven(struct xdp_md *ctx)
{
	const void *data = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;
	const struct transport_header *at;
	struct source source = { 0 };
	__u32 protocol = 0;
	int family, proves = 0;

	if (!DETECT(D, proven) || !DETECT(D, then[THEN_BAN]))
		return 0;
	family = parse_source(data, end, &source);
	/* Whoever validates sources need not know that the stack takes ::ffff:a.b.c.d for a.b.c.d. */
	if (family != SOURCE_IPV4 && (family != SOURCE_IPV6 || source_mapped(&source)))
		return 0;
	at = transport_behind(&source, family, end, 0, &protocol, sizeof(*at));
	/* Of TCP in fragments nobody can say who asked for it. */
	if (protocol == PROTOCOL_TCP)
		proves = at ? tcp_proves(ctx, &source, family, at) : ANSWERS;
	return proves ? proves == 1 : interface_proves(ctx);
}

/* And one; or 0. */
looked_at_apart int source_udp_port(struct xdp_md *ctx)
{
	const struct transport_header *udp;
	struct source source;
	int family;

	if (!DETECT(D, cells))
		return 0;
	udp = transport_of(ctx, &source, &family, PROTOCOL_UDP, sizeof(udp->source));
	return udp ? 1 + NET16(udp->source) : 0;
}

#endif

#endif
