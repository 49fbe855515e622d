// SPDX-License-Identifier: GPL-2.0-only
/* Whose sockets listen where a server on this machine is asked, by sockets of the test's own. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include "base/netlink.h"
#include "base/users.h"
#include "fetch/server_here.h"
#include "ktap.h"

static int open_given(struct nl_socket **socket, int family, int flags, unsigned int groups);
static int dump_given(struct nl_socket *socket, uint16_t kind, const void *request, size_t size, netlink_each_fn *each,
		      void *arg);
static void close_given(struct nl_socket *socket);

#define netlink_open open_given
#define netlink_dump dump_given
#define nl_close     close_given

#define getsockname given_name

static int given_name(int fd, struct sockaddr *at, socklen_t *size);

#include "fetch/server_here.c"

/* --- The kernel --- */

struct socket_is {
	const char *at; /* NULL: the end */
	unsigned int uid, cookie, port, to;
	bool only_v6, v6, connected; /* v6: an IPv4 address, of an IPv6 socket */
};

static const struct socket_is *sockets;
static int open_fails, dump_fails, opened;

static int open_given(struct nl_socket **socket, int family, int flags, unsigned int groups)
{
	*socket = NULL;
	if (family != NETLINK_SOCK_DIAG || flags || groups)
		return -EINVAL;
	if (open_fails)
		return open_fails;
	*socket = (struct nl_socket *)&opened;
	opened++;
	return 0;
}

static void close_given(struct nl_socket *socket)
{
	opened -= socket == (struct nl_socket *)&opened;
}

static void give(netlink_each_fn *each, void *arg, const struct socket_is *is)
{
	char room[512] = { 0 };
	struct nlmsghdr *m = nl_put_header(room);
	struct inet_diag_msg *d = nl_put_extra(m, sizeof(*d));
	uint8_t only = is->only_v6;
	struct addr at;
	size_t bytes;

	if (addr_parse(is->at, strlen(is->at), &at))
		abort();
	if (is->v6 && at.family == 4)
		at = (struct addr){ (ip6)0xffff << 32 | at.num, 6 };
	bytes = addr_width(at.family) / 8;
	for (size_t i = 0; i < bytes; i++)
		((uint8_t *)d->id.idiag_src)[i] = (uint8_t)(at.num >> 8 * (bytes - 1 - i));
	d->idiag_family = at.family == 4 ? AF_INET : AF_INET6;
	d->idiag_state = is->connected ? TCP_ESTABLISHED : TCP_LISTEN;
	d->id.idiag_sport = htons((uint16_t)(is->port ?: 8080));
	d->id.idiag_cookie[is->cookie % 2] = is->cookie;
	d->idiag_uid = is->uid;
	if (is->connected) {
		d->id.idiag_dport = htons((uint16_t)(is->to ?: 4500));
		((uint8_t *)d->id.idiag_dst)[is->v6 ? 10 : 0] = is->v6 ? 0xff : 127;
		((uint8_t *)d->id.idiag_dst)[is->v6 ? 11 : 3] = is->v6 ? 0xff : 1;
		((uint8_t *)d->id.idiag_dst)[12] = is->v6 ? 127 : 0;
		((uint8_t *)d->id.idiag_dst)[15] = is->v6 ? 1 : 0;
	}
	nl_put(m, INET_DIAG_SHUTDOWN, 1, "\1");
	if (at.family == 6)
		nl_put(m, INET_DIAG_SKV6ONLY, sizeof(only), &only);
	each(arg, m);
}

/* Of a connection from there. */
static struct sockaddr_in from = { .sin_family = AF_INET };
static const struct socket_is *ends;
static int ends_fail;

static int given_name(int fd, struct sockaddr *at, socklen_t *size)
{
	if (fd != 77 || *size < sizeof(from))
		abort();
	memcpy(at, &from, sizeof(from));
	return 0;
}

/* More than was asked for: what is not is nobody. */
static int dump_given(struct nl_socket *socket, uint16_t kind, const void *request, size_t size, netlink_each_fn *each,
		      void *arg)
{
	const struct inet_diag_req *tcp = request;

	if (socket != (struct nl_socket *)&opened || kind != TCPDIAG_GETSOCK || size != sizeof(*tcp) ||
	    tcp->id.idiag_sport != htons(8080))
		return -EINVAL;
	if (tcp->idiag_states == (1 << TCP_ESTABLISHED | 1 << TCP_SYN_RECV) && tcp->id.idiag_dport == from.sin_port) {
		for (const struct socket_is *is = ends; is->at; is++)
			give(each, arg, is);
		return ends_fail;
	}
	if (tcp->idiag_states != 1 << TCP_LISTEN || tcp->id.idiag_dport)
		return -EINVAL;
	if (dump_fails)
		return dump_fails;
	for (const struct socket_is *is = sockets; is->at; is++)
		give(each, arg, is);
	return 0;
}

/* --- Who is asked --- */

#define MOST 4
static const struct {
	const char *url;
	struct socket_is is[MOST];
	uid_t also;
	const char *host; /* NULL: it is not asked, because... */
	const char *why;
} looks[] = {
#define V4 "http://127.0.0.1:8080"
	{ V4, { { "127.0.0.1", 0, .cookie = 7 } }, 0, "127.0.0.1", NULL },
	{ V4, { { "0.0.0.0", 0, .cookie = 8 } }, 0, "127.0.0.1", NULL },
	{ V4, { { "::", 0, .cookie = 7 } }, 0, "127.0.0.1", NULL },
	{ V4, { { "127.0.0.1", 0, 7, .v6 = true } }, 0, "127.0.0.1", NULL },
	{ V4, { { "127.0.0.1", 998, .cookie = 7 } }, 998, "127.0.0.1", NULL },
	{ V4, { { "127.0.0.1", 0, .cookie = 7 } }, 998, "127.0.0.1", NULL },
	{ V4, { { "127.0.0.1", 0, .cookie = 7 }, { "0.0.0.0", 998, .cookie = 8 } }, 998, "127.0.0.1", NULL },
	/* Somebody else's, wherever he listens so that he could answer. */
	{ V4, { { "127.0.0.1", 65534, .cookie = 7 } }, 0, NULL, "user 65534" },
	{ V4, { { "127.0.0.1", 1000, .cookie = 7 } }, 998, NULL, "neither root nor user 998" },
	{ V4, { { "0.0.0.0", 65534, .cookie = 7 } }, 0, NULL, "127.0.0.1:8080 listens" },
	{ V4, { { "::", 65534, .cookie = 7 } }, 0, NULL, "user 65534" },
	{ V4, { { "127.0.0.1", 65534, 7, .v6 = true } }, 0, NULL, "user 65534" },
	{ V4, { { "127.0.0.1", 0, .cookie = 7 }, { "127.0.0.1", 1000, .cookie = 8 } }, 0, NULL, "user 1000" },
	{ V4, { { "0.0.0.0", 1000, .cookie = 8 }, { "127.0.0.1", 0, .cookie = 7 } }, 0, NULL, "user 1000" },
	/* He could not: it is asked as if he were not there. */
	{ V4, { { "127.0.0.2", 1000, .cookie = 8 }, { "127.0.0.1", 0, .cookie = 7 } }, 0, "127.0.0.1", NULL },
	{ V4, { { "::1", 1000, .cookie = 8 }, { "127.0.0.1", 0, .cookie = 7 } }, 0, "127.0.0.1", NULL },
	{ V4, { { "::", 1000, 8, .only_v6 = true }, { "127.0.0.1", 0, .cookie = 7 } }, 0, "127.0.0.1", NULL },
	{ V4, { { "127.0.0.1", 1000, 8, .port = 8081 }, { "127.0.0.1", 0, .cookie = 7 } }, 0, "127.0.0.1", NULL },
	{ V4, { { "127.0.0.1", 1000, 8, .connected = true }, { "127.0.0.1", 0, .cookie = 7 } }, 0, "127.0.0.1", NULL },
	{ V4,
	  { { "::", 0, 8, .only_v6 = true }, { "127.0.0.2", 0, .cookie = 7 } },
	  0,
	  NULL,
	  "nobody listens at 127.0.0.1:8080" },
	{ V4, { { .at = NULL } }, 0, NULL, "nobody listens" },
	{ "HTTP://127.9.0.1:8080/agent", { { "127.9.0.1", 0, .cookie = 7 } }, 0, "127.9.0.1", NULL },
	{ "http://0.0.0.0:8080", { { "127.0.0.1", 1000, .cookie = 7 } }, 0, NULL, "127.0.0.1:8080 listens user 1000" },
#define V6 "http://[::1]:8080"
	{ V6, { { "::1", 0, .cookie = 7 } }, 0, "[::1]", NULL },
	{ V6, { { "::", 0, 7, .only_v6 = true } }, 0, "[::1]", NULL },
	{ V6, { { "::1", 1000, .cookie = 7 } }, 0, NULL, "at [::1]:8080 listens user 1000" },
	{ V6, { { "::", 1000, .cookie = 7 } }, 0, NULL, "user 1000" },
	{ V6, { { "0.0.0.0", 1000, .cookie = 7 }, { "::1", 0, .cookie = 7 } }, 0, "[::1]", NULL },
	{ V6, { { "0.0.0.0", 0, .cookie = 7 } }, 0, NULL, "nobody listens at [::1]:8080" },
	{ "http://[::ffff:127.0.0.1]:8080", { { "127.0.0.1", 1000, .cookie = 7 } }, 0, NULL, "user 1000" },
	/* A name has two addresses, and is asked where somebody is believed. */
	{ "http://localhost:8080",
	  { { "127.0.0.1", 0, .cookie = 7 }, { "::1", 1000, .cookie = 8 } },
	  0,
	  "127.0.0.1",
	  NULL },
	{ "http://LocalHost:8080",
	  { { "127.0.0.1", 1000, .cookie = 7 }, { "::1", 0, .cookie = 8 } },
	  0,
	  "[::1]",
	  NULL },
	{ "http://localhost:8080", { { "::1", 1000, .cookie = 8 } }, 0, NULL, "at [::1]:8080 listens user 1000" },
	{ "http://localhost:8080",
	  { { "127.0.0.1", 1000, .cookie = 8 } },
	  0,
	  NULL,
	  "at 127.0.0.1:8080 listens user 1000" },
	{ "http://localhost:8080", { { .at = NULL } }, 0, NULL, "nobody listens at 127.0.0.1:8080" },
};

static void looked(void)
{
	for (size_t i = 0; i < sizeof(looks) / sizeof(*looks); i++) {
		struct server_here h = { .also = { looks[i].also }, .option = "--agent-user" };
		int err = server_here_read(&h, looks[i].url);
		char host[SERVER_HOST_MAX];

		if (!CHECK(!err && h.here && h.bare, "%zu: %s", i, looks[i].url))
			return;
		sockets = looks[i].is;
		err = server_here_may(&h);
		CHECK(!opened, "%zu: it is left open", i);
		if (looks[i].host)
			CHECK(!err && h.seen && !h.strange && !strcmp(server_here_host(host, &h), looks[i].host),
			      "%zu: %s", i, err ? reason(err) : host);
		else
			CHECK(err < 0 && strstr(reason(err), looks[i].why) &&
				      h.strange == !strstr(looks[i].why, "nobody"),
			      "%zu: %s", i, err ? reason(err) : "it is asked");
	}
}

/* Who listens when the answer is there must be who did before the question. */
static void changed(void)
{
	static const struct socket_is before[] = { { "127.0.0.1", 0, .cookie = 7 }, { .at = NULL } };
	static const struct {
		struct socket_is is[3];
		const char *why;
	} after[] = {
		{ { { "127.0.0.1", 0, .cookie = 7 } }, NULL },
		{ { { "127.0.0.1", 0, .cookie = 7 }, { "127.0.0.2", 1000, .cookie = 9 } }, NULL },
		{ { { "127.0.0.1", 0, .cookie = 9 } }, "somebody else listens" },
		{ { { "127.0.0.1", 0, .cookie = 8 } }, "somebody else listens" },
		{ { { "127.0.0.1", 0, .cookie = 7 }, { "0.0.0.0", 0, .cookie = 9 } }, "somebody else listens" },
		{ { { "0.0.0.0", 0, .cookie = 9 }, { "127.0.0.1", 0, .cookie = 7 } }, "somebody else listens" },
		{ { { "127.0.0.1", 1000, .cookie = 7 } }, "user 1000" },
		{ { { .at = NULL } }, "nobody listens" },
	};
	struct server_here h = { 0 };

	if (!CHECK(!server_here_read(&h, V4), V4))
		return;
	for (size_t i = 0; i < sizeof(after) / sizeof(*after); i++) {
		int err;

		sockets = before;
		CHECK(!server_here_may(&h), "%zu", i);
		sockets = after[i].is;
		err = server_here_same(&h);
		CHECK(after[i].why ? err < 0 && strstr(reason(err), after[i].why) && strstr(reason(err), "not believed")
				   : !err,
		      "%zu: %s", i, err ? reason(err) : "it is believed");
	}
}

/* What was seen before is nothing once somebody else is there, nor once nobody is. */
static void asked_anew(void)
{
	static const struct socket_is root[] = { { "127.0.0.1", 0, .cookie = 7 }, { .at = NULL } },
				      other[] = { { "127.0.0.1", 1000, .cookie = 8 }, { .at = NULL } },
				      none[] = { { .at = NULL } };
	struct server_here h = { 0 };

	if (!CHECK(!server_here_read(&h, V4), V4))
		return;
	sockets = root;
	CHECK(!server_here_may(&h) && h.seen == (uint64_t)7 << 32, "%llx", (unsigned long long)h.seen);
	sockets = other;
	CHECK(err_is(server_here_may(&h), EPERM) && !h.seen && h.strange, "somebody else's: %llx",
	      (unsigned long long)h.seen);
	sockets = none;
	CHECK(err_is(server_here_may(&h), ECONNREFUSED) && !h.seen && !h.strange, "nobody's: %d", h.strange);
}

/* A kernel without that part believes whoever answers; one that fails does not. */
static void fails(void)
{
	static const struct socket_is none[] = { { .at = NULL } },
				      root[] = { { "127.0.0.1", 0, .cookie = 7 }, { .at = NULL } };
	static const int absent[] = { EPROTONOSUPPORT, EOPNOTSUPP, ENOENT }, others[] = { ENOMEM, EACCES };
	struct server_here h = { 0 };

	sockets = none;
	if (!CHECK(!server_here_read(&h, V4), V4))
		return;
	for (size_t i = 0; i < 2 * sizeof(absent) / sizeof(*absent); i++) {
		*(i % 2 ? &open_fails : &dump_fails) = -absent[i / 2];
		CHECK(!server_here_may(&h) && !h.seen && !server_here_same(&h), "%s", strerror(absent[i / 2]));
		open_fails = dump_fails = 0;
	}
	for (size_t i = 0; i < 2 * sizeof(others) / sizeof(*others); i++) {
		int err;

		*(i % 2 ? &open_fails : &dump_fails) = -others[i / 2];
		err = server_here_may(&h);
		CHECK(err_is(err, others[i / 2]) && strstr(reason(err), "does not say"), "%s", strerror(others[i / 2]));
		open_fails = dump_fails = 0;
	}
	sockets = root;
	CHECK(!server_here_may(&h) && h.seen, "root's");
	dump_fails = -ENOENT;
	CHECK(server_here_same(&h) < 0, "it says so only before");
	dump_fails = -ENOMEM;
	CHECK(server_here_same(&h) < 0, "it fails after");
	dump_fails = 0;
	CHECK(!opened, "it is left open");
}

static void urls(void)
{
	static const struct {
		const char *url;
		bool here, bare, fails;
		unsigned int port;
		const char *rest;
	} reads[] = {
		{ "http://127.0.0.1", true, true, false, 80, "" },
		{ "http://127.0.0.1:", true, true, false, 80, ":" },
		{ "http://localhost/agent", true, true, false, 80, "/agent" },
		{ "http://127.0.0.1:08080", true, true, false, 8080, ":08080" },
		{ "http://[::1]:65535/a:b", true, true, false, 65535, ":65535/a:b" },
		{ "http://[::1]?q", true, true, false, 80, "?q" },
		{ "https://127.0.0.1:8080", true, false, false, 0, ":8080" },
		{ "https://localhost:8080x", true, false, false, 0, ":8080x" },
		{ "http://[::1", true, true, false, 80, "" },
		{ "http://127.0.0.1:0", true, true, true, 0, NULL },
		{ "http://127.0.0.1:65536", true, true, true, 0, NULL },
		{ "http://127.0.0.1:008080", true, true, true, 0, NULL },
		{ "http://127.0.0.1:8080x", true, true, true, 0, NULL },
		{ "http://127.0.0.1:+80", true, true, true, 0, NULL },
		{ "http://[::1]x", true, true, true, 0, NULL },
		{ "http://localhost.example:8080", false, false, false, 0, NULL },
		{ "http://127.0.0.1.example:8080", false, false, false, 0, NULL },
		{ "http://128.0.0.1:8080", false, false, false, 0, NULL },
		{ "http://126.255.255.255:8080", false, false, false, 0, NULL },
		{ "http://[::2]:8080", false, false, false, 0, NULL },
		{ "http://[2001:db8::1]:8080", false, false, false, 0, NULL },
		{ "http://192.0.2.1/127.0.0.1", false, false, false, 0, NULL },
		{ "http://", false, false, false, 0, NULL },
		{ "127.0.0.1:8080", false, false, false, 0, NULL },
	};

	for (size_t i = 0; i < sizeof(reads) / sizeof(*reads); i++) {
		struct server_here h = { 0 };
		int err = server_here_read(&h, reads[i].url);

		CHECK(h.here == reads[i].here && h.bare == reads[i].bare && !err == !reads[i].fails, "%s: %d, %d, %d",
		      reads[i].url, h.here, h.bare, err);
		if (!err && h.here)
			CHECK((!h.bare || h.port == reads[i].port) && !strcmp(h.rest, reads[i].rest), "%s: %u, '%s'",
			      reads[i].url, h.port, h.rest);
		sockets = (const struct socket_is[]){ { .at = NULL } };
		if (!h.bare)
			CHECK(!server_here_may(&h) && !h.seen && !server_here_same(&h), "%s is looked at",
			      reads[i].url);
	}
}

/* Somebody else before root; nobody where the kernel does not say. */
static void whose(void)
{
	static const struct {
		const char *at;
		struct socket_is is[3];
		int uid; /* -1: nobody */
	} all[] = {
		{ "127.0.0.1", { { "127.0.0.1", 65534, .cookie = 7 } }, 65534 },
		{ "127.0.0.1", { { "0.0.0.0", 0, .cookie = 7 } }, 0 },
		{ "127.0.0.1", { { "127.0.0.1", 0, .cookie = 7 }, { "0.0.0.0", 1000, .cookie = 8 } }, 1000 },
		{ "0.0.0.0", { { "127.0.0.1", 1000, .cookie = 7 } }, 1000 },
		{ "192.0.2.1", { { "192.0.2.1", 1000, .cookie = 7 } }, 1000 },
		{ "192.0.2.1", { { "0.0.0.0", 1000, .cookie = 7 } }, 1000 },
		{ "192.0.2.1", { { "127.0.0.1", 1000, .cookie = 7 } }, -1 },
		{ "127.0.0.1", { { "127.0.0.1", 1000, 7, .port = 8081 } }, -1 },
		{ "127.0.0.1", { { .at = NULL } }, -1 },
	};
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(8080) };
	uid_t uid;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		sockets = all[i].is;
		inet_pton(AF_INET, all[i].at, &v4.sin_addr);
		uid = 77;
		if (all[i].uid < 0)
			CHECK(!server_here_whose((struct sockaddr *)&v4, &uid), "%zu: %u", i, uid);
		else
			CHECK(server_here_whose((struct sockaddr *)&v4, &uid) && uid == (uid_t)all[i].uid, "%zu: %u", i,
			      uid);
	}
	sockets = all[0].is;
	dump_fails = -ENOENT;
	CHECK(!server_here_whose((struct sockaddr *)&v4, &uid), "the kernel does not say: %u", uid);
	dump_fails = 0;
	CHECK(!opened, "it is left open");
}

static void users(void)
{
	char text[USER_TEXT_MAX];
	uid_t uid = 7;
	int err;

	CHECK(!user_named("root", &uid) && !uid, "root is %u", uid);
	CHECK(!user_named("4294967294", &uid) && uid == 4294967294u, "it is %u", uid);
	CHECK(!user_named("0", &uid) && !uid, "0 is %u", uid);
	for (size_t i = 0; i < 5; i++) {
		static const char *const none[] = { "no-such-user", "4294967295", "99999999999999999999999", "", "-1" };

		err = user_named(none[i], &uid);
		CHECK(err < 0 && strstr(reason(err), "no such user"), "'%s' is %u", none[i], uid);
	}
	CHECK(!strcmp(user_text(text, 0), "user 0 (root)"), "%s", text);
	CHECK(!strcmp(user_text(text, 4294967294u), "user 4294967294"), "%s", text);
}

/* Where one is about to connect to; by a socket that is given, which stays open. */
static void connected_to(void)
{
	static const struct socket_is root[] = { { "127.0.0.1", 0, .cookie = 7 }, { .at = NULL } },
				      third[] = { { "127.0.0.1", 7, .cookie = 7 }, { .at = NULL } },
				      other[] = { { "127.0.0.1", 1000, .cookie = 8 }, { .at = NULL } };
	static const struct {
		const char *at, *is; /* NULL: elsewhere */
	} to[] = {
		{ "127.0.0.1", "127.0.0.1" },
		{ "127.1.2.3", "127.1.2.3" },
		{ "0.0.0.0", "127.0.0.1" },
		{ "::1", "[::1]" },
		{ "::ffff:127.0.0.1", "127.0.0.1" },
		{ "::", "[::1]" },
		{ "128.0.0.1", NULL },
		{ "192.0.2.1", NULL },
		{ "::2", NULL },
		{ "2001:db8::1", NULL },
	};
	struct server_here h = { .also = { 5, 6, 7 },
				 .option = "--server-user",
				 .asking = (struct nl_socket *)&opened };
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(8080) };
	int err;

	for (size_t i = 0; i < sizeof(to) / sizeof(*to); i++) {
		struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(8080) };
		char host[SERVER_HOST_MAX];

		if (inet_pton(AF_INET, to[i].at, &v4.sin_addr) == 1)
			server_here_at(&h, (struct sockaddr *)&v4);
		else if (inet_pton(AF_INET6, to[i].at, &v6.sin6_addr) == 1)
			server_here_at(&h, (struct sockaddr *)&v6);
		CHECK(h.here == (to[i].is != NULL) && h.port == 8080, "%s: %d", to[i].at, h.here);
		if (h.here)
			CHECK(!strcmp(server_here_host(host, &h), to[i].is), "%s: %s", to[i].at, host);
		else
			CHECK(!server_here_may(&h) && !h.seen && !server_here_same(&h), "%s is looked at", to[i].at);
	}
	inet_pton(AF_INET, "127.0.0.1", &v4.sin_addr);
	server_here_at(&h, (struct sockaddr *)&v4);
	opened = 1;
	open_fails = -EMFILE; /* none is opened */
	sockets = root;
	CHECK(!server_here_may(&h) && h.seen && !server_here_same(&h), "root's");
	sockets = third;
	CHECK(!server_here_may(&h) && h.seen && !server_here_same(&h), "the third one's");
	sockets = other;
	err = server_here_may(&h);
	CHECK(err_is(err, EPERM) && h.strange && strstr(reason(err), ", neither root nor user 5") &&
		      strstr(reason(err), " nor user 7") &&
		      strstr(reason(err), ": it is not asked; --server-user NAME believes a user"),
	      "%s", err ? reason(err) : "it is asked");
	server_here_at(&h, (struct sockaddr *)&v4);
	CHECK(!h.strange, "as before");
	CHECK(opened == 1, "it is closed");
	opened = open_fails = 0;
}

/* Who has the other end of the connection that was made. */
static void other_ends(void)
{
	static const struct socket_is root[] = { { "127.0.0.1", 0, .cookie = 7 }, { .at = NULL } };
	static const struct {
		struct socket_is is[3];
		const char *why;
	} each[] = {
		{ { { "127.0.0.1", 0, 9, .connected = true } }, NULL },
		{ { { "127.0.0.1", 998, 9, .connected = true } }, NULL },
		{ { { "127.0.0.1", 0, 9, .connected = true, .v6 = true } }, NULL },
		{ { { "127.0.0.1", 1000, 9, .connected = true } }, "listens user 1000" },
		{ { { "127.0.0.1", 1000, 9, .connected = true, .v6 = true } }, "listens user 1000" },
		{ { { "127.0.0.1", 1000, 9, .connected = true, .to = 4501 }, { "127.0.0.1", 0, 9, .connected = true } },
		  NULL },
		{ { { "127.0.0.2", 0, 9, .connected = true } }, "who does not listen" },
		{ { { "127.0.0.1", 0, 9, .connected = true, .to = 4501 } }, "who does not listen" },
		{ { { .at = NULL } }, "who does not listen" },
	};
	struct server_here h = { .also = { 998 }, .option = "--server-user" };
	int err;

	from.sin_port = htons(4500);
	from.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	sockets = root;
	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		if (!CHECK(!server_here_read(&h, V4) && !server_here_may(&h), V4))
			return;
		h.n = 1;
		ends = each[i].is;
		err = server_here_connected(&h, 77);
		CHECK(each[i].why ? err < 0 && strstr(reason(err), each[i].why) : !err, "%zu: %s", i,
		      err ? reason(err) : "it is believed");
		h.n = 0;
	}
	ends_fail = -ENOMEM;
	CHECK(err_is(server_here_connected(&h, 77), ENOMEM), "it fails");
	ends_fail = 0;
	sockets = (const struct socket_is[]){ { "127.0.0.1", 1000, .cookie = 7 }, { .at = NULL } };
	CHECK(err_is(server_here_connected(&h, 77), EPERM), "somebody else listens by then");
	h.seen = 0;
	CHECK(!server_here_connected(&h, 77), "the kernel does not say");
}

static const struct ktap_case cases[] = {
	{ "other ends", other_ends },	  { "urls", urls },   { "looked", looked }, { "changed", changed },
	{ "asked anew", asked_anew },	  { "fails", fails }, { "whose", whose },   { "users", users },
	{ "connected to", connected_to },
};

int main(void)
{
	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
