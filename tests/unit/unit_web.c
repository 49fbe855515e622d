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
#include "observe/web_address.h"
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
		"18446744073709551617",
		"65536:80",
		"9a",
		"/80",
		"127.0.0.1:/1",
		"127.0.0.1::80",
		"[127.0.0.1]]:80",
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

/* What is taken for an address, whether or not this machine has it. */
static void meant(void)
{
	static const struct {
		const char *where, *host;
		uint16_t port;
		bool local;
	} known[] = {
		{ "1", "127.0.0.1", 1, true },
		{ "9", "127.0.0.1", 9, true },
		{ "09", "127.0.0.1", 9, true },
		{ "0065535", "127.0.0.1", 65535, true },
		{ "127.0.0.1:80", "127.0.0.1", 80, true },
		{ "127.255.255.254:8", "127.255.255.254", 8, true },
		{ "126.255.255.255:8", "126.255.255.255", 8, false },
		{ "128.0.0.0:8", "128.0.0.0", 8, false },
		{ "0.0.0.0:8", "0.0.0.0", 8, false },
		{ "192.0.2.1:65535", "192.0.2.1", 65535, false },
		{ "[192.0.2.1]:1", "192.0.2.1", 1, false },
		{ "[::1]:80", "::1", 80, true },
		{ "::1:80", "::1", 80, true },
		{ "[::]:80", "::", 80, false },
		{ "[::2]:80", "::2", 80, false },
		{ "[2001:db8::1]:9090", "2001:db8::1", 9090, false },
		{ "[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]:1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 1,
		  false },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct sockaddr_storage is;
		struct sockaddr_in *in = (struct sockaddr_in *)&is;
		struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&is;
		char text[INET6_ADDRSTRLEN] = "";

		memset(&is, 0xa5, sizeof(is));
		if (!CHECK(!web_address(&is, known[i].where), "%s is refused", known[i].where))
			continue;
		inet_ntop(is.ss_family, is.ss_family == AF_INET ? (void *)&in->sin_addr : (void *)&in6->sin6_addr, text,
			  sizeof(text));
		CHECK(!strcmp(text, known[i].host), "%s is %s", known[i].where, text);
		CHECK(ntohs(is.ss_family == AF_INET ? in->sin_port : in6->sin6_port) == known[i].port, "the port of %s",
		      known[i].where);
		CHECK(is.ss_family == AF_INET || (!in6->sin6_scope_id && !in6->sin6_flowinfo), "%s has more in it",
		      known[i].where);
		CHECK(web_address_is_local(&is) == known[i].local, "whether %s is local", known[i].where);
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
		      strstr(reason(err), "cannot listen: Address already in use") &&
		      (!strstr(reason(err), ", by ") || strstr(reason(err), ", by user ")),
	      "%s", reason(err));
	close(fd);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "addresses", addresses },
		{ "what is none", no_addresses },
		{ "what is meant", meant },
		{ "one that is taken", taken },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
