/* SPDX-License-Identifier: GPL-2.0-only */
/* A real connection within this machine, what its server takes next, and frames that are of it, or nearly. */
#ifndef CONNECTION_H
#define CONNECTION_H

#include <arpa/inet.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ktap.h"

#define CLIENT4 "127.9.9.9"
#define SERVER6 "2001:db8:9::1"
#define CLIENT6 "2001:db8:9::9"

struct connection {
	int family, listening, client, server;
	uint8_t from[16], to[16];
	__u16 from_port, to_port; /* in network order */
	__u32 next, ours;	  /* what the server takes next, and what it has sent */
	__u32 window;
};

static __u32 queue_seq(int fd, int queue)
{
	__u32 seq = 0;
	socklen_t size = sizeof(seq);

	CHECK(!setsockopt(fd, IPPROTO_TCP, TCP_REPAIR_QUEUE, &queue, sizeof(queue)), "queue: %s", strerror(errno));
	CHECK(!getsockopt(fd, IPPROTO_TCP, TCP_QUEUE_SEQ, &seq, &size), "sequence: %s", strerror(errno));
	return seq;
}

static bool connection_numbers(struct connection *c)
{
	struct tcp_repair_window window = { 0 };
	socklen_t size = sizeof(window);
	int on = TCP_REPAIR_ON, off = TCP_REPAIR_OFF_NO_WP;

	if (!CHECK(!setsockopt(c->server, IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)), "repair: %s", strerror(errno)))
		return false;
	c->next = queue_seq(c->server, TCP_RECV_QUEUE);
	c->ours = queue_seq(c->server, TCP_SEND_QUEUE);
	CHECK(!getsockopt(c->server, IPPROTO_TCP, TCP_REPAIR_WINDOW, &window, &size), "window: %s", strerror(errno));
	c->window = window.rcv_wnd;
	return CHECK(!setsockopt(c->server, IPPROTO_TCP, TCP_REPAIR, &off, sizeof(off)), "repair: %s", strerror(errno));
}

static void connection_close(struct connection *c)
{
	close(c->listening);
	close(c->client);
	close(c->server);
}

static bool connection_open(struct connection *c, int family)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	struct sockaddr *at = family == 4 ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6;
	socklen_t size = family == 4 ? sizeof(v4) : sizeof(v6);

	*c = (struct connection){ .family = family };
	inet_pton(AF_INET6, SERVER6, &v6.sin6_addr);
	c->listening = socket(at->sa_family, SOCK_STREAM, 0);
	c->client = socket(at->sa_family, SOCK_STREAM, 0);
	if (!CHECK(!bind(c->listening, at, size) && !listen(c->listening, 1) && !getsockname(c->listening, at, &size),
		   "a server: %s", strerror(errno)))
		return false;
	c->to_port = family == 4 ? v4.sin_port : v6.sin6_port;
	memcpy(c->to, family == 4 ? (void *)&v4.sin_addr : (void *)&v6.sin6_addr, family == 4 ? 4 : 16);
	if (family == 4) {
		struct sockaddr_in own = { .sin_family = AF_INET };

		inet_pton(AF_INET, CLIENT4, &own.sin_addr);
		memcpy(c->from, &own.sin_addr, 4);
		CHECK(!bind(c->client, (void *)&own, sizeof(own)) && !connect(c->client, at, size) &&
			      !getsockname(c->client, (void *)&own, &(socklen_t){ sizeof(own) }),
		      "a client: %s", strerror(errno));
		c->from_port = own.sin_port;
	} else {
		struct sockaddr_in6 own = { .sin6_family = AF_INET6 };

		inet_pton(AF_INET6, CLIENT6, &own.sin6_addr);
		memcpy(c->from, &own.sin6_addr, 16);
		CHECK(!bind(c->client, (void *)&own, sizeof(own)) && !connect(c->client, at, size) &&
			      !getsockname(c->client, (void *)&own, &(socklen_t){ sizeof(own) }),
		      "a client: %s", strerror(errno));
		c->from_port = own.sin6_port;
	}
	c->server = accept(c->listening, NULL, NULL);
	return CHECK(c->server >= 0, "nobody came: %s", strerror(errno)) && connection_numbers(c);
}

enum { FRAME = 14 + 40 + 20 };

/* Of that connection: with these numbers and flags, or as UDP. */
static void frame_of(uint8_t frame[FRAME], const struct connection *c, __u32 sequence, __u32 acknowledged, int flags,
		     int protocol)
{
	bool is4 = c->family == 4;
	uint8_t *ip = frame + 14, *at = ip + (is4 ? 20 : 40);

	memset(frame, 0, FRAME);
	frame[12] = is4 ? 0x08 : 0x86;
	frame[13] = is4 ? 0x00 : 0xdd;
	ip[0] = is4 ? 0x45 : 0x60;
	ip[is4 ? 9 : 6] = (uint8_t)protocol;
	memcpy(ip + (is4 ? 12 : 8), c->from, is4 ? 4 : 16);
	memcpy(ip + (is4 ? 16 : 24), c->to, is4 ? 4 : 16);
	memcpy(at, &c->from_port, 2);
	memcpy(at + 2, &c->to_port, 2);
	memcpy(at + 4, &(__u32){ htonl(sequence) }, 4);
	memcpy(at + 8, &(__u32){ htonl(acknowledged) }, 4);
	at[12] = 0x50;
	at[13] = (uint8_t)flags;
}

#endif
