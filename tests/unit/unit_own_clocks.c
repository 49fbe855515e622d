// SPDX-License-Identifier: GPL-2.0-only
/* What daemons say of the time servers that they use: right, cut off, of something else, or nothing; and how long that
 * takes. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/close_fd.h"
#include "sets/bogons.h"
#include "change/own_internal.h"
#include "ktap.h"

static int64_t given_ms(void);
static int given_socket(int family, int type, int protocol);
static int given_connect(int fd, const struct sockaddr *to, socklen_t size);
static ssize_t given_send(int fd, const void *question, size_t size, int flags);
static ssize_t given_recvfrom(int fd, void *answer, size_t room, int flags, struct sockaddr *from, socklen_t *size);
static int given_poll(struct pollfd *fds, nfds_t n, int ms);
static void given_close(int fd);
static FILE *given_file(const char *path, const char *mode);
static void given_learn(struct learned *l, struct addr addr, const char *what, const char *where, ...);
static bool given_timesyncd(struct learned *l, int64_t until);

#define clock_ms	   given_ms
#define socket		   given_socket
#define connect		   given_connect
#define send		   given_send
#define recvfrom	   given_recvfrom
#define poll		   given_poll
#define close_fd	   given_close
#define fopen		   given_file
#define own_learn	   given_learn
#define own_from_timesyncd given_timesyncd
#include "change/own_clocks.c"
#undef socket
#undef connect
#undef send
#undef fopen

/* Who listens, and what is wrong with the `at`th answer. */
enum fault {
	NONE,
	NO_SOCKET,
	NO_CONNECTION,
	NOT_SENT,
	NOT_HEARD,
	SILENT,
	CUT,
	LONGER,
	VERSION,
	KIND,
	COMMAND,
	REPLY,
	STATUS,
	SEQUENCE,
	FAULTS,
	OFFSET = FAULTS,
	COUNT,
	FAULTS_OF_NTPD
};

static struct {
	int family; /* AF_UNSPEC: nobody */
	uint16_t port;
	uint32_t n;
	enum fault fault;
	int at;
	bool strangers; /* anybody sends before each answer */
	bool timesyncd; /* is there */
	const char *first_port;
} given;

static int64_t now, waited;
static int open_now, family_now, asked;
static struct sockaddr_storage to_now;
static unsigned char answers[2][1024];
static size_t sizes[2];
static char said[8192];

static int64_t given_ms(void)
{
	return now;
}

static int given_socket(int family, int type, int protocol)
{
	if (type != (SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK) || protocol || open_now)
		abort();
	if (given.fault == NO_SOCKET) {
		errno = EAFNOSUPPORT;
		return -1;
	}
	open_now++;
	family_now = family;
	return 1000;
}

static void given_close(int fd)
{
	open_now -= fd == 1000;
}

static int given_connect(int fd, const struct sockaddr *to, socklen_t size)
{
	if (fd != 1000 || size > sizeof(to_now) || to->sa_family != family_now)
		abort();
	memset(&to_now, 0, sizeof(to_now));
	memcpy(&to_now, to, size);
	errno = ENETUNREACH;
	return given.fault == NO_CONNECTION ? -1 : 0;
}

static bool is_there(void)
{
	const struct sockaddr_in *v4 = (const void *)&to_now;
	const struct sockaddr_in6 *v6 = (const void *)&to_now;

	if (family_now != given.family)
		return false;
	if (family_now == AF_INET)
		return v4->sin_addr.s_addr == htonl(INADDR_LOOPBACK) && v4->sin_port == htons(given.port);
	return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr) && v6->sin6_port == htons(given.port);
}

/* Of each four one is of IPv6, one has no address yet, and one is a reference clock that has one. */
static size_t chronyd(const struct chronyd_question *question, size_t size, struct chronyd_answer *answer)
{
	uint32_t i = ntohl(question->index);

	CHECK(size == 76 && question->version == 6 && question->kind == 1 && !question->attempt, "question %d", asked);
	*answer = (struct chronyd_answer){
		.version = 6, .kind = 2, .command = question->command, .sequence = question->sequence
	};
	if (ntohs(question->command) == 14) {
		answer->reply = htons(2);
		answer->n = htonl(given.n);
		return 32;
	}
	if (ntohs(question->command) != 15 || i >= given.n)
		abort();
	answer->reply = htons(3);
	answer->source.family = htons(i % 4 == 1 ? 2 : i % 4 == 2 ? 3 : 1);
	memcpy(answer->source.bytes,
	       i % 4 == 1 ? (const unsigned char[]){ 0x20, 1, 0xd, 0xb8 }
			  : (const unsigned char[]){ 192, 0, 2, (unsigned char)i },
	       4);
	if (i % 4 == 1)
		answer->source.bytes[15] = (uint8_t)i;
	answer->source.mode = htons(i % 4 == 3 ? 2 : i & 4 ? 1 : 0);
	return 76;
}

/* The first is a reference clock, the second a pool, and of the others each second is of IPv6. */
static size_t ntpd(const struct ntpd_message *question, size_t size, struct ntpd_message *answer)
{
	int operation = question->operation, peer = ntohs(question->peer) - 100;

	CHECK(size == (operation == 1 ? 12 : 20) && question->mode == 0x16 && !question->status && !question->offset,
	      "question %d", asked);
	*answer = *question;
	answer->mode |= 0xc0;
	answer->operation |= 0x80;
	answer->status = 0xabcd;
	if (operation == 1) {
		size_t n = given.n < 117 ? given.n : 117;

		for (size_t i = 0; i < n; i++)
			memcpy(answer->data + 4 * i, (const uint16_t[]){ htons((uint16_t)(100 + i)), 7 }, 4);
		answer->operation |= given.n > n ? 0x20 : 0;
		answer->count = htons((uint16_t)(4 * n));
		return 12 + 4 * n;
	}
	if (operation != 2 || ntohs(question->count) != 6 || memcmp(question->data, "srcadr\0\0", 8) != 0)
		abort();
	snprintf(answer->data, sizeof(answer->data),
		 peer == 0   ? "srcadr=127.127.28.0\r\n"
		 : peer == 1 ? "srcadr=0.0.0.0\r\n"
		 : peer == 2 ? "srcadr=192.0.2.2"
		 : peer % 2  ? "associd=%d, srcadr=2001:db8::%x, srcport=123\r\n"
			     : "associd=%d,srcadr=192.0.2.%d,x=1",
		 peer, peer);
	answer->count = htons((uint16_t)strlen(answer->data));
	/* Of what was there before. */
	strcat(answer->data, "9 srcadr=9.9.9.9");
	return 12 + (strlen(answer->data) + 3) / 4 * 4;
}

static void spoil_ntpd(struct ntpd_message *answer, size_t *size)
{
	*size = given.fault == CUT ? 11 : given.fault == LONGER ? 481 : *size;
	answer->mode ^= given.fault == VERSION ? 1 << 3 : given.fault == KIND ? 1 : 0;
	answer->operation ^= given.fault == COMMAND ? 3 : given.fault == STATUS ? 0x40 : 0;
	answer->peer ^= given.fault == REPLY;
	answer->sequence ^= given.fault == SEQUENCE;
	answer->offset ^= given.fault == OFFSET;
	answer->count = given.fault == COUNT ? htons((uint16_t)(*size - 11)) : answer->count;
}

static void spoil(struct chronyd_answer *answer, size_t *size)
{
	*size -= given.fault == CUT;
	*size += given.fault == LONGER ? 1 : 0;
	answer->version += given.fault == VERSION;
	answer->kind -= given.fault == KIND;
	answer->command ^= given.fault == COMMAND;
	answer->reply ^= given.fault == REPLY;
	answer->status ^= given.fault == STATUS;
	answer->sequence ^= given.fault == SEQUENCE;
}

static ssize_t given_send(int fd, const void *question, size_t size, int flags)
{
	if (fd != 1000 || !(flags & MSG_NOSIGNAL) || size > sizeof(answers[0]))
		abort();
	errno = ECONNREFUSED;
	sizes[0] = sizes[1] = 0;
	if (!is_there())
		return (ssize_t)size; /* it is refused by what comes */
	if (given.fault == NOT_SENT && asked == given.at)
		return -1;
	sizes[1] = given.port == 123 ? ntpd(question, size, (void *)answers[1])
				     : chronyd(question, size, (void *)answers[1]);
	if (asked++ == given.at)
		given.port == 123 ? spoil_ntpd((void *)answers[1], &sizes[1]) : spoil((void *)answers[1], &sizes[1]);
	if (given.strangers) {
		memset(answers[0], 0x66, sizes[1]);
		sizes[0] = sizes[1];
	}
	if (given.fault == SILENT && asked > given.at)
		sizes[1] = 0;
	return (ssize_t)size;
}

static int given_poll(struct pollfd *fds, nfds_t n, int ms)
{
	if (n != 1 || fds->fd != 1000 || ms <= 0 || ms > ASK_MS)
		abort();
	if (!is_there() || sizes[0] || sizes[1])
		return 1;
	now += ms;
	waited += ms;
	return 0;
}

static ssize_t given_recvfrom(int fd, void *answer, size_t room, int flags, struct sockaddr *from, socklen_t *size)
{
	size_t which = sizes[0] ? 0 : 1, n = sizes[which];

	if (fd != 1000 || flags != MSG_TRUNC || !is_there() || (given.fault == NOT_HEARD && asked > given.at)) {
		errno = ECONNREFUSED;
		return -1;
	}
	if (!n)
		abort();
	*size = family_now == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
	memcpy(from, &to_now, *size);
	if (!which)
		((struct sockaddr_in *)from)->sin_port ^= 1;
	memcpy(answer, answers[which], n < room ? n : room);
	sizes[which] = 0;
	return (ssize_t)n;
}

static FILE *given_file(const char *path, const char *mode)
{
	if (strcmp(path, "/proc/sys/net/ipv4/ip_unprivileged_port_start") != 0)
		abort();
	return given.first_port ? fmemopen((void *)(uintptr_t)given.first_port, strlen(given.first_port), mode) : NULL;
}

static void given_learn(struct learned *l, struct addr addr, const char *what, const char *where, ...)
{
	char text[PREFIX_TEXT_MAX];
	size_t n = strlen(said);

	CHECK(l->guests, "these are root's");
	if (addr.family && !source_is_nobodys(addr))
		snprintf(said + n, sizeof(said) - n, "%s, %s (%s)\n", prefix_text(text, addr, -1), what, where);
}

static int others; /* so often the next daemon is asked */

static bool given_timesyncd(struct learned *l, int64_t until)
{
	CHECK(l->guests && until >= now, "the time that is left");
	others++;
	return given.timesyncd;
}

/* Asks, and returns how many are known. */
static int known(void)
{
	struct learned l = { 0 };
	int lines = 0;

	*said = '\0';
	waited = asked = others = 0;
	own_from_clocks(&l);
	CHECK(!open_now && !l.guests && waited <= 100, "%d are open, it waited for %d ms", open_now, (int)waited);
	for (const char *at = said; (at = strchr(at, '\n')); at++)
		lines++;
	return lines;
}

static void is_asked(void)
{
	static const char all[] = "192.0.2.0, a time server in use (a source of chronyd)\n"
				  "2001:db8::1, a time server in use (a source of chronyd)\n"
				  "192.0.2.4, a time server in use (a source of chronyd)\n"
				  "2001:db8::5, a time server in use (a source of chronyd)\n";

	given = (typeof(given)){ .family = AF_INET, .port = 323, .n = 8, .at = -1, .first_port = "1024\n" };
	known();
	CHECK(!strcmp(said, all) && !waited && asked == 9 && !others, "after %d questions it knows %s", asked, said);
	given.family = AF_INET6;
	known();
	CHECK(!strcmp(said, all) && !waited, "by IPv6 it knows %s", said);
	given.strangers = true;
	known();
	CHECK(!strcmp(said, all), "among what strangers send it knows %s", said);
	given.n = 0;
	CHECK(!known() && asked == 1 && !others, "none are %s", said);
}

static void is_bounded(void)
{
	given = (typeof(given)){ .family = AF_INET, .port = 323, .n = UINT32_MAX, .at = -1, .first_port = "1024\n" };
	CHECK(known() == 32 && asked == 65, "%d questions", asked);
}

static void is_not_there(void)
{
	given = (typeof(given)){ .at = -1, .first_port = "1024\n" };
	CHECK(!known() && !waited && others == 1, "it waited for %d ms", (int)waited);
}

/* Where people may have that port, anybody might have answered. */
static void may_be_anybody(void)
{
	static const char *const firsts[] = { "323\n", "0\n", "", "none\n", NULL };

	given = (typeof(given)){ .family = AF_INET, .port = 323, .n = 1, .at = -1, .first_port = "324\n" };
	CHECK(known() == 1, "one is %s", said);
	for (size_t i = 0; i < sizeof(firsts) / sizeof(firsts[0]); i++) {
		given.first_port = firsts[i];
		CHECK(!known() && others == 1, "where the first is %s: %s", firsts[i] ?: "not known", said);
	}
}

/* What came before an answer that is none counts. */
static void fails(void)
{
	static const int known_before[] = { 0, 0, 1, 2, 2, 2, 3 };

	given = (typeof(given)){ .family = AF_INET, .port = 323, .n = 6, .first_port = "1024\n" };
	for (given.at = 0; given.at < 7; given.at++)
		for (given.fault = NO_SOCKET; given.fault < FAULTS; given.fault++) {
			int n = known(), wanted = given.fault <= NO_CONNECTION ? 0 : known_before[given.at];

			CHECK(n == wanted && waited == (given.fault == SILENT ? 100 : 0),
			      "fault %d of answer %d: %d known, it waited for %d ms", given.fault, given.at, n,
			      (int)waited);
		}
}

#define NTPD_IS(address) address ", a time server in use (a peer of ntpd)\n"

static void ntpd_is_asked(void)
{
	static const char all[] =
		NTPD_IS("192.0.2.2") NTPD_IS("2001:db8::3") NTPD_IS("192.0.2.4") NTPD_IS("2001:db8::5");

	given = (typeof(given)){ .family = AF_INET, .port = 123, .n = 6, .at = -1, .first_port = "1024\n" };
	known();
	CHECK(!strcmp(said, all) && !waited && asked == 7 && others == 1, "after %d questions it knows %s", asked,
	      said);
	given.family = AF_INET6;
	given.strangers = true;
	known();
	CHECK(!strcmp(said, all) && !waited, "by IPv6 it knows %s", said);
	given.first_port = "123\n";
	CHECK(!known() && asked == 1, "where anybody may answer it knows %s", said);
	given.first_port = "1024\n";
	given.n = 1000;
	CHECK(known() == 62 && asked == 65, "%d questions", asked);
	given.timesyncd = true;
	CHECK(!known() && !asked, "beside systemd-timesyncd %d questions", asked);
}

static void ntpd_fails(void)
{
	static const int known_before[] = { 0, 0, 0, 0, 1, 2, 3 };

	given = (typeof(given)){ .family = AF_INET, .port = 123, .n = 6, .first_port = "1024\n" };
	for (given.at = 0; given.at < 7; given.at++)
		for (given.fault = NO_SOCKET; given.fault < FAULTS_OF_NTPD; given.fault++) {
			int n = known(), wanted = given.fault <= NO_CONNECTION ? 0 : known_before[given.at];
			bool waits = given.fault == SILENT || given.fault == SEQUENCE;

			CHECK(n == wanted && waited == (waits ? 100 : 0),
			      "fault %d of answer %d: %d known, it waited for %d ms", given.fault, given.at, n,
			      (int)waited);
		}
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "is asked", is_asked },
		{ "is bounded", is_bounded },
		{ "is not there", is_not_there },
		{ "may be anybody", may_be_anybody },
		{ "fails", fails },
		{ "ntpd is asked", ntpd_is_asked },
		{ "ntpd fails", ntpd_fails },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
