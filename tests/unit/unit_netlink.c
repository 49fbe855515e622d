// SPDX-License-Identifier: GPL-2.0-only
/* Questions to the kernel over netlink, and what becomes of its answers: whole, in pieces, changed meanwhile, none. */
#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/close_fd.h"
#include "base/grow.h"
#include "base/interfaces.h"
#include "base/log.h"
#include "base/netlink.h"
#include "base/other_name.h"
#include "ktap.h"

#define SOCKET 1000

#define NEEDED(is)               \
	do {                     \
		if (!(is))       \
			abort(); \
	} while (0)

/* --- A kernel --- */

/* What it answers, one after the other; -errno: that. */
struct answer {
	int n;
	char bytes[70000] __attribute__((aligned(NLMSG_ALIGNTO)));
};
static struct answer answers[32];
static unsigned int answers_n, at, asked;
static int socket_err, bind_err, send_err;
static bool is_open;
static int flags_asked;
static unsigned int groups_asked;
static char was_asked[256] __attribute__((aligned(NLMSG_ALIGNTO)));
static size_t asked_n;

static int given_socket(int domain, int type, int protocol)
{
	CHECK(domain == AF_NETLINK && (type & SOCK_RAW) == SOCK_RAW && type & SOCK_CLOEXEC && !protocol,
	      "another socket: %d, %d, %d", domain, type, protocol);
	flags_asked = type & ~(SOCK_RAW | SOCK_CLOEXEC);
	errno = socket_err;
	is_open = !socket_err;
	return socket_err ? -1 : SOCKET;
}

static int given_bind(int fd, const struct sockaddr *to, socklen_t size)
{
	const struct sockaddr_nl *us = (const struct sockaddr_nl *)to;

	CHECK(fd == SOCKET && size == sizeof(*us) && us->nl_family == AF_NETLINK && !us->nl_pid, "another address");
	groups_asked = us->nl_groups;
	errno = bind_err;
	return bind_err ? -1 : 0;
}

static int given_close(int fd)
{
	CHECK(fd == SOCKET && is_open, "%d is closed", fd);
	is_open = false;
	return 0;
}

static ssize_t given_sendto(int fd, const void *bytes, size_t n, int flags, const struct sockaddr *to, socklen_t size)
{
	const struct sockaddr_nl *kernel = (const struct sockaddr_nl *)to;

	CHECK(fd == SOCKET && !flags && size == sizeof(*kernel) && kernel->nl_family == AF_NETLINK && !kernel->nl_pid,
	      "to another");
	asked_n = n;
	memcpy(was_asked, bytes, n);
	asked++;
	errno = send_err;
	return send_err ? -1 : (ssize_t)n;
}

/* Of a message that there is no room for, its length. */
static ssize_t given_recv(int fd, void *room, size_t size, int flags)
{
	const struct answer *a = &answers[at];
	bool there = at < answers_n;

	CHECK(fd == SOCKET && (flags & ~MSG_PEEK) == MSG_TRUNC && there, "it is asked for answer %u", at);
	at += !(flags & MSG_PEEK) || !there || a->n < 0;
	if (!there || a->n < 0) {
		errno = there ? -a->n : EIO;
		return -1;
	}
	if (!(flags & MSG_PEEK))
		memcpy(room, a->bytes, (size_t)a->n < size ? (size_t)a->n : size);
	return a->n;
}

/* A CPU has worked for this process so long: each answer takes 10 ms. */
static int64_t given_ns(clockid_t clock)
{
	CHECK(clock == CLOCK_THREAD_CPUTIME_ID, "another clock");
	return 5000000000 + (int64_t)at * 10000000;
}

static int option_level, option_name, option_value;
static unsigned int allocated;
static bool no_memory;

static int given_setsockopt(int fd, int level, int option, const void *value, socklen_t size)
{
	CHECK(fd == SOCKET && size == sizeof(int), "another option");
	option_level = level;
	option_name = option;
	option_value = *(const int *)value;
	return -1;
}

static void *given_malloc(size_t size)
{
	allocated++;
	errno = ENOMEM;
	return no_memory ? NULL : malloc(size);
}

static void *given_calloc(size_t n, size_t size)
{
	return no_memory ? NULL : calloc(n, size);
}

#define clock_ns   given_ns
#define setsockopt given_setsockopt
#define malloc	   given_malloc
#define calloc	   given_calloc
#define socket	   given_socket
#define bind	   given_bind
#define sendto	   given_sendto
#define recv	   given_recv
#define close	   given_close
#define close_fd(fd)                     \
	do {                             \
		if ((fd) >= 0)           \
			given_close(fd); \
	} while (0)
#include "base/netlink.c"
#undef close_fd
#undef close
#undef socket
#undef calloc
#undef malloc
#undef MORE
#define if_nametoindex(name)	   (!strcmp(name, "lan0") || !strcmp(name, "eth0") ? 7U : 0U)
#define if_indextoname(index, own) ((index) == 7 ? strcpy(own, "eth0") : (index) == 1 ? strcpy(own, "lo") : NULL)
#include "base/other_name.c"

static bool no_text;

static char *given_text(const char *text)
{
	return no_text ? NULL : strdup(text);
}

#define strdup given_text
#include "base/interfaces.c"
#undef strdup

static void begins(void)
{
	at = answers_n = asked = 0;
	socket_err = bind_err = send_err = 0;
	memset(answers, 0, sizeof(answers));
}

/* In the same answer as the last one, or in one of its own. */
static struct nlmsghdr *put_message(bool apart, uint16_t type, uint16_t flags, const void *extra, size_t size)
{
	struct answer *a;
	struct nlmsghdr *m;

	answers_n += apart || !answers_n;
	a = &answers[answers_n - 1];
	m = nl_put_header(a->bytes + a->n);
	m->nlmsg_type = type;
	m->nlmsg_flags = flags;
	memcpy(nl_put_extra(m, size), extra, size);
	return m;
}

static void put_done(const struct nlmsghdr *m)
{
	answers[answers_n - 1].n += (int)NLMSG_ALIGN(m->nlmsg_len);
}

static void put_end(bool apart, uint16_t type, int err)
{
	put_done(put_message(apart, type, 0, &err, sizeof(err)));
}

static void put_fail(int err)
{
	answers[answers_n++].n = err;
}

static void put_link(bool apart, int ifindex, uint16_t flags)
{
	put_done(put_message(apart, RTM_NEWLINK, flags, &(struct ifinfomsg){ .ifi_index = ifindex },
			     sizeof(struct ifinfomsg)));
}

static char seen[256];

static void see(void *arg, const struct nlmsghdr *m)
{
	const struct ifinfomsg *link = nl_payload(m);

	CHECK(arg == &asked, "another argument");
	snprintf(seen + strlen(seen), sizeof(seen) - strlen(seen), "%d ", link->ifi_index);
}

/* --- Sockets --- */

static void opens(void)
{
	struct nl_socket *s;
	int err;

	begins();
	CHECK(!netlink_open(&s, NETLINK_ROUTE, SOCK_NONBLOCK, 5) && nl_fd(s) == SOCKET && groups_asked == 5 &&
		      flags_asked == SOCK_NONBLOCK,
	      "groups %u", groups_asked);
	nl_close(s);
	CHECK(!is_open, "it stays open");
	socket_err = EMFILE;
	err = netlink_open(&s, NETLINK_ROUTE, 0, 0);
	CHECK(err_is(err, EMFILE) && !s && !strcmp(reason(err), "netlink: Too many open files"), "%s",
	      err ? reason(err) : "no error");
	socket_err = 0;
	bind_err = EPERM;
	err = netlink_open(&s, NETLINK_ROUTE, 0, 0);
	CHECK(err_is(err, EPERM) && !s && !is_open, "%s", err ? reason(err) : "no error");
	bind_err = 0;
}

/* As long as its room, and longer. */
static void receives(void)
{
	struct nl_socket *s;
	char room[8];
	ssize_t got;

	begins();
	NEEDED(!netlink_open(&s, NETLINK_ROUTE, 0, 0));
	answers[0].n = 7;
	answers[1].n = 8;
	answers[2].n = 9;
	answers_n = 3;
	CHECK(nl_receive(s, room, 8) == 7 && nl_receive(s, room, 8) == 8, "a message that fits");
	got = nl_receive(s, room, 8);
	CHECK(got == -1 && errno == EMSGSIZE, "%zd, %s", got, strerror(errno));
	nl_close(s);
}

/* --- All of a kind --- */

static int all(const void *what, size_t size)
{
	struct nl_socket *s;
	int err;

	*seen = '\0';
	at = asked = 0;
	NEEDED(!netlink_open(&s, NETLINK_ROUTE, 0, 0));
	err = netlink_dump(s, RTM_GETLINK, what, size, see, &asked);
	nl_close(s);
	return err;
}

#define IS(err, wanted_err, wanted, times)                                                    \
	CHECK(error_number(err) == (wanted_err) && !strcmp(seen, wanted) && asked == (times), \
	      "%s: '%s', asked %u times", (err) ? errno_text(err) : "no error", seen, asked)

static void dumps(void)
{
	struct ifinfomsg extra = { .ifi_family = AF_INET6, .ifi_index = 5 };
	const struct nlmsghdr *m = (struct nlmsghdr *)was_asked;
	int err;

	begins();
	put_link(true, 1, 0);
	put_link(false, 2, 0);
	put_fail(0); /* nothing, and more is to come */
	put_link(true, 3, 0);
	put_end(true, NLMSG_DONE, 0);
	err = all(NULL, sizeof(extra));
	IS(err, 0, "1 2 3 ", 1);
	CHECK(m->nlmsg_type == RTM_GETLINK && m->nlmsg_flags == (NLM_F_REQUEST | NLM_F_DUMP) &&
		      m->nlmsg_len == NLMSG_LENGTH(sizeof(extra)) && asked_n == m->nlmsg_len,
	      "another request: %zu bytes", asked_n);
	CHECK(!memcmp(nl_payload(m), &(struct ifinfomsg){ 0 }, sizeof(extra)), "not of every family");
	err = all(&extra, sizeof(extra));
	IS(err, 0, "1 2 3 ", 1);
	CHECK(!memcmp(nl_payload(m), &extra, sizeof(extra)), "another request");
	/* What stands behind the end is none of it. */
	begins();
	put_link(true, 1, 0);
	put_end(false, NLMSG_DONE, -ENOENT);
	put_link(false, 2, 0);
	err = all(NULL, sizeof(extra));
	IS(err, ENOENT, "1 ", 1);
	begins();
	put_end(true, NLMSG_ERROR, -EOPNOTSUPP);
	err = all(NULL, sizeof(extra));
	IS(err, EOPNOTSUPP, "", 1);
	begins();
	put_link(true, 1, 0);
	put_fail(-ENOBUFS);
	err = all(NULL, sizeof(extra));
	IS(err, ENOBUFS, "1 ", 1);
	begins();
	send_err = EPERM;
	err = all(NULL, sizeof(extra));
	IS(err, EPERM, "", 1);
}

/* A link whose names alone have so many bytes. */
static void put_long_link(bool apart, int ifindex, size_t bytes)
{
	static const char names[65000];
	struct nlmsghdr *m = put_message(apart, RTM_NEWLINK, 0, &(struct ifinfomsg){ .ifi_index = ifindex },
					 sizeof(struct ifinfomsg));

	nl_put(m, IFLA_PROP_LIST, bytes, names);
	put_done(m);
}

/* Each is whole, and what follows it, too; room is made for the longest of them, where it needs that. */
static void long_answers(void)
{
	int err;

	begins();
	put_link(true, 1, 0);
	put_long_link(true, 2, 32600);
	put_end(true, NLMSG_DONE, 0);
	allocated = 0;
	err = all(NULL, sizeof(struct ifinfomsg));
	IS(err, 0, "1 2 ", 1);
	CHECK(!allocated, "allocated %u times", allocated);
	begins();
	put_link(true, 1, 0);
	put_long_link(true, 2, 40000);
	put_link(true, 3, 0);
	put_long_link(true, 4, 39000);
	put_link(true, 5, 0);
	put_long_link(false, 6, 65000);
	put_link(false, 7, 0);
	put_end(true, NLMSG_DONE, 0);
	err = all(NULL, sizeof(struct ifinfomsg));
	IS(err, 0, "1 2 3 4 5 6 7 ", 1);
	CHECK(allocated == 2, "allocated %u times", allocated);
	begins();
	*seen = '\0';
	put_long_link(true, 7, 65000);
	put_end(true, NLMSG_ERROR, 0);
	err = netlink_link(7, see, &asked);
	IS(err, 0, "7 ", 1);
}

static void too_long(void)
{
	struct nl_socket *s;
	int err;

	begins();
	put_link(true, 1, 0);
	answers[answers_n++].n = (1 << 20) + 1;
	allocated = 0;
	err = all(NULL, sizeof(struct ifinfomsg));
	IS(err, EMSGSIZE, "1 ", 1);
	CHECK(!allocated, "room is made for it");
	begins();
	put_long_link(true, 1, 40000);
	NEEDED(!netlink_open(&s, NETLINK_ROUTE, 0, 0));
	no_memory = true;
	*seen = '\0';
	err = netlink_dump(s, RTM_GETLINK, NULL, sizeof(struct ifinfomsg), see, &asked);
	no_memory = false;
	IS(err, ENOMEM, "", 1);
	nl_close(s);
}

/* The kernel makes room for the longest of them where it is asked for parts. */
static void all_links(void)
{
	const struct nlmsghdr *m = (const struct nlmsghdr *)was_asked;
	const struct nlattr *attr;
	uint32_t parts = 0;
	struct nl_socket *s;
	int err;

	begins();
	put_link(true, 1, 0);
	put_end(true, NLMSG_DONE, 0);
	NEEDED(!netlink_open(&s, NETLINK_ROUTE, 0, 0));
	*seen = '\0';
	err = netlink_links(s, see, &asked);
	nl_close(s);
	IS(err, 0, "1 ", 1);
	nl_each (attr, m, sizeof(struct ifinfomsg))
		if (nl_attr_type(attr) == IFLA_EXT_MASK)
			parts = nl_attr_u32(attr);
	CHECK(m->nlmsg_type == RTM_GETLINK && m->nlmsg_flags == (NLM_F_REQUEST | NLM_F_DUMP) &&
		      parts == RTEXT_FILTER_SKIP_STATS,
	      "parts %x are asked for", parts);
}

static void put_named(bool apart, int ifindex, const char *name, uint16_t flags)
{
	struct nlmsghdr *m = put_message(apart, RTM_NEWLINK, flags, &(struct ifinfomsg){ .ifi_index = ifindex },
					 sizeof(struct ifinfomsg));

	nl_put_u32(m, IFLA_MTU, 1500);
	nl_put(m, IFLA_IFNAME, strlen(name) + 1, name);
	put_done(m);
}

static void interfaces_are(const char *wanted)
{
	struct if_nameindex *all;
	char text[100] = "none";
	size_t n = 0;

	at = 0;
	all = interfaces_all();
	for (struct if_nameindex *i = all; i && i->if_index; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%u %s ", i->if_index, i->if_name);
	if (!all)
		snprintf(text, sizeof(text), "%s", strerror(errno));
	CHECK(!strcmp(text, wanted) && !is_open, "'%s'", text);
	interfaces_free(all);
}

/* Each once, though a dump comes twice, and behind one that is long. */
static void every_interface(void)
{
	begins();
	put_named(true, 1, "lo", NLM_F_DUMP_INTR);
	put_named(false, 2, "eth0", 0);
	put_end(true, NLMSG_DONE, 0);
	put_named(true, 1, "lo", 0);
	put_named(false, 3, "eth1", 0);
	put_named(false, 4, "eth2", 0);
	put_named(false, 5, "eth3", 0);
	put_end(true, NLMSG_DONE, 0);
	interfaces_are("1 lo 2 eth0 3 eth1 4 eth2 5 eth3 ");
	no_text = true;
	interfaces_are("Cannot allocate memory");
	no_text = false;
	begins();
	put_named(true, 1, "lo", 0);
	put_end(true, NLMSG_DONE, -EIO);
	interfaces_are("Input/output error");
	socket_err = EMFILE;
	interfaces_are("Too many open files");
}

static void changes_meanwhile(void)
{
	const char *eight = "1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 ";
	int err;

	begins();
	put_link(true, 1, NLM_F_DUMP_INTR);
	put_link(true, 2, 0);
	put_end(false, NLMSG_DONE, 0);
	put_link(true, 1, NLM_F_MULTI);
	put_link(true, 3, NLM_F_MULTI);
	put_end(false, NLMSG_DONE, 0);
	err = all(NULL, sizeof(struct ifinfomsg));
	IS(err, 0, "1 2 1 3 ", 2);
	/* Without end. */
	begins();
	for (int i = 0; i < 9; i++) {
		put_link(true, 1, 0);
		put_link(false, 2, NLM_F_DUMP_INTR);
		put_end(false, NLMSG_DONE, 0);
	}
	err = all(NULL, sizeof(struct ifinfomsg));
	IS(err, 0, eight, 8);
	begins();
	put_link(true, 1, NLM_F_DUMP_INTR);
	put_end(false, NLMSG_DONE, -EIO);
	err = all(NULL, sizeof(struct ifinfomsg));
	IS(err, EIO, "1 ", 1);
}

static struct nl_socket *three_links(void)
{
	struct nl_socket *s;

	begins();
	for (int i = 1; i <= 3; i++)
		put_link(true, i, 0);
	put_end(true, NLMSG_DONE, 0);
	*seen = '\0';
	NEEDED(!netlink_open(&s, NETLINK_ROUTE, 0, 0));
	return s;
}

static void first_of_them(void)
{
	for (size_t most = 0; most < 5; most++) {
		static const char *const wanted[] = { "", "1 ", "1 2 ", "1 2 3 ", "1 2 3 " };
		bool whole = most < 3;
		struct nl_socket *s = three_links();
		int err;

		err = netlink_dump_first(s, RTM_GETLINK, NULL, sizeof(struct ifinfomsg), most, see, &asked, &whole);
		CHECK(!err && !strcmp(seen, wanted[most]) && whole == (most >= 3), "of %zu: '%s'%s", most, seen,
		      whole ? ", all" : "");
		nl_close(s);
	}
}

/* What takes longer ends with the message that was read then, however few are in each. */
static void for_so_long(void)
{
	for (unsigned int ms = 0; ms < 50; ms += 10) {
		static const char *const wanted[] = { "1 ", "1 ", "1 2 ", "1 2 3 ", "1 2 3 " };
		bool whole = ms < 40;
		struct nl_socket *s = three_links();
		int err;

		err = netlink_dump_within(s, RTM_GETLINK, NULL, sizeof(struct ifinfomsg), ms, see, &asked, &whole);
		CHECK(!err && !strcmp(seen, wanted[ms / 10]) && whole == (ms == 40), "in %u ms: '%s'%s", ms, seen,
		      whole ? ", all" : "");
		nl_close(s);
	}
}

static void one_of_them(void)
{
	static const struct ifinfomsg link = { .ifi_index = 7 };
	const struct nlmsghdr *m = (const struct nlmsghdr *)was_asked;
	struct nl_socket *s;
	int err;

	begins();
	put_link(true, 7, 0);
	put_end(true, NLMSG_ERROR, 0);
	put_end(true, NLMSG_ERROR, -ENOENT);
	NEEDED(!netlink_open(&s, NETLINK_ROUTE, 0, 0));
	*seen = '\0';
	err = netlink_one(s, RTM_GETLINK, &link, sizeof(link), see, &asked);
	IS(err, 0, "7 ", 1);
	CHECK(m->nlmsg_flags == (NLM_F_REQUEST | NLM_F_ACK) && m->nlmsg_len == NLMSG_LENGTH(sizeof(link)) &&
		      !memcmp(nl_payload(m), &link, sizeof(link)),
	      "another question");
	*seen = '\0';
	err = netlink_one(s, RTM_GETLINK, &link, sizeof(link), see, &asked);
	IS(err, ENOENT, "", 2);
	nl_close(s);
}

static void asks(void)
{
	static const struct ifinfomsg link = { .ifi_family = AF_BRIDGE, .ifi_index = 5 };
	const struct nlmsghdr *m = (const struct nlmsghdr *)was_asked;
	struct nl_socket *s = NULL;

	begins();
	no_memory = true;
	CHECK(err_is(netlink_open(&s, NETLINK_ROUTE, 0, 0), ENOMEM) && !s && !is_open, "it is open");
	no_memory = false;
	NEEDED(!netlink_open(&s, NETLINK_ROUTE, 0, 0));
	CHECK(nl_option(s, 12, &(int){ 34 }, sizeof(int)) == -1 && option_level == SOL_NETLINK && option_name == 12 &&
		      option_value == 34,
	      "option %d of %d is %d", option_name, option_level, option_value);
	put_end(true, NLMSG_DONE, 0);
	CHECK(!netlink_dump(s, RTM_GETLINK, &link, sizeof(link), see, &asked), "an error");
	CHECK(m->nlmsg_type == RTM_GETLINK && m->nlmsg_len == asked_n && asked_n == NLMSG_LENGTH(sizeof(link)) &&
		      !memcmp(nl_payload(m), &link, sizeof(link)),
	      "%zu bytes are asked", asked_n);
	nl_close(s);
}

static void one_link(void)
{
	const struct nlmsghdr *m = (const struct nlmsghdr *)was_asked;
	int err;

	begins();
	*seen = '\0';
	put_link(true, 7, 0);
	put_end(true, NLMSG_ERROR, 0);
	err = netlink_link(7, see, &asked);
	IS(err, 0, "7 ", 1);
	CHECK(m->nlmsg_type == RTM_GETLINK && m->nlmsg_flags == (NLM_F_REQUEST | NLM_F_ACK) &&
		      ((struct ifinfomsg *)nl_payload(m))->ifi_index == 7 && !is_open,
	      "asked with %x", m->nlmsg_flags);
	begins();
	*seen = '\0';
	put_end(true, NLMSG_ERROR, -ENODEV);
	err = netlink_link(8, see, &asked);
	IS(err, ENODEV, "", 1);
	bind_err = EPERM;
	CHECK(err_is(netlink_link(8, see, &asked), EPERM) && !is_open, "it is asked");
}

static void first_fails(void)
{
	struct nl_socket *s;
	bool whole = false;
	int err;

	begins();
	put_end(true, NLMSG_ERROR, -EPERM);
	NEEDED(!netlink_open(&s, NETLINK_ROUTE, 0, 0));
	err = netlink_dump_first(s, RTM_GETLINK, NULL, sizeof(struct ifinfomsg), 5, see, &asked, &whole);
	CHECK(err_is(err, EPERM) && whole, "%s", err ? errno_text(err) : "no error");
	nl_close(s);
}

/* --- Kinds and names --- */

static void put_kind(int ifindex, const char *kind, size_t length)
{
	struct nlmsghdr *m = put_message(true, RTM_NEWLINK, 0, &(struct ifinfomsg){ .ifi_index = ifindex },
					 sizeof(struct ifinfomsg));
	struct nlattr *nest;

	nl_put(m, IFLA_IFNAME, 5, "eth0");
	nest = nl_nest_begin(m, IFLA_LINKINFO);
	nl_put(m, IFLA_INFO_DATA, 3, "no");
	nl_put(m, IFLA_INFO_KIND, length, kind);
	nl_nest_end(m, nest);
	nest = nl_nest_begin(m, IFLA_AF_SPEC);
	nl_put(m, IFLA_INFO_KIND, 6, "other");
	nl_nest_end(m, nest);
	put_done(m);
}

static void kinds(void)
{
	char kind[NETLINK_KIND_MAX] = "before";

	begins();
	put_kind(6, "dummy", 6);
	put_kind(7, "wireguard", 10);
	put_kind(8, "veth", 5);
	put_end(true, NLMSG_DONE, 0);
	CHECK(!netlink_kind(7, kind) && !strcmp(kind, "wireguard") && !is_open, "'%s'", kind);
	at = 0;
	CHECK(!netlink_kind(9, kind) && !*kind, "'%s'", kind);
	begins();
	put_kind(7, "a23456789012345678901234567890", 30);
	put_end(true, NLMSG_DONE, -EIO);
	CHECK(err_is(netlink_kind(7, kind), EIO) && !strcmp(kind, "a23456789012345"), "'%s'", kind);
	begins();
	/* Without the NUL at its end. */
	put_kind(7, "vethx", 4);
	put_end(true, NLMSG_DONE, 0);
	CHECK(!netlink_kind(7, kind) && !strcmp(kind, "veth"), "'%s'", kind);
	bind_err = EPERM;
	CHECK(err_is(netlink_kind(7, kind), EPERM) && !*kind, "'%s'", kind);
}

/* Of which type a tun device is: behind its kind, as the kernel has it, or before that. */
static void tun_or_tap(void)
{
	static const struct {
		const char *kind, *is;
		unsigned char type;
		bool before;
	} each[] = { { "tun", "tun", IFF_TUN, false },
		     { "tun", "tap", IFF_TAP, false },
		     { "tun", "tap", IFF_TAP, true },
		     { "tun", "tun", 0, false },
		     { "vlan", "vlan", IFF_TAP, false } };
	char kind[NETLINK_KIND_MAX];
	struct nlattr *info, *data;
	struct nlmsghdr *m;

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		begins();
		m = put_message(true, RTM_NEWLINK, 0, &(struct ifinfomsg){ .ifi_index = 7 }, sizeof(struct ifinfomsg));
		info = nl_nest_begin(m, IFLA_LINKINFO);
		for (int part = 0; part < 2; part++)
			if (part == each[i].before)
				nl_put(m, IFLA_INFO_KIND, strlen(each[i].kind), each[i].kind);
			else {
				data = nl_nest_begin(m, IFLA_INFO_DATA);
				nl_put_u32(m, IFLA_TUN_OWNER, IFF_TAP);
				nl_put(m, IFLA_TUN_TYPE, each[i].type ? 1 : 0, &each[i].type);
				nl_nest_end(m, data);
			}
		nl_nest_end(m, info);
		put_done(m);
		put_end(true, NLMSG_ERROR, 0);
		CHECK(!netlink_kind(7, kind) && !strcmp(kind, each[i].is), "%zu: '%s'", i, kind);
	}
}

static void put_names(int ifindex, uint16_t list, const char *one, const char *other)
{
	struct nlmsghdr *m = put_message(true, RTM_NEWLINK, 0, &(struct ifinfomsg){ .ifi_index = ifindex },
					 sizeof(struct ifinfomsg));
	struct nlattr *nest = nl_nest_begin(m, list);

	nl_put(m, IFLA_ALT_IFNAME, strlen(one) + 1, one);
	nl_put(m, IFLA_ALT_IFNAME, strlen(other), other); /* without its end: none */
	nl_put(m, IFLA_IFNAME, strlen(other) + 1, other);
	nl_nest_end(m, nest);
	put_done(m);
}

#define LONG "a-name-of-16-chr"

static void other_names(void)
{
	char own[IF_NAMESIZE], longest[OTHER_NAME_MAX + 1];

	memset(longest, 'x', sizeof(longest));
	longest[OTHER_NAME_MAX] = '\0';
	begins();
	CHECK(is_other_name("lan0", own) && !strcmp(own, "eth0") && !asked, "'%s'", own);
	CHECK(!is_other_name("eth0", own), "its own");
	CHECK(!is_other_name("lan1", own) && !is_other_name("", own), "of nobody");
	CHECK(!is_other_name("lan0:1", own) && !is_other_name(LONG ":1", own), "with a label");
	CHECK(!is_other_name("fifteen-letters", own) && !asked, "looked for, where the C library has room");
	put_names(6, IFLA_PROP_LIST, "another-name-of-it", "xx");
	put_names(7, IFLA_PROP_LIST, LONG, longest + 1);
	put_names(8, IFLA_AF_SPEC, "another-kind-of-list", "xx");
	put_end(true, NLMSG_DONE, 0);
	flags_asked = 1;
	groups_asked = 1;
	CHECK(is_other_name(LONG, own) && !strcmp(own, "eth0") && asked == 1 && !is_open, "asked %u times", asked);
	CHECK(!flags_asked && !groups_asked, "flags %x, groups %x", (unsigned int)flags_asked, groups_asked);
	at = 0;
	CHECK(!is_other_name("another-kind-of-list", own), "of another list");
	at = 0;
	CHECK(!is_other_name(longest + 1, own) && asked == 3, "a text without an end, or of another kind");
	CHECK(!is_other_name(longest, own) && asked == 3, "one that is too long is asked for");
	at = 0;
	CHECK(!is_other_name("another-name-of-it", own), "of an interface that has gone");
	begins();
	put_names(7, IFLA_PROP_LIST, LONG, "xx");
	put_end(true, NLMSG_DONE, -EIO);
	CHECK(!is_other_name(LONG, own), "where not all were seen");
	socket_err = EMFILE;
	CHECK(!is_other_name(LONG, own), "where nothing can be asked");
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "sockets", opens },
		{ "a message that is longer than its room", receives },
		{ "all of a kind", dumps },
		{ "answers longer than usual", long_answers },
		{ "an answer that is too long", too_long },
		{ "all links", all_links },
		{ "every interface", every_interface },
		{ "what is asked", asks },
		{ "what changes meanwhile is asked for again", changes_meanwhile },
		{ "the first of them", first_of_them },
		{ "for so long", for_so_long },
		{ "one", one_of_them },
		{ "the first of them, where that fails", first_fails },
		{ "one link", one_link },
		{ "of what kind a link is", kinds },
		{ "a tun or a tap device", tun_or_tap },
		{ "other names", other_names },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
