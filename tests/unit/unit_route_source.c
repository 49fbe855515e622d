// SPDX-License-Identifier: GPL-2.0-only
/*
 * The thread that keeps a table of routes: what it joins, what it reads whole and when, and that whoever waits is told
 * of all that may have changed. Notices come over a socket of the test's own; what the kernel would answer is made up.
 */
#include <errno.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/netlink.h"
#include "feeds/route_source.h"
#include "ktap.h"

#define TABLE	   666
#define PATIENCE   60000 /* ms; only what fails takes so long */
#define ROUTES_MAX 8

/* What the kernel has, and says. The thread reads it only when it reads all, which each case waits for. */
static struct {
	struct {
		int family;
		uint32_t first, nexthop; /* first: the first 32 bits */
	} routes[ROUTES_MAX];
	int errs[2];			  /* of IPv4, and of IPv6 */
	int open_err, option_err, partly; /* partly: so many answers are not whole */
	bool no_force, no_nexthops;
} has;

static const char *no_call = ""; /* this one fails */

static bool works(const char *call)
{
	errno = EMFILE;
	return strcmp(call, no_call) != 0;
}

static void *given_calloc(size_t n, size_t size)
{
	return works("calloc") ? calloc(n, size) : NULL;
}

static int given_eventfd(unsigned int value, int flags)
{
	static bool second;

	second = !second;
	return works(second ? "first eventfd" : "second eventfd") ? eventfd(value, flags) : -1;
}

static int given_attributes(pthread_attr_t *how)
{
	return works("attributes") ? pthread_attr_init(how) : ENOMEM;
}

static int given_stack(pthread_attr_t *how, size_t bytes)
{
	return works("stack") ? pthread_attr_setstacksize(how, bytes) : EINVAL;
}

static int given_thread(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *arg)
{
	return works("thread") ? pthread_create(thread, how, run, arg) : EAGAIN;
}

static struct {
	unsigned int dumps[2], rooms;
	uint64_t groups;
	bool strict;
} seen;

static int notices[2] = { -1, -1 }; /* the kernel's end, and the thread's */
static atomic_int lost;		    /* what the next reading of them fails with */

struct nl_socket {
	int fd;
};

#define GROUP(n) (1ULL << (n))

static char message_room[1024];

static struct nlmsghdr *message(uint16_t type, int family, uint32_t first, uint32_t nexthop)
{
	struct nlmsghdr *m = nl_put_header(message_room);
	uint8_t bytes[16] = { (uint8_t)(first >> 24), (uint8_t)(first >> 16), (uint8_t)(first >> 8), (uint8_t)first };
	struct rtmsg *header;

	m->nlmsg_type = type;
	header = nl_put_extra(m, sizeof(*header));
	header->rtm_family = family == 4 ? AF_INET : AF_INET6;
	header->rtm_dst_len = 32;
	header->rtm_table = RT_TABLE_COMPAT;
	header->rtm_type = RTN_BLACKHOLE;
	nl_put_u32(m, RTA_TABLE, TABLE);
	nl_put(m, RTA_DST, family == 4 ? 4 : 16, bytes);
	if (nexthop)
		nl_put_u32(m, RTA_NH_ID, nexthop);
	return m;
}

static int given_open(struct nl_socket **socket, int family, int flags, unsigned int groups)
{
	if (family != NETLINK_ROUTE || groups)
		abort();
	*socket = NULL;
	if (has.open_err || (!(flags & SOCK_NONBLOCK) && !works("second socket")))
		return because(has.open_err ?: -EMFILE, "no netlink");
	*socket = calloc(1, sizeof(**socket));
	if (!*socket)
		abort();
	(*socket)->fd = flags & SOCK_NONBLOCK ? dup(notices[1]) : -1;
	return 0;
}

static void given_close(struct nl_socket *socket)
{
	if (socket->fd >= 0)
		close(socket->fd);
	free(socket);
}

static int given_fd(const struct nl_socket *socket)
{
	return socket->fd;
}

static int given_option(const struct nl_socket *socket, int option, const void *value, size_t size)
{
	unsigned int is = *(const unsigned int *)value;

	if (size != sizeof(is))
		abort();
	if (socket->fd < 0) {
		seen.strict = option == NETLINK_GET_STRICT_CHK && is == 1;
		return 0;
	}
	if (option == NETLINK_ADD_MEMBERSHIP && is < 64)
		seen.groups |= GROUP(is);
	errno = has.no_nexthops && is == RTNLGRP_NEXTHOP ? EINVAL : -has.option_err;
	return errno ? -1 : 0;
}

static int given_setsockopt(int fd, int level, int option, const void *value, socklen_t size)
{
	if (fd < 0 || level != SOL_SOCKET || size != sizeof(int) || *(const int *)value < 1 << 20)
		abort();
	seen.rooms |= option == SO_RCVBUFFORCE ? 1 : option == SO_RCVBUF ? 2 : 4;
	return has.no_force && option == SO_RCVBUFFORCE ? -1 : 0;
}

static int given_dump(struct nl_socket *socket, uint16_t kind, const void *request, size_t size, netlink_each_fn *each,
		      void *arg, bool *whole)
{
	const struct rtmsg *header = request;
	const struct nlattr *at = (const struct nlattr *)(header + 1);
	int family = header->rtm_family == AF_INET ? 4 : header->rtm_family == AF_INET6 ? 6 : 0;

	if (socket->fd >= 0 || kind != RTM_GETROUTE || size != sizeof(*header) + 8 || at->nla_type != RTA_TABLE ||
	    at->nla_len != 8 || *(const uint32_t *)(at + 1) != TABLE || !family || !seen.strict)
		abort();
	seen.dumps[family == 6]++;
	*whole = !has.partly;
	has.partly -= has.partly > 0;
	if (has.errs[family == 6])
		return has.errs[family == 6];
	for (size_t i = 0; i < ROUTES_MAX; i++)
		if (has.routes[i].family == family)
			each(arg, message(RTM_NEWROUTE, family, has.routes[i].first, has.routes[i].nexthop));
	return 0;
}

static int given_recvmmsg(int fd, struct mmsghdr *messages, unsigned int n, int flags, struct timespec *time)
{
	errno = atomic_exchange(&lost, 0);
	return errno ? -1 : recvmmsg(fd, messages, n, flags, time);
}

#define calloc			  given_calloc
#define eventfd			  given_eventfd
#define pthread_attr_init	  given_attributes
#define pthread_attr_setstacksize given_stack
#define pthread_create		  given_thread
#define netlink_open		  given_open
#define nl_close		  given_close
#define nl_fd			  given_fd
#define nl_option		  given_option
#define netlink_dump_once	  given_dump
#define setsockopt		  given_setsockopt
#define recvmmsg		  given_recvmmsg
#include "feeds/route_source.c"
#undef recvmmsg
#undef calloc

static struct route_source *s;
static unsigned int readings; /* when it was told last */

static int opened(int family)
{
	const struct route_wish wish = { .table = TABLE, .family = family, .types = 1 << RTN_BLACKHOLE };

	memset(&seen, 0, sizeof(seen));
	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, notices))
		abort();
	return route_source_open(&s, &wish, 0);
}

static void closed(void)
{
	route_source_close(s);
	close(notices[0]);
	close(notices[1]);
	memset(&has, 0, sizeof(has));
}

static void notice(const struct nlmsghdr *m)
{
	if (send(notices[0], m, m->nlmsg_len, 0) < 0)
		abort();
}

/* Waits until it is told, and that so many are there. */
static bool told(size_t here, const char *what)
{
	struct pollfd fds = { .fd = route_source_fd(s), .events = POLLIN };
	size_t is = SIZE_MAX;

	do {
		struct route_table *t;
		int err = 0;

		if (!CHECK(poll(&fds, 1, PATIENCE) == 1, "%s: it is not told; %zu are there", what, is))
			return false;
		t = route_source_take(s, &err);
		if (!CHECK(t, "%s: %s", what, reason(err)))
			return false;
		is = t->here;
		readings = route_source_readings(s);
		route_source_give(s);
	} while (is != here);
	return true;
}

/* Waits until it has been read so often, and who waits was told of that. */
static bool read_again(unsigned int times, size_t here, const char *what)
{
	do {
		if (!told(here, what))
			return false;
	} while (readings < times);
	return CHECK(readings == times, "%s: read %u times", what, readings);
}

/* --- What it joins, and reads at first --- */

static void joins(void)
{
	static const struct {
		int family;
		uint64_t groups;
		unsigned int dumps4, dumps6;
	} cases[] = {
		{ 0, GROUP(RTNLGRP_IPV4_ROUTE) | GROUP(RTNLGRP_IPV6_ROUTE) | GROUP(RTNLGRP_NEXTHOP), 1, 1 },
		{ 4, GROUP(RTNLGRP_IPV4_ROUTE) | GROUP(RTNLGRP_NEXTHOP), 1, 0 },
		{ 6, GROUP(RTNLGRP_IPV6_ROUTE) | GROUP(RTNLGRP_NEXTHOP), 0, 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		has.no_nexthops = has.no_force = i;
		CHECK(!opened(cases[i].family), "case %zu: not opened", i);
		CHECK(route_source_fd(s) == s->told && s->told > STDERR_FILENO, "case %zu: told by %d", i,
		      route_source_fd(s));
		CHECK(seen.groups == cases[i].groups, "case %zu: groups %" PRIx64, i, seen.groups);
		CHECK(seen.dumps[0] == cases[i].dumps4 && seen.dumps[1] == cases[i].dumps6, "case %zu: %u, %u dumps", i,
		      seen.dumps[0], seen.dumps[1]);
		CHECK(seen.rooms == (i ? 3 : 1), "case %zu: rooms %u", i, seen.rooms);
		CHECK(route_source_readings(s) == 1, "case %zu: %u readings", i, route_source_readings(s));
		closed();
	}
}

static void refused(int err, const char *text)
{
	CHECK(err && !strcmp(reason(err), text), "'%s', not '%s'", err ? reason(err) : "no error", text);
	closed();
}

static void fails(void)
{
	static const char *const calls[][2] = {
		{ "first eventfd", "the routes of table 666: Too many open files" },
		{ "second eventfd", "the routes of table 666: Too many open files" },
		{ "second socket", "the routes of table 666: no netlink" },
		{ "attributes", "the routes of table 666: Cannot allocate memory" },
		{ "stack", "the routes of table 666: Invalid argument" },
		{ "thread", "the routes of table 666: Resource temporarily unavailable" },
	};

	has.open_err = -EPERM;
	refused(opened(0), "the routes of table 666: no netlink");
	has.option_err = -ENOBUFS;
	refused(opened(0), "the routes of table 666: netlink: No buffer space available");
	has.errs[0] = -EIO;
	refused(opened(0), "the routes of table 666: Input/output error");
	has.errs[1] = -EIO;
	refused(opened(0), "the routes of table 666: Input/output error");
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		no_call = calls[i][0];
		refused(opened(0), calls[i][1]);
		no_call = "";
	}
	no_call = "calloc";
	CHECK(err_is(opened(0), ENOMEM) && !s, "it is open without memory");
	no_call = "";
	closed();
	/* No such table, and no such family. */
	for (int i = 0; i < 3; i++) {
		static const int none[] = { -ENOENT, -EAFNOSUPPORT, -EOPNOTSUPP };

		has.errs[0] = has.errs[1] = none[i];
		CHECK(!opened(0), "%s is an error", errno_text(none[i]));
		closed();
	}
	route_source_close(NULL);
}

/* An answer that is not whole is asked for again, a few times; then it is taken for what it is, and read again later.
 */
static void partly(void)
{
	has.routes[0].family = 4;
	has.partly = 3;
	CHECK(!opened(4) && seen.dumps[0] == 4 && s->table.here == 1, "%u dumps", seen.dumps[0]);
	CHECK(s->read_at == INT64_MAX, "it is read again");
	closed();
	has.routes[0].family = has.routes[1].family = 4;
	has.routes[1].first = 0x2d000001;
	has.partly = 4;
	CHECK(!opened(4) && seen.dumps[0] == 4, "%u dumps", seen.dumps[0]);
	read_again(2, 2, "what was not whole");
	closed();
}

/* Later is a second behind the end of the reading. */
static void again_later(void)
{
	struct route_source is = { .wish = { TABLE, 4, 1 << RTN_BLACKHOLE }, .gap = true };

	if (routes_begin(&is.table, 0))
		abort();
	has.routes[0].family = 4;
	has.partly = DUMPS;
	CHECK(!read_all(&is) && is.maybe && !is.gap && is.read_end && is.read_at == is.read_end + 1000,
	      "it is read again at %" PRId64 ", read at %" PRId64, is.read_at, is.read_end);
	CHECK(!read_all(&is) && !is.maybe && is.read_at == INT64_MAX && is.readings == 2, "read %u times", is.readings);
	routes_end(&is.table);
	memset(&has, 0, sizeof(has));
}

/* --- What it is told --- */

static void comes_and_goes(void)
{
	struct nlmsghdr *m;
	uint64_t elsewhere;

	if (!CHECK(!opened(0), "not opened"))
		return;
	notice(message(RTM_NEWROUTE, 4, 0x2d000001, 0));
	notice(message(RTM_NEWROUTE, 6, 0x2a000001, 0));
	told(2, "two come");
	notice(message(RTM_DELROUTE, 4, 0x2d000001, 0));
	told(1, "one goes");
	elsewhere = route_source_elsewhere(s);
	/* Of another table. */
	m = message(RTM_NEWROUTE, 4, 0x2d000002, 0);
	*(uint32_t *)nl_attr_payload((struct nlattr *)((char *)nl_payload(m) + sizeof(struct rtmsg))) = 667;
	notice(m);
	notice(message(RTM_NEWROUTE, 4, 0x2d000003, 0));
	told(2, "one comes");
	CHECK(route_source_elsewhere(s) == elsewhere + 1, "elsewhere %" PRIu64 ", before %" PRIu64,
	      route_source_elsewhere(s), elsewhere);
	CHECK(readings == 1, "%u readings", readings);
	closed();
	if (!CHECK(!opened(4), "not opened"))
		return;
	CHECK(!route_source_elsewhere(s), "one family alone says nothing of others");
	closed();
}

static struct nlmsghdr *nexthop(uint16_t type, uint16_t flags)
{
	struct nlmsghdr *m = nl_put_header(message_room);

	m->nlmsg_type = type;
	m->nlmsg_flags = flags;
	nl_put_extra(m, sizeof(struct nhmsg));
	return m;
}

/* Nothing is said of the routes themselves: all are read again, and who waits is told when that is done. */
static void nexthops(void)
{
	has.routes[0].family = has.routes[1].family = 4;
	has.routes[0].nexthop = 5;
	has.routes[1].first = 0x2d000001;
	if (!CHECK(!opened(0), "not opened"))
		return;
	has.routes[0].family = 0;
	notice(nexthop(RTM_NEWNEXTHOP, 0));
	notice(message(RTM_NEWROUTE, 6, 0x2a000001, 0));
	told(3, "a nexthop comes");
	CHECK(!s->maybe && s->read_at == INT64_MAX, "a new nexthop: all is read again");
	notice(nexthop(RTM_DELNEXTHOP, 0));
	read_again(2, 1, "a nexthop goes");
	CHECK(!s->maybe && s->read_at == INT64_MAX, "it is read once more");
	has.routes[0].family = 4;
	notice(nexthop(RTM_NEWNEXTHOP, NLM_F_REPLACE));
	read_again(3, 2, "a nexthop is replaced");
	closed();
	/* No route goes by one. */
	if (!CHECK(!opened(0), "not opened"))
		return;
	notice(nexthop(RTM_DELNEXTHOP, 0));
	notice(message(RTM_NEWROUTE, 4, 0x2d000001, 0));
	told(1, "one comes");
	CHECK(!s->maybe && s->read_at == INT64_MAX, "a nexthop of nobody: all is read again");
	closed();
}

/* Soon after a gap; where something only may have changed, not before ten times what reading takes. */
static void planned(void)
{
	static const struct {
		bool gap, maybe;
		int64_t read_at, took, at;
	} cases[] = {
		{ false, false, INT64_MAX, 50, INT64_MAX },
		{ false, false, 1800, 50, 1800 },
		{ false, true, INT64_MAX, 50, 1500 },
		{ false, true, INT64_MAX, 5, 1110 },
		{ false, true, INT64_MAX, 12, 1120 },
		{ false, true, 1800, 50, 1800 },
		{ true, false, INT64_MAX, 50, 1110 },
		{ true, true, INT64_MAX, 50, 1110 },
		{ true, false, 1800, 50, 1110 },
		{ true, false, 1050, 50, 1050 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct route_source is = { .gap = cases[i].gap,
					   .maybe = cases[i].maybe,
					   .read_at = cases[i].read_at,
					   .read_end = 1000,
					   .took = cases[i].took };

		plan_reading(&is, 1010);
		CHECK(is.read_at == cases[i].at, "case %zu: at %" PRId64 ", not %" PRId64, i, is.read_at, cases[i].at);
	}
}

/* Notices that had no room, or not all of one. */
static void gaps(void)
{
	static char large[8192];
	struct nlmsghdr *m;

	if (!CHECK(!opened(0), "not opened"))
		return;
	has.routes[0].family = 4;
	has.routes[1].family = 6;
	atomic_store(&lost, ENOBUFS);
	notice(message(RTM_NEWROUTE, 4, 0x2d000001, 0));
	read_again(2, 2, "notices are lost");
	has.routes[1].family = 0;
	m = memcpy(large, message(RTM_NEWROUTE, 4, 0x2d000002, 0), message(RTM_NEWROUTE, 4, 0x2d000002, 0)->nlmsg_len);
	m->nlmsg_len = sizeof(large);
	notice(m);
	read_again(3, 1, "one is cut");
	atomic_store(&lost, EINTR);
	notice(message(RTM_NEWROUTE, 4, 0x2d000003, 0));
	told(2, "one that is interrupted");
	CHECK(readings == 3, "%u readings", readings);
	closed();
}

static void ends(const char *text)
{
	struct pollfd fds = { .fd = route_source_fd(s), .events = POLLIN };
	struct route_table *t;
	int err = 0;

	do {
		if (!CHECK(poll(&fds, 1, PATIENCE) == 1, "nobody is told that it has ended"))
			return;
		t = route_source_take(s, &err);
		if (t)
			route_source_give(s);
	} while (t);
	CHECK(!strcmp(reason(err), text), "'%s', not '%s'", reason(err), text);
	closed();
}

static void cannot_go_on(void)
{
	if (!CHECK(!opened(0), "not opened"))
		return;
	atomic_store(&lost, EBADF);
	notice(message(RTM_NEWROUTE, 4, 0x2d000001, 0));
	ends("the routes of table 666: reading: Bad file descriptor");
	if (!CHECK(!opened(0), "not opened"))
		return;
	has.errs[0] = -EIO;
	atomic_store(&lost, ENOBUFS);
	notice(message(RTM_NEWROUTE, 4, 0x2d000001, 0));
	ends("the routes of table 666: reading: Input/output error");
	if (!CHECK(!opened(0), "not opened"))
		return;
	has.errs[1] = -ENOMEM;
	atomic_store(&lost, ENOBUFS);
	notice(message(RTM_NEWROUTE, 4, 0x2d000001, 0));
	ends("the routes of table 666: no memory for its routes: Cannot allocate memory");
}

/* --- What one notice says --- */

/* One notice after the other, and what is known then. */
static void judged(void)
{
	static const struct {
		const char *what;
		uint16_t type, flags;
		uint8_t kind, last; /* last: of the address */
		uint32_t nexthop;
		const char *known;
	} steps[] = {
		{ "another type", RTM_NEWROUTE, 0, RTN_UNICAST, 1, 0, "0 here, 1 elsewhere, others" },
		{ "one of ours", RTM_NEWROUTE, 0, RTN_BLACKHOLE, 1, 0, "1 here, 1 elsewhere, others" },
		{ "another goes", RTM_DELROUTE, 0, RTN_UNICAST, 1, 0, "1 here, 2 elsewhere, others" },
		{ "ours goes", RTM_DELROUTE, 0, RTN_BLACKHOLE, 1, 0, "0 here, 2 elsewhere, others" },
		{ "a nexthop goes", RTM_DELNEXTHOP, 0, 0, 0, 0, "0 here, 3 elsewhere, others" },
		{ "one by a nexthop", RTM_NEWROUTE, 0, RTN_BLACKHOLE, 2, 5, "1 here, 3 elsewhere, nexthop, others" },
		{ "a nexthop comes", RTM_NEWNEXTHOP, 0, 0, 0, 0, "1 here, 4 elsewhere, nexthop, others" },
		{ "a nexthop goes", RTM_DELNEXTHOP, 0, 0, 0, 0, "1 here, 5 elsewhere, maybe, nexthop, others" },
		{ NULL, 0, 0, 0, 0, 0, "0 here, 0 elsewhere" },
		{ "one of ours", RTM_NEWROUTE, 0, RTN_BLACKHOLE, 3, 0, "1 here, 0 elsewhere" },
		{ "ours in its place", RTM_NEWROUTE, NLM_F_REPLACE, RTN_BLACKHOLE, 3, 0, "1 here, 0 elsewhere" },
		{ "another in its place", RTM_NEWROUTE, NLM_F_REPLACE, RTN_UNICAST, 3, 0,
		  "0 here, 1 elsewhere, others" },
		{ "in place of nothing", RTM_NEWROUTE, NLM_F_REPLACE, RTN_UNICAST, 4, 0,
		  "0 here, 2 elsewhere, others" },
		{ "one of ours", RTM_NEWROUTE, 0, RTN_BLACKHOLE, 5, 0, "1 here, 2 elsewhere, others" },
		{ "among others", RTM_NEWROUTE, NLM_F_REPLACE, RTN_BLACKHOLE, 5, 0,
		  "1 here, 2 elsewhere, gap, others" },
		{ "ours goes", RTM_DELROUTE, 0, RTN_BLACKHOLE, 5, 0, "0 here, 2 elsewhere, gap, others" },
		{ NULL, 0, 0, 0, 0, 0, "0 here, 0 elsewhere" },
		{ "one of ours", RTM_NEWROUTE, 0, RTN_BLACKHOLE, 6, 0, "1 here, 0 elsewhere" },
		{ "its twin", RTM_NEWROUTE, NLM_F_APPEND, RTN_BLACKHOLE, 6, 0, "1 here, 0 elsewhere" },
		{ "one of them goes", RTM_DELROUTE, 0, RTN_BLACKHOLE, 6, 0, "0 here, 0 elsewhere, gap" },
	};
	struct route_source is = { .wish = { TABLE, 0, 1 << RTN_BLACKHOLE } };

	if (routes_begin(&is.table, 0))
		abort();
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct nlmsghdr *m = message(steps[i].type, 4, 0x2d000000 | steps[i].last, steps[i].nexthop);
		char text[100];

		((struct rtmsg *)nl_payload(m))->rtm_type = steps[i].kind;
		m->nlmsg_flags = steps[i].flags;
		if (!steps[i].what) {
			routes_end(&is.table);
			is = (struct route_source){ .wish = is.wish };
			if (routes_begin(&is.table, 0))
				abort();
		} else if (take(&is, m, 1000 + (int64_t)i)) {
			abort();
		}
		snprintf(text, sizeof(text), "%zu here, %" PRIu64 " elsewhere%s%s%s%s", is.table.here, is.elsewhere,
			 is.gap ? ", gap" : "", is.maybe ? ", maybe" : "", is.by_nexthop ? ", nexthop" : "",
			 is.others ? ", others" : "");
		CHECK(!strcmp(text, steps[i].known), "%zu, %s: '%s', not '%s'", i, steps[i].what ?: "anew", text,
		      steps[i].known);
	}
	routes_end(&is.table);
}

/* What is no route that is wanted, by one thing each. */
static void not_wanted(void)
{
	static const struct route_wish wish = { TABLE, 0, 1 << RTN_BLACKHOLE }, four = { TABLE, 4, 1 << RTN_BLACKHOLE },
				       all = { TABLE, 0, ~0ULL };
	struct nlmsghdr *m;
	struct rtmsg *h;
	struct route r;

#define ANEW(family)                                              \
	do {                                                      \
		m = message(RTM_NEWROUTE, family, 0x2d010203, 0); \
		h = nl_payload(m);                                \
	} while (0)
	ANEW(4);
	CHECK(route_read(&r, &wish, m) == SAYS_HERE && r.family == 4 && r.length == 32 && r.type == RTN_BLACKHOLE,
	      "IPv4");
	CHECK(route_read(&r, &four, m) == SAYS_HERE, "IPv4 alone");
	m->nlmsg_len = NLMSG_HDRLEN + sizeof(*h) - 1;
	CHECK(route_read(&r, &wish, m) == SAYS_NOTHING, "it is cut");
	m->nlmsg_len = NLMSG_HDRLEN + sizeof(*h);
	CHECK(route_read(&r, &wish, m) == SAYS_NOTHING, "it is of another table");
	h->rtm_table = 7;
	CHECK(route_read(&r, &(struct route_wish){ 7, 0, ~0ULL }, m) == SAYS_HERE && !r.first, "it is of that table");
	ANEW(6);
	h->rtm_dst_len = 128;
	h->rtm_tos = 4;
	h->rtm_protocol = 9;
	CHECK(route_read(&r, &wish, m) == SAYS_HERE && r.family == 6 && r.first == (ip6)0x2d010203 << 96 &&
		      r.tos == 4 && r.protocol == 9 && !r.has && !r.metric,
	      "IPv6");
	CHECK(route_read(&r, &four, m) == SAYS_NOTHING, "IPv6, and not wanted");
	h->rtm_dst_len = 129;
	CHECK(route_read(&r, &wish, m) == SAYS_NOTHING, "a length of 129");
	ANEW(4);
	h->rtm_dst_len = 33;
	CHECK(route_read(&r, &wish, m) == SAYS_NOTHING, "a length of 33");
	ANEW(4);
	h->rtm_family = AF_UNIX;
	CHECK(route_read(&r, &wish, m) == SAYS_NOTHING, "another family");
	ANEW(4);
	h->rtm_src_len = 1;
	CHECK(route_read(&r, &wish, m) == SAYS_NOTHING, "from somewhere");
	ANEW(6);
	h->rtm_flags = RTM_F_CLONED;
	CHECK(route_read(&r, &wish, m) == SAYS_NOTHING, "a copy");
	ANEW(4);
	m->nlmsg_type = RTM_NEWADDR;
	CHECK(route_read(&r, &wish, m) == SAYS_NOTHING, "an address");
	for (int type = 62; type < 66; type++) {
		ANEW(4);
		h->rtm_type = (uint8_t)type;
		CHECK(route_read(&r, &all, m) == (type < 64 ? SAYS_HERE : SAYS_OTHER), "type %d", type);
	}
	/* Too short to be what they are called. */
	ANEW(4);
	nl_put(m, RTA_PRIORITY, 3, "abc");
	nl_put(m, RTA_TABLE, 3, "abc");
	nl_put(m, RTA_DST, 3, "abc");
	CHECK(route_read(&r, &wish, m) == SAYS_HERE && !r.metric && !r.first, "short attributes");
	ANEW(4);
	nl_put_u32(m, RTA_PRIORITY, 0x01020304);
	CHECK(route_read(&r, &wish, m) == SAYS_HERE && r.metric == 0x01020304 && r.first == 0x2d010203, "its metric");
#undef ANEW
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "what it joins", joins },
		{ "what fails at first", fails },
		{ "answers that are not whole", partly },
		{ "what is read again later", again_later },
		{ "routes that come and go", comes_and_goes },
		{ "nexthops", nexthops },
		{ "when all is read again", planned },
		{ "notices that are lost", gaps },
		{ "what cannot go on", cannot_go_on },
		{ "what one notice says", judged },
		{ "what is not wanted", not_wanted },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
