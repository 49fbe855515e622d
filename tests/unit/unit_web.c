// SPDX-License-Identifier: GPL-2.0-only
/* Where the service answers for its counters: what is taken for an address, and whether it is there. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "ktap.h"
#include "observe/web_server.h"

/* A socket of this machine; the port of which nobody has yet where it is 0. Its port, or -errno. */
static int bound(int fd, const char *host, uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
	socklen_t size = sizeof(in);

	inet_pton(AF_INET, host, &in.sin_addr);
	if (bind(fd, (struct sockaddr *)&in, sizeof(in)) || getsockname(fd, (struct sockaddr *)&in, &size))
		return -errno;
	return ntohs(in.sin_port);
}

static int free_port(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), port = bound(fd, "127.0.0.1", 0);

	close(fd);
	return port;
}

/* Who listens there hears of it: 0, or why not. */
static int reaches(int family, const char *host, int port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), err;

	inet_pton(family, host, family == AF_INET ? (void *)&in.sin_addr : (void *)&in6.sin6_addr);
	err = family == AF_INET ? connect(fd, (struct sockaddr *)&in, sizeof(in))
				: connect(fd, (struct sockaddr *)&in6, sizeof(in6));
	err = err ? errno : 0;
	close(fd);
	return err;
}

static bool is_there(int err)
{
	if (err_is(err, ELIBACC))
		ktap_skip("needs libmicrohttpd, of the package libmicrohttpd12");
	return !err;
}

static void addresses(void)
{
	static const struct {
		const char *where; /* with the port behind it */
		int family;
		const char *host, *other; /* that answers; that does not */
	} known[] = {
		{ "", AF_INET, "127.0.0.1", "127.0.0.2" },
		{ "127.0.0.1:", AF_INET, "127.0.0.1", "127.0.0.2" },
		{ "127.0.0.3:", AF_INET, "127.0.0.3", "127.0.0.1" },
		{ "0.0.0.0:", AF_INET, "127.0.0.4", NULL },
		{ "[::1]:", AF_INET6, "::1", NULL },
		{ "[::]:", AF_INET6, "::1", NULL },
	};

	if (reaches(AF_INET, "127.0.0.1", 1) != ECONNREFUSED)
		return ktap_skip("needs the loopback interface");
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct web_server *server = NULL;
		int port = free_port(), err;
		char where[80];

		if (known[i].family == AF_INET6 && reaches(AF_INET6, "::1", 1) != ECONNREFUSED)
			continue;
		snprintf(where, sizeof(where), "%s%d", known[i].where, port);
		err = web_listen(&server, where, NULL, NULL, NULL);
		if (!is_there(err)) {
			CHECK(ktap_skip_reason[0], "%s: %s", where, reason(err));
			return;
		}
		CHECK(!reaches(known[i].family, known[i].host, port), "%s: nobody at %s", where, known[i].host);
		CHECK(!known[i].other || reaches(known[i].family, known[i].other, port) == ECONNREFUSED,
		      "%s: somebody at %s", where, known[i].other);
		/* The same port of IPv4 is somebody else's. */
		CHECK(known[i].family == AF_INET || reaches(AF_INET, "127.0.0.1", port) == ECONNREFUSED,
		      "%s takes IPv4", where);
		web_close(server);
		CHECK(reaches(known[i].family, known[i].host, port) == ECONNREFUSED, "%s: still there", where);
	}
}

static void no_addresses(void)
{
	static const char *const wrong[] = {
		"",
		":",
		"host",
		"127.0.0.1",
		"127.0.0.1:",
		"127.0.0.1:x",
		"127.0.0.1:1x",
		"0",
		"65536",
		"-1",
		"127.0.0.1:0",
		"127.0.0.1:-1",
		"+80",
		":80",
		"[]:80",
		"[::1:80",
		"::1]:80",
		"[127.0.0.1:80",
		"localhost:80",
		"1.2.3:80",
		"256.0.0.1:80",
		"[:::80",
		"[::1] :80",
		"127.0.0.1 : 80",
		"127.0.0.1:65536",
		"[::1]",
		"[::1]80",
	};
	char longest[200];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct web_server *server = (void *)1;
		int err = web_listen(&server, wrong[i], NULL, NULL, NULL);

		CHECK(err_is(err, EINVAL) && !server && strstr(reason(err), "is not ADDRESS:PORT"), "'%s': %s",
		      wrong[i], reason(err));
	}
	/* Longer than any address, with one behind it. */
	for (size_t length = 40; length < 100; length++) {
		struct web_server *server = NULL;

		snprintf(longest, sizeof(longest), "%0*d:80", (int)length, 1);
		CHECK(err_is(web_listen(&server, longest, NULL, NULL, NULL), EINVAL), "'%s'", longest);
	}
}

static void taken(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), port = bound(fd, "127.0.0.1", 0), err;
	struct web_server *server = NULL;
	char where[40];

	snprintf(where, sizeof(where), "%d", port);
	CHECK(port > 0 && !listen(fd, 1), "no port");
	err = web_listen(&server, where, NULL, NULL, NULL);
	if (err && !is_there(err) && ktap_skip_reason[0]) {
		close(fd);
		return;
	}
	CHECK(err_is(err, EADDRINUSE) && !server && strstr(reason(err), where) &&
		      strstr(reason(err), "cannot listen: Address already in use"),
	      "%s", reason(err));
	close(fd);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "addresses", addresses },
		{ "what is none", no_addresses },
		{ "one that is taken", taken },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
