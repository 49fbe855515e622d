// SPDX-License-Identifier: GPL-2.0-only
/*
 * xdp-bloom-fleet from its start to its wire: what it takes for a request, what it gives up before it speaks to
 * anybody, and what it says where one of that fails. The stream it is asked by is real; the rest is made up.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/close_fd.h"
#include "base/log.h"
#include "base/netlink.h"
#include "fetch/confine.h"
#include "fleet/internal.h"
#include "fleet/request.h"
#include "fleet/tls.h"
#include "shown.h"

#define VERSION "1.2.3"

static const struct shown known[] = {
#include "unit_fleet_main.txt"
};

static struct shows shows = { .file = "tests/unit/unit_fleet_main.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static const char *fails = "";

static bool works(const char *call)
{
	errno = EIO;
	return strcmp(call, fails) != 0;
}

static int given_open(const char *path, int how)
{
	printf("  open %s%s\n", path, how == (O_RDWR | O_CLOEXEC) ? "" : ", otherwise");
	return works("open") ? 90 : -1;
}

static int given_dup2(int from, int to)
{
	char call[16];

	snprintf(call, sizeof(call), "dup2 %d", to);
	printf("  %s becomes %d\n", from == 90 ? "90" : from < 0 ? "none" : "what was given", to);
	return works(call) && from >= 0 ? to : -1;
}

static int given_close_from(unsigned int first)
{
	printf("  from %u on all go\n", first);
	return works("close_from") ? 0 : -1;
}

static int given_fcntl(int fd, int what, int to)
{
	printf("  %d %s\n", fd, what == F_SETFL && to == O_NONBLOCK ? "does not wait" : "is another");
	return works("fcntl") ? 0 : -1;
}

static unsigned int given_alarm(unsigned int seconds)
{
	printf("  ends after %u s\n", seconds);
	return 0;
}

static int given_tls(const char *ca)
{
	printf("  TLS with '%s'\n", ca);
	return works("tls") ? 0 : because(-EINVAL, "no authority");
}

static int given_confine(const struct confinement *c)
{
	printf("  %s, with '%s', %llu bytes, %llu s, %s\n", c->does, c->file, (unsigned long long)c->bytes,
	       (unsigned long long)c->cpu_seconds,
	       c->sockets == CONFINE_NONE	? "no sockets"
	       : c->sockets == CONFINE_INTERNET ? "the internet"
						: "its own");
	return works("confine") ? 0 : because(-EIO, "not confined");
}

static char *message_of; /* the program's, which has the password in it */

static int given_wire(const struct fleet_request *request)
{
	printf("  speaks to %s as %s, with '%s'%s\n", request->url, request->name, request->password,
	       !request->asking		     ? ""
	       : nl_fd(request->asking) == 3 ? ", and asks the kernel by 3"
					     : ", and asks by another");
	for (size_t i = 0; message_of && i < FLEET_MESSAGE_MAX; i++)
		if (message_of[i])
			printf("  the password is there\n");
	return works("wire") ? 0 : -ENOMEM;
}

static void given_forget(void *bytes, size_t n)
{
	if (n != FLEET_MESSAGE_MAX)
		abort();
	message_of = bytes;
	memset(bytes, 0, n);
}

#define open(path, how) given_open(path, how)
#define dup2		given_dup2
#define close_from	given_close_from
#define fcntl(fd, a, b) given_fcntl(fd, a, b)
#define alarm		given_alarm
#define tls_begin	given_tls
#define confine		given_confine
#define wire_run	given_wire
#define explicit_bzero	given_forget
#define main		fleet_main
#include "fleet/main.c"
#undef main
#undef dup2
#undef alarm

/* In a process of its own, which is sent that; what it says is printed. */
static bool with_socket; /* to ask the kernel by */

static bool sends(int fd, const char *sent, size_t n)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} with = { .header = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec bytes = { (char *)(uintptr_t)sent, n };
	struct msghdr m = { .msg_iov = &bytes,
			    .msg_iovlen = 1,
			    .msg_control = with_socket ? &with : NULL,
			    .msg_controllen = with_socket ? sizeof(with.room) : 0 };

	*(int *)CMSG_DATA(&with.header) = fd;
	return sendmsg(fd, &m, 0) == (ssize_t)n;
}

static void runs(const char *what, const char *sent, size_t n, const char *word)
{
	char name[] = "xdp-bloom-fleet", *argv[] = { name, (char *)(uintptr_t)word, NULL }, said[200];
	int pair[2], status = 0;
	ssize_t got;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) || !sends(pair[0], sent, n))
		abort();
	shutdown(pair[0], SHUT_WR);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		dup2(pair[1], 0);
		dup2(1, 2);
		status = fleet_main(word ? 2 : 1, argv);
		fflush(stdout);
		_exit(status); /* what it holds then, nobody looks for */
	}
	close(pair[1]);
	waitpid(pid, &status, 0);
	got = recv(pair[0], said, sizeof(said) - 1, 0);
	said[got > 0 ? got : 0] = '\0';
	close(pair[0]);
	printf("= %s: %d%s%s", what, WIFEXITED(status) ? WEXITSTATUS(status) : -1, *said ? ", it says " : "\n", said);
}

static void asks_and(const char *what, const struct fleet_request *request, const char *word)
{
	char message[FLEET_MESSAGE_MAX];
	size_t n = fleet_request_write(message, sizeof(message), request);

	if (!n)
		abort();
	runs(what, message, n, word);
}

static void asks(const char *what, const struct fleet_request *request)
{
	asks_and(what, request, NULL);
}

static void requests(void)
{
	static char long_one[FLEET_MESSAGE_MAX + 10];
	struct fleet_request r = { .url = "redis://host:1", .name = "me", .password = "secret" };

	runs("its version", "", 0, "--version");
	asks_and("another word", &r, "other");
	runs("nothing", "", 0, NULL);
	runs("rubbish", "rubbish\n\n", 9, NULL);
	runs("one without its end", "url redis://host:1\nname me\n", 27, NULL);
	runs("an empty one", "\n\n", 2, NULL);
	memset(long_one, 'x', sizeof(long_one));
	memcpy(long_one + FLEET_MESSAGE_MAX - 2, "\n\n", 2);
	runs("one that is too long", long_one, FLEET_MESSAGE_MAX, NULL);
	asks("a request", &r);
	with_socket = true;
	asks("with a socket to ask by", &r);
	with_socket = false;
	strcpy(r.url, "rediss://host:1");
	strcpy(r.ca, "/ca.pem");
	asks("by TLS", &r);
	strcpy(r.url, "unix:///run/redis.sock");
	asks("on this machine", &r);
	strcpy(r.url, "redis://host:1");
	strcpy(r.read, "rediss://other:1");
	asks("read by TLS", &r);
	strcpy(r.read, "redis://other:1");
	asks("read elsewhere", &r);
	strcpy(r.read, "unix:///run/other.sock");
	asks("read on this machine", &r);
}

static void failures(void)
{
	static const char *const calls[] = {
		"open", "dup2 1", "dup2 2", "close_from", "fcntl", "tls", "confine", "wire"
	};
	struct fleet_request r = { .url = "rediss://host:1", .name = "me" };

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		fails = calls[i];
		asks(fails, &r);
	}
	fails = "dup2 3";
	with_socket = true;
	asks(fails, &r);
	with_socket = false;
	fails = "";
}

/* Up to the empty line and no further; what has no room is none. */
static void received(void)
{
	static const struct {
		const char *sent;
		size_t size;
	} cases[] = {
		{ "a\n\nrest", 20 }, { "ab\n\n", 5 },  { "ab\n\n", 4 }, { "ab\n\n", 6 }, { "\n\n", 20 },
		{ "\na\n\n", 20 },   { "a\nb\n", 20 }, { "\n", 20 },	{ "", 20 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		/* What stands before it is none of it. */
		char room[30] = "\n", left[20];
		int pair[2], was = dup(0), given = -1;
		ssize_t n, rest;

		if (was < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) ||
		    send(pair[0], cases[i].sent, strlen(cases[i].sent), 0) < 0)
			abort();
		shutdown(pair[0], SHUT_WR);
		dup2(pair[1], 0);
		n = (ssize_t)receive(room + 1, cases[i].size, &given);
		rest = recv(0, left, sizeof(left), 0);
		dup2(was, 0);
		close(was);
		close(pair[0]);
		close(pair[1]);
		printf("case %zu: %zd, %zd are left\n", i, n, rest);
	}
}

static void word_for_word(void)
{
	static const struct scene scenes[] = { { "requests", requests },
					       { "failures", failures },
					       { "received", received } };

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), NULL);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
