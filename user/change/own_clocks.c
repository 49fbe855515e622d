// SPDX-License-Identifier: GPL-2.0-only
/*
 * The time servers in use, where a daemon has found them by name: which of a pool's they are, it alone knows, and is
 * asked. Whoever answers for that name has a say in them. What does not answer in time, or not as it should, is as if
 * it were not there.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/close_fd.h"
#include "change/own_internal.h"
#include "change/own_scan.h"

/* For all of them, and of each so many: any user may keep a daemon busy. */
#define ASK_MS	     100
#define SERVERS_MOST 64

struct asking {
	struct learned *l;
	int64_t until;
	int fd;
	struct sockaddr_storage to; /* where it is connected to, and */
	socklen_t to_size;
};

/* On this machine. The kernel says at once where nobody listens. */
static void open_to(struct asking *a, int family, uint16_t port)
{
	const struct sockaddr_in v4 = { .sin_family = AF_INET,
					.sin_port = htons(port),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
					 .sin6_port = htons(port),
					 .sin6_addr = IN6ADDR_LOOPBACK_INIT };

	close_fd(a->fd);
	memset(&a->to, 0, sizeof(a->to));
	a->to_size = family == AF_INET ? sizeof(v4) : sizeof(v6);
	memcpy(&a->to, family == AF_INET ? (const void *)&v4 : &v6, a->to_size);
	a->fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (a->fd >= 0 && connect(a->fd, (const struct sockaddr *)&a->to, a->to_size)) {
		close_fd(a->fd);
		a->fd = -1;
	}
}

bool own_comes(int fd, int64_t until)
{
	struct pollfd one = { .fd = fd, .events = POLLIN };
	int64_t left = until - clock_ms();

	return left > 0 && poll(&one, 1, (int)left) > 0;
}

/* Its length, which may be more than there is room for, or -1. Before it was connected anybody may have sent to that
 * socket. */
static ssize_t hear(const struct asking *a, void *answer, size_t room)
{
	while (own_comes(a->fd, a->until)) {
		struct sockaddr_storage from = { 0 };
		socklen_t size = sizeof(from);
		ssize_t got = recvfrom(a->fd, answer, room, MSG_TRUNC, (struct sockaddr *)&from, &size);

		if (got < 0 || (size == a->to_size && !memcmp(&from, &a->to, size)))
			return got;
	}
	return -1;
}

/* Could only root have that port? */
static bool is_roots(unsigned int port)
{
	FILE *file = fopen("/proc/sys/net/ipv4/ip_unprivileged_port_start", "re");
	unsigned int first = 0;

	if (file && fscanf(file, "%u", &first) != 1)
		first = 0;
	if (file)
		fclose(file);
	return port < first;
}

/* --- chronyd: what chronyc asks by, version 6 (candm.h) --- */

#define CHRONYD_PORT 323

enum { CHRONYD_VERSION = 6, QUESTION = 1, ANSWER, HOW_MANY = 14, WHICH };
/* Which answer belongs to that question: of a reference clock there is nobody to be banned. */
enum { MANY_ARE = 2, ONE_IS, ADDRESS_IPV4 = 1, ADDRESS_IPV6, REFERENCE_CLOCK = 2 };

/* It is to be as long as its answer. */
struct chronyd_question {
	uint8_t version, kind, unused[2];
	uint16_t command, attempt;
	uint32_t sequence, unused_too[2], index;
	uint8_t padding[52];
};

struct chronyd_answer {
	uint8_t version, kind, unused[2];
	uint16_t command, reply, status, unused_too[3];
	uint32_t sequence, unused_then[2];
	union {
		uint32_t n;
		struct {
			uint8_t bytes[16];
			uint16_t family, unused, poll, stratum, state, mode, flags, reachability;
			uint32_t measured[4];
		} source;
	};
};

enum { MANY_SIZE = offsetof(struct chronyd_answer, n) + 4, ONE_SIZE = sizeof(struct chronyd_answer) };
_Static_assert(sizeof(struct chronyd_question) == ONE_SIZE && ONE_SIZE == 76, "not what chronyd speaks");

static bool chronyd_says(const struct asking *a, uint16_t command, uint32_t index, struct chronyd_answer *answer)
{
	const struct chronyd_question question = { .version = CHRONYD_VERSION,
						   .kind = QUESTION,
						   .command = htons(command),
						   .sequence = index, /* echoed */
						   .index = htonl(index) };
	ssize_t size = command == HOW_MANY ? MANY_SIZE : ONE_SIZE;

	return send(a->fd, &question, sizeof(question), MSG_NOSIGNAL) == sizeof(question) &&
	       hear(a, answer, sizeof(*answer)) == size && answer->version == CHRONYD_VERSION &&
	       answer->kind == ANSWER && answer->command == question.command &&
	       answer->reply == htons(command == HOW_MANY ? MANY_ARE : ONE_IS) && !answer->status &&
	       answer->sequence == question.sequence;
}

static bool from_chronyd(struct asking *a)
{
	struct chronyd_answer answer;
	bool is_there = false;
	uint32_t n;

	for (int v6 = 0; v6 < 2 && !is_there; v6++) {
		open_to(a, v6 ? AF_INET6 : AF_INET, CHRONYD_PORT);
		is_there = a->fd >= 0 && chronyd_says(a, HOW_MANY, 0, &answer);
	}
	if (!is_there || !is_roots(CHRONYD_PORT))
		return false;
	n = ntohl(answer.n);
	for (uint32_t i = 0; i < n && i < SERVERS_MOST && chronyd_says(a, WHICH, i, &answer); i++) {
		int family = ntohs(answer.source.family);

		/* Those whose name is still to be looked up are of another family. */
		if (ntohs(answer.source.mode) != REFERENCE_CLOCK)
			own_learn(a->l,
				  own_bytes(family == ADDRESS_IPV4   ? AF_INET
					    : family == ADDRESS_IPV6 ? AF_INET6
								     : AF_UNSPEC,
					    answer.source.bytes, sizeof(answer.source.bytes)),
				  own_clock_is, "a source of chronyd");
	}
	return true;
}

/* --- ntpd, of ntpsec or ntp: what ntpq asks by, messages of mode 6 --- */

#define NTPD_PORT 123

enum { VERSION_AND_MODE = 2 << 3 | 6, READ_STATES = 1, READ_VARIABLES, IS_ANSWER = 0x80, MORE_COMES = 0x20 };

struct ntpd_message {
	uint8_t mode, operation;
	uint16_t sequence, status, peer, offset, count;
	char data[468]; /* of longer answers the rest comes in others */
};

enum { NTPD_HEAD = offsetof(struct ntpd_message, data) };

/* How much data it says, or -1. It echoes the sequence. */
static ssize_t ntpd_says(const struct asking *a, uint8_t operation, uint16_t peer, const char *of, uint16_t sequence,
			 struct ntpd_message *answer)
{
	struct ntpd_message question = { .mode = VERSION_AND_MODE,
					 .operation = operation,
					 .sequence = htons(sequence),
					 .peer = peer,
					 .count = htons((uint16_t)strlen(of)) };
	size_t size = NTPD_HEAD + (strlen(of) + 3) / 4 * 4;
	ssize_t got;

	memcpy(question.data, of, strlen(of));
	if (send(a->fd, &question, size, MSG_NOSIGNAL) != (ssize_t)size)
		return -1;
	do
		got = hear(a, answer, sizeof(*answer));
	while (got >= NTPD_HEAD && answer->sequence != question.sequence);
	if (got < NTPD_HEAD || got > (ssize_t)sizeof(*answer) || ntohs(answer->count) > (size_t)got - NTPD_HEAD ||
	    (answer->mode & 0x3f) != VERSION_AND_MODE || (answer->operation & ~MORE_COMES) != (IS_ANSWER | operation) ||
	    answer->peer != peer || answer->offset)
		return -1;
	return ntohs(answer->count);
}

/* "srcadr=192.0.2.1"; of a pool, and where the name is still to be looked up, 0.0.0.0; of a clock, 127.127.28.0. */
static void on_peer(const struct asking *a, const char *data, size_t size)
{
	static const char name[] = "srcadr=";
	const char *at = memmem(data, size, name, strlen(name));
	struct addr addr;
	size_t n = 0;

	if (!at)
		return;
	at += strlen(name);
	while (at + n < data + size && !strchr(", \r\n", at[n]))
		n++;
	if (!addr_parse(at, n, &addr))
		own_learn(a->l, addr, own_clock_is, "a peer of ntpd");
}

static void from_ntpd(struct asking *a)
{
	struct ntpd_message all, one;
	ssize_t size = -1;

	for (int v6 = 0; v6 < 2 && size < 0; v6++) {
		open_to(a, v6 ? AF_INET6 : AF_INET, NTPD_PORT);
		size = a->fd < 0 ? -1 : ntpd_says(a, READ_STATES, 0, "", 0, &all);
	}
	if (size < 0 || !is_roots(NTPD_PORT))
		return;
	/* A number and a state of each. */
	for (uint16_t i = 0; i < size / 4 && i < SERVERS_MOST; i++) {
		uint16_t peer;
		ssize_t n;

		memcpy(&peer, all.data + (size_t)4 * i, sizeof(peer));
		n = ntpd_says(a, READ_VARIABLES, peer, "srcadr", i + 1, &one);
		if (n < 0)
			break;
		on_peer(a, one.data, (size_t)n);
	}
}

void own_from_clocks(struct learned *l)
{
	struct asking a = { .l = l, .until = clock_ms() + ASK_MS, .fd = -1 };

	l->guests = true;
	if (!from_chronyd(&a) && !own_from_timesyncd(l, a.until))
		from_ntpd(&a);
	l->guests = false;
	close_fd(a.fd);
}
