/* SPDX-License-Identifier: GPL-2.0-only */
/* Sockets that are made up, for the program about sources: a connection, a listener, one of UDP, or none; and a route.
 */
#ifndef MADE_SOCKETS_H
#define MADE_SOCKETS_H

static struct made_socket {
	struct bpf_sock sock;
	__u32 rcv_wnd, rcv_nxt, snd_una, snd_nxt, max_window, uid;
} given_tcp, given_udp, given_listener;
static bool tcp_there, udp_there, is_tcp, listens;
static int sockets_held;
static long cookie_is, route_is;

static void say_tuple(const char *what, const struct bpf_sock_tuple *t, __u32 size, __u64 space, __u64 flags)
{
	const __u8 *at = (const __u8 *)t;

	CHECK(space == (__u64)BPF_F_CURRENT_NETNS && !flags, "another namespace");
	printf(" %s(", what);
	for (__u32 i = 0; i < size; i++)
		printf("%02x", at[i]);
	putchar(')');
}

static struct bpf_sock *bpf_skc_lookup_tcp(struct made_packet *ctx, struct bpf_sock_tuple *tuple, __u32 size,
					   __u64 space, __u64 flags)
{
	bool who_listens = !(size == sizeof(tuple->ipv4) ? tuple->ipv4.sport : tuple->ipv6.sport);
	bool there = who_listens ? listens : tcp_there;

	(void)ctx;
	say_tuple("tcp", tuple, size, space, flags);
	sockets_held += there;
	return !there ? NULL : who_listens ? &given_listener.sock : &given_tcp.sock;
}

static struct bpf_sock *bpf_sk_lookup_udp(struct made_packet *ctx, struct bpf_sock_tuple *tuple, __u32 size,
					  __u64 space, __u64 flags)
{
	(void)ctx;
	say_tuple("udp", tuple, size, space, flags);
	sockets_held += udp_there;
	return udp_there ? &given_udp.sock : NULL;
}

static void *bpf_skc_to_tcp_sock(void *sock)
{
	return is_tcp ? sock : NULL;
}

static long bpf_sk_release(void *sock)
{
	CHECK(sock == &given_tcp.sock || sock == &given_udp.sock || sock == &given_listener.sock,
	      "another is released");
	sockets_held--;
	return 0;
}

static long bpf_tcp_check_syncookie(struct bpf_sock *sock, void *ip, __u32 ip_size, void *tcp, __u32 tcp_size)
{
	CHECK(sock == &given_tcp.sock, "another is asked");
	printf(" cookie(at %d, %u, at %d, %u)", (int)((__u8 *)ip - made), ip_size, (int)((__u8 *)tcp - made), tcp_size);
	return cookie_is;
}

static long bpf_fib_lookup(struct made_packet *ctx, struct bpf_fib_lookup *route, int size, __u32 flags)
{
	CHECK(size == sizeof(*route) && !flags && route->ifindex == ctx->ingress_ifindex, "another route");
	printf(" route(family %u)", route->family);
	return route_is;
}

#endif
