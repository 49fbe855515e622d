// SPDX-License-Identifier: GPL-2.0-only
/* What the system's bus says of systemd-timesyncd's server: in whatever pieces, cut off, or of something else. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/close_fd.h"
#include "change/own_internal.h"
#include "change/own_scan.h"
#include "ktap.h"

static int given_access(const char *path, int mode);
static int given_socket(int family, int type, int protocol);
static int given_connect(int fd, const struct sockaddr *to, socklen_t size);
static ssize_t given_send(int fd, const void *bytes, size_t size, int flags);
static ssize_t given_recv(int fd, void *to, size_t room, int flags);
static bool given_comes(int fd, int64_t until);
static void given_close(int fd);
static void given_learn(struct learned *l, struct addr addr, const char *what, const char *where, ...);

#define access	  given_access
#define socket	  given_socket
#define connect	  given_connect
#define send	  given_send
#define recv	  given_recv
#define own_comes given_comes
#define close_fd  given_close
#define own_learn given_learn
#include "change/own_timesync.c"
#undef access
#undef socket
#undef connect
#undef send
#undef recv

static struct {
	bool runs;
	int socket_fails, connect_fails;
	bool send_fails, broken;
	unsigned char answer[8192];
	size_t size, said, piece; /* so much of it comes at once */
} given;

static int opened;
static unsigned char asked[1024];
static size_t asked_size;
static char known[256];

static int given_access(const char *path, int mode)
{
	if (strcmp(path, "/run/systemd/timesync") != 0 || mode != F_OK)
		abort();
	return given.runs ? 0 : -1;
}

static int given_socket(int family, int type, int protocol)
{
	if (family != AF_UNIX || type != (SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK) || protocol)
		abort();
	errno = given.socket_fails;
	opened += !given.socket_fails;
	return given.socket_fails ? -1 : 1000;
}

static void given_close(int fd)
{
	opened -= fd == 1000;
}

static int given_connect(int fd, const struct sockaddr *to, socklen_t size)
{
	const struct sockaddr_un *bus = (const void *)to;

	if (fd != 1000 || size != sizeof(*bus) || strcmp(bus->sun_path, "/run/dbus/system_bus_socket") != 0)
		abort();
	errno = given.connect_fails;
	return given.connect_fails ? -1 : 0;
}

static ssize_t given_send(int fd, const void *bytes, size_t size, int flags)
{
	if (fd != 1000 || flags != MSG_NOSIGNAL || size > sizeof(asked))
		abort();
	memcpy(asked, bytes, size);
	asked_size = size;
	return given.send_fails ? -1 : (ssize_t)size;
}

static bool given_comes(int fd, int64_t until)
{
	return fd == 1000 && until == 77 && (given.said < given.size || given.broken);
}

static ssize_t given_recv(int fd, void *to, size_t room, int flags)
{
	size_t n = given.size - given.said;

	n = n < given.piece ? n : given.piece;
	n = n < room ? n : room;
	if (fd != 1000 || flags || !room)
		abort();
	memcpy(to, given.answer + given.said, n);
	given.said += n;
	return (ssize_t)n;
}

static void given_learn(struct learned *l, struct addr addr, const char *what, const char *where, ...)
{
	char text[PREFIX_TEXT_MAX];
	size_t n = strlen(known);

	if (addr.family && l->guests)
		snprintf(known + n, sizeof(known) - n, "%s, %s (%s)\n", prefix_text(text, addr, -1), what, where);
}

static const char *knows(void)
{
	struct learned l = { .guests = true };

	*known = '\0';
	given.said = 0;
	CHECK(own_from_timesyncd(&l, 77) == given.runs, "whether it runs");
	CHECK(!opened, "%d are open", opened);
	return known;
}

/* --- A bus, in either order of bytes --- */

static bool big;

static void put(const void *bytes, size_t n)
{
	memcpy(given.answer + given.size, bytes, n);
	given.size += n;
}

static void put_number(uint32_t n)
{
	n = big ? htobe32(n) : htole32(n);
	put(&n, sizeof(n));
}

/* With fields of so many bytes, which nobody looks at. */
static void put_message(int kind, size_t fields, const void *body, size_t size)
{
	put((const char[]){ big ? 'B' : 'l', (char)kind, 1, 1 }, 4);
	put_number((uint32_t)size);
	put_number(9);
	put_number((uint32_t)fields);
	given.size += (fields + 7) / 8 * 8;
	put(body, size);
}

static void begin(void)
{
	memset(&given, 0, sizeof(given));
	given.runs = true;
	given.piece = sizeof(given.answer);
	put("DATA\r\nOK 0123456789abcdef0123456789abcdef\r\n", 43);
	put_message(2, 61, "\4\0\0\0:1.2", 9);
	put_message(4, 141, "\4\0\0\0:1.2", 9);
}

/* It is so long, and says that it is. */
static void put_property(const char *signature, int family, uint32_t says, size_t is)
{
	unsigned char body[32] = { 0 };
	uint32_t numbers[] = { big ? htobe32((uint32_t)family) : htole32((uint32_t)family),
			       big ? htobe32(says) : htole32(says) };

	memcpy(body, signature, strlen(signature));
	memcpy(body + 8, numbers, sizeof(numbers));
	memcpy(body + 16, (const unsigned char[]){ 192, 0, 2, 13 }, 4);
	put_message(2, 45, body, 16 + is);
}

#define IT "192.0.2.13, a time server in use (the server of systemd-timesyncd)\n"

static void is_known(void)
{
	for (int order = 0; order < 2; order++) {
		big = order;
		begin();
		put_property("\5(iay)", AF_INET, 4, 4);
		for (given.piece = 1; given.piece <= given.size; given.piece++)
			CHECK(!strcmp(knows(), IT), "in pieces of %zu it knows '%s'", given.piece, known);
		begin();
		put_property("\5(iay)", AF_INET6, 16, 16);
		CHECK(!strcmp(knows(), "c000:20d::, a time server in use (the server of systemd-timesyncd)\n"), "'%s'",
		      known);
	}
	big = false;
}

static void is_not(void)
{
	static const struct {
		const char *signature;
		int family;
		uint32_t says;
		size_t is;
	} others[] = {
		{ "\5(iay)", AF_UNSPEC, 0, 0 }, { "\5(iay)", AF_INET, 3, 3 },	       { "\5(iay)", AF_INET, 4, 3 },
		{ "\5(iay)", AF_INET, 4, 5 },	{ "\5(iay)", AF_INET, UINT32_MAX, 4 }, { "\5(iay)", AF_INET6, 15, 15 },
		{ "\5(iay)", AF_UNIX, 16, 16 }, { "\5(uay)", AF_INET, 4, 4 },	       { "\1s", AF_INET, 4, 4 },
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		begin();
		put_property(others[i].signature, others[i].family, others[i].says, others[i].is);
		CHECK(!*knows(), "%zu is %s", i, known);
	}
	/* The daemon is gone; or says less than a property. */
	begin();
	put_message(3, 141, "\5(iay)\0\0\2\0\0\0\4\0\0\0\300\0\2\15", 20);
	put_property("\5(iay)", AF_INET, 4, 4);
	CHECK(!*knows(), "after an error it knows %s", known);
	begin();
	put_message(2, 45, "\5(iay)\0\0\2\0\0\0\4\0\0", 15);
	CHECK(!*knows(), "of a short one it knows %s", known);
}

/* Where it ends before, is broken, or goes on for ever. */
static void ends(void)
{
	size_t all;

	begin();
	put_property("\5(iay)", AF_INET, 4, 4);
	all = given.size;
	for (given.size = 0; given.size < all; given.size++) {
		CHECK(!*knows(), "of %zu bytes it knows %s", given.size, known);
		given.broken = !given.broken;
		CHECK(!*knows(), "of %zu bytes it knows %s", given.size, known);
	}
	given.broken = false;
	CHECK(!strcmp(knows(), IT), "of all it knows '%s'", known);
	for (size_t i = 0; i < 8; i++) {
		given.answer[i] ^= 1;
		CHECK(!*knows() && given.said == given.size, "a greeting that is none");
		given.answer[i] ^= 1;
	}
	begin();
	while (given.size < sizeof(given.answer) - 400)
		put_message(4, 300, "", 0);
	put_property("\5(iay)", AF_INET, 4, 4);
	given.piece = 100;
	CHECK(!*knows() && given.said == 4096, "%zu bytes are read", given.said);
	for (int i = 0; i < 2; i++) {
		begin();
		memset(given.answer + 43 + (i ? 4 : 12), 0xff, 4);
		given.piece = 64;
		CHECK(!*knows() && given.said == 64, "%zu bytes are read", given.said);
	}
}

static void is_not_asked(void)
{
	begin();
	put_property("\5(iay)", AF_INET, 4, 4);
	given.socket_fails = EMFILE;
	CHECK(!*knows(), "%s", known);
	given.socket_fails = 0;
	given.connect_fails = EAGAIN;
	CHECK(!*knows(), "%s", known);
	given.connect_fails = 0;
	given.send_fails = true;
	CHECK(!*knows(), "%s", known);
	given.send_fails = given.runs = false;
	asked_size = 0;
	CHECK(!*knows() && !asked_size, "%s", known);
}

/* --- The question, as D-Bus has it --- */

static uint32_t number_at(size_t at)
{
	return asked[at] | asked[at + 1] << 8 | asked[at + 2] << 16 | (uint32_t)asked[at + 3] << 24;
}

static size_t fields_from(size_t at, char said[512])
{
	size_t begun = at - 16, end = at + number_at(at - 4);

	*said = '\0';
	while (at < end) {
		int kind = asked[at + 2];
		size_t head = kind == 'g' ? 5 : 8, n = kind == 'g' ? asked[at + 4] : number_at(at + 4),
		       used = strlen(said);

		CHECK(asked[at + 1] == 1 && !asked[at + 3] && !asked[at + head + n], "field %d", asked[at]);
		snprintf(said + used, 512 - used, "%d%c%s ", asked[at], kind, asked + at + head);
		at += head + n + 1;
		if (at < end)
			at = begun + (at - begun + 7) / 8 * 8;
	}
	CHECK(at == end, "fields end at %zu, not at %zu", at, end);
	return begun + (at - begun + 7) / 8 * 8;
}

static void asks(void)
{
	static const char who[] = "\0AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\n";
	size_t at = sizeof(who) - 1, body;
	char said[512];

	begin();
	knows();
	CHECK(!memcmp(asked, who, at), "who asks");
	CHECK(!memcmp(asked + at, "l\1\0\1\0\0\0\0\1\0\0", 12), "the first message");
	at = fields_from(at + 16, said);
	CHECK(!strcmp(said, "1o/org/freedesktop/DBus 2sorg.freedesktop.DBus 3sHello 6sorg.freedesktop.DBus "), "%s",
	      said);
	CHECK(!memcmp(asked + at, "l\1\2\1", 4) && number_at(at + 8) == 2, "the second message");
	body = number_at(at + 4);
	at = fields_from(at + 16, said);
	CHECK(!strcmp(said, "1o/org/freedesktop/timesync1 2sorg.freedesktop.DBus.Properties 3sGet "
			    "6sorg.freedesktop.timesync1 8gss "),
	      "%s", said);
	CHECK(at + body == asked_size && number_at(at) == 33 && number_at(at + 40) == 13 &&
		      !strcmp((char *)asked + at + 4, "org.freedesktop.timesync1.Manager") &&
		      !strcmp((char *)asked + at + 44, "ServerAddress"),
	      "%zu and %zu are not %zu", at, body, asked_size);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "is known", is_known },	  { "is not", is_not }, { "ends", ends },
		{ "is not asked", is_not_asked }, { "asks", asks },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
