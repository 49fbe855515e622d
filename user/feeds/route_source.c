// SPDX-License-Identifier: GPL-2.0-only
#include "feeds/route_source.h"

#include <errno.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/close_fd.h"
#include "base/log.h"
#include "base/netlink.h"

/* A notice takes about a kilobyte of it: what a daemon that starts sends in a tenth of a second, and more. */
#define ROOM (64 << 20)
/* Notices that are read at once. */
#define AT_ONCE	    64
#define NOTICE_MOST 4096
#define STACK	    (AT_ONCE * NOTICE_MOST + (768 << 10))
/* After a gap: what changes now is let pass first. And so long after a reading that was interrupted. */
#define QUIET_MS 100
#define AGAIN_MS 1000
/* Where something only may have changed, reading takes no more than such a part of the time. */
#define SPARED 10
/* Of IPv4 and IPv6 the kernel is asked so often, at most, before what it said is taken for what it is: not all. */
#define DUMPS 4

struct route_source {
	struct route_wish wish;
	struct nl_socket *notices;
	int told, ends; /* eventfds: to whoever takes the table, and to the thread */
	pthread_t thread;
	bool running, locked;
	pthread_mutex_t lock; /* for what follows */
	struct route_table table;
	struct route other; /* one of another type, where there are others */
	unsigned int readings;
	uint64_t elsewhere; /* how often something changed that may be another's gateway */
	int err;
	const char *where; /* it failed */
	/* The thread's own. */
	bool gap, maybe; /* something was lost; or may have changed without a word */
	bool full;	 /* the kernel drops notices, and does not say it again, until all that wait are read */
	bool by_nexthop; /* such routes were seen: they may become blackholes, too */
	bool others;	 /* routes of other types were seen in the table */
	int64_t read_at; /* ms, when all is read again */
	int64_t read_end, took;
};

/* --- What messages say --- */

static ip6 address_of(const struct nlattr *at, int family)
{
	const uint8_t *bytes = nl_attr_payload(at);
	size_t n = family == 4 ? 4 : 16;
	ip6 num = 0;

	if (nl_attr_len(at) < n)
		return 0;
	for (size_t i = 0; i < n; i++)
		num = num << 8 | bytes[i];
	return num;
}

static bool has_u32(const struct nlattr *at)
{
	return nl_attr_len(at) >= sizeof(uint32_t);
}

/* Nexthops take routes with them, and of IPv4 nothing is said of these. One may become a blackhole, too. */
static enum route_says read_nexthop(const struct nlmsghdr *m)
{
	return m->nlmsg_type == RTM_DELNEXTHOP || m->nlmsg_flags & NLM_F_REPLACE ? SAYS_MAYBE : SAYS_NOTHING;
}

enum route_says route_read(struct route *r, const struct route_wish *wish, const struct nlmsghdr *m)
{
	const struct rtmsg *header = nl_payload(m);
	unsigned int table;
	const struct nlattr *at;
	bool wanted;

	if (m->nlmsg_type == RTM_DELNEXTHOP || m->nlmsg_type == RTM_NEWNEXTHOP)
		return read_nexthop(m);
	if ((m->nlmsg_type != RTM_NEWROUTE && m->nlmsg_type != RTM_DELROUTE) || nl_payload_len(m) < sizeof(*header))
		return SAYS_NOTHING;
	*r = (struct route){ .family = header->rtm_family == AF_INET	? 4
				       : header->rtm_family == AF_INET6 ? 6
									: 0,
			     .length = header->rtm_dst_len,
			     .tos = header->rtm_tos,
			     .type = header->rtm_type,
			     .protocol = header->rtm_protocol };
	/* What is from somewhere only is no ban; what is a copy goes with what it is of. */
	if (!r->family || (wish->family && wish->family != r->family) || r->length > addr_width(r->family) ||
	    header->rtm_src_len || header->rtm_flags & RTM_F_CLONED)
		return SAYS_NOTHING;
	table = header->rtm_table;
	nl_each (at, m, sizeof(*header)) {
		if (nl_attr_type(at) == RTA_TABLE && has_u32(at))
			table = nl_attr_u32(at);
		else if (nl_attr_type(at) == RTA_DST)
			r->first = address_of(at, r->family);
		else if (nl_attr_type(at) == RTA_PRIORITY && has_u32(at))
			r->metric = nl_attr_u32(at);
		else if (nl_attr_type(at) == RTA_NH_ID)
			r->has |= ROUTE_BY_NEXTHOP;
	}
	if (table != wish->table)
		return SAYS_NOTHING;
	r->first &= ~addr_mask(r->family, r->length);
	if (r->family == 4)
		r->first = (uint32_t)r->first;
	wanted = r->type < 64 && wish->types >> r->type & 1;
	if (m->nlmsg_type == RTM_DELROUTE)
		return wanted ? SAYS_GONE : SAYS_NOTHING;
	if (m->nlmsg_flags & NLM_F_APPEND)
		r->has |= ROUTE_TWIN;
	if (m->nlmsg_flags & NLM_F_REPLACE)
		return wanted ? SAYS_TAKES_PLACE : SAYS_REPLACED;
	return wanted ? SAYS_HERE : SAYS_OTHER;
}

/* The kernel replaces the first of those in that place, whatever it is, and does not say which that was. */
static void replaced(struct route_source *s, const struct route *r, int64_t now)
{
	size_t n = routes_replaced(&s->table, r, now);

	s->gap = s->gap || n > 1 || (n && s->others);
}

/* With the lock. 0 or -ENOMEM. */
static int take(struct route_source *s, const struct nlmsghdr *m, int64_t now)
{
	struct route r;

	enum route_says says = route_read(&r, &s->wish, m);

	s->elsewhere += says == SAYS_NOTHING || says == SAYS_MAYBE || says == SAYS_OTHER || says == SAYS_REPLACED;
	if (says == SAYS_MAYBE)
		s->maybe = s->maybe || s->by_nexthop;
	if (says == SAYS_NOTHING || says == SAYS_MAYBE)
		return 0;
	s->by_nexthop = s->by_nexthop || r.has & ROUTE_BY_NEXTHOP;
	if (says == SAYS_GONE)
		s->gap = !routes_drop(&s->table, &r, now) || s->gap;
	if (says == SAYS_REPLACED || says == SAYS_TAKES_PLACE)
		replaced(s, &r, now);
	if (!s->others && (says == SAYS_OTHER || says == SAYS_REPLACED)) {
		s->others = true;
		s->other = r;
	}
	return says == SAYS_HERE || says == SAYS_TAKES_PLACE ? routes_put(&s->table, &r, now) : 0;
}

/* --- Reading all of it --- */

struct reading {
	struct route_source *source;
	int err;
};

static void on_route(void *arg, const struct nlmsghdr *message)
{
	struct reading *r = arg;

	/* A dump's answers are told apart by no flags. */
	if (!r->err)
		r->err = take(r->source, message, clock_ms());
}

static int ask(struct nl_socket *socket, const struct route_wish *wish, int family, struct reading *r, bool *whole)
{
	struct {
		struct rtmsg header;
		struct nlattr at;
		uint32_t table;
	} request = { .header = { .rtm_family = family == 4 ? AF_INET : AF_INET6 },
		      .at = { sizeof(struct nlattr) + sizeof(uint32_t), RTA_TABLE },
		      .table = wish->table };
	int err = netlink_dump_once(socket, RTM_GETROUTE, &request, sizeof(request), on_route, r, whole);

	/* There is no such table yet; and a kernel without IPv6 has no such family. */
	return err_is(err, ENOENT) || err_is(err, EAFNOSUPPORT) || err_is(err, EOPNOTSUPP) ? 0 : err;
}

/* With the lock. An answer that was interrupted says what is there, and nothing of what is not. */
static int read_all(struct route_source *s)
{
	struct reading r = { .source = s };
	struct nl_socket *socket;
	int64_t began = clock_ms();
	bool whole = false;
	int err = netlink_open(&socket, NETLINK_ROUTE, 0, 0);

	if (err)
		return err;
	/* Only this table; where the kernel does not know that, all are read. */
	nl_option(socket, NETLINK_GET_STRICT_CHK, &(int){ 1 }, sizeof(int));
	s->others = false;
	for (int i = 0; i < DUMPS && !whole && !err && !r.err; i++) {
		bool whole4 = true, whole6 = true;

		routes_read_begin(&s->table);
		err = (s->wish.family == 6 ? 0 : ask(socket, &s->wish, 4, &r, &whole4))
			      ?: (s->wish.family == 4 ? 0 : ask(socket, &s->wish, 6, &r, &whole6));
		whole = whole4 && whole6;
	}
	nl_close(socket);
	s->readings++;
	err = err ?: r.err;
	routes_read_end(&s->table, whole && !err, clock_ms());
	if (err)
		return err;
	s->read_end = clock_ms();
	s->took = s->read_end - began;
	s->gap = false;
	s->maybe = !whole;
	s->read_at = whole ? INT64_MAX : s->read_end + AGAIN_MS;
	return 0;
}

/* --- The thread --- */

static void tell(int fd)
{
	uint64_t one = 1;

	if (write(fd, &one, sizeof(one)) < 0)
		return; /* it is full: it is told already */
}

static void plan_reading(struct route_source *s, int64_t now)
{
	int64_t spared = s->read_end + SPARED * s->took, soon = now + QUIET_MS;

	if (s->maybe && s->read_at == INT64_MAX)
		s->read_at = spared > soon ? spared : soon;
	if (s->gap && s->read_at > soon)
		s->read_at = soon;
}

static void *keep_up(void *arg)
{
	struct route_source *s = arg;
	char buffers[AT_ONCE][NOTICE_MOST] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct iovec parts[AT_ONCE];
	struct mmsghdr messages[AT_ONCE];
	struct pollfd fds[] = { { .fd = nl_fd(s->notices), .events = POLLIN }, { .fd = s->ends, .events = POLLIN } };
	int err = 0;

	memset(messages, 0, sizeof(messages));
	for (int i = 0; i < AT_ONCE; i++) {
		parts[i].iov_base = buffers + i;
		parts[i].iov_len = NOTICE_MOST;
		messages[i].msg_hdr.msg_iov = &parts[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	while (!err && !fds[1].revents) {
		int64_t now = clock_ms();
		int n, why, wait = s->read_at == INT64_MAX ? -1 : s->read_at > now ? (int)(s->read_at - now) : 0;
		bool gap, reads;

		if (poll(fds, 2, s->full ? 0 : wait) < 0 && errno != EINTR)
			err = -errno;
		n = recvmmsg(fds[0].fd, messages, AT_ONCE, MSG_DONTWAIT, NULL);
		why = n < 0 ? errno : 0;
		gap = why == ENOBUFS;
		s->full = gap || (s->full && why != EAGAIN);
		if (why && !gap && why != EAGAIN && why != EINTR)
			err = -why;
		pthread_mutex_lock(&s->lock);
		now = clock_ms();
		s->gap = s->gap || gap;
		s->elsewhere += gap;
		for (int i = 0; i < n && !err; i++) {
			const struct nlmsghdr *m = (const struct nlmsghdr *)buffers[i];
			int left = (int)messages[i].msg_len;

			s->gap = s->gap || messages[i].msg_hdr.msg_flags & MSG_TRUNC;
			for (; nl_ok(m, left) && !err; m = nl_next(m, &left))
				err = take(s, m, now);
		}
		plan_reading(s, now);
		/* Notices that wait come after what is read now, and say it again. */
		reads = !err && now >= s->read_at && !s->full;
		if (reads)
			err = read_all(s);
		s->err = err;
		s->where = err_is(err, ENOMEM) ? "no memory for its routes" : "reading";
		pthread_mutex_unlock(&s->lock);
		if (n > 0 || gap || reads || err)
			tell(s->told);
	}
	return NULL;
}

/* --- For others --- */

static int join(struct route_source *s)
{
	static const unsigned int groups[] = { RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE, RTNLGRP_NEXTHOP };
	int err = netlink_open(&s->notices, NETLINK_ROUTE, SOCK_NONBLOCK, 0), fd;

	if (err)
		return err;
	fd = nl_fd(s->notices);
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &(int){ ROOM }, sizeof(int)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &(int){ ROOM }, sizeof(int));
	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		if ((s->wish.family == 6 && groups[i] == RTNLGRP_IPV4_ROUTE) ||
		    (s->wish.family == 4 && groups[i] == RTNLGRP_IPV6_ROUTE))
			continue;
		/* Nexthops came with 5.3. */
		if (nl_option(s->notices, NETLINK_ADD_MEMBERSHIP, &groups[i], sizeof(groups[i])) &&
		    groups[i] != RTNLGRP_NEXTHOP)
			return because(-errno, "netlink: %s", strerror(errno));
	}
	return 0;
}

/* Signals are the caller's. What C libraries give a thread may be less than what it reads into: 128 KiB. */
static int start(struct route_source *s)
{
	pthread_attr_t how;
	sigset_t all, old;
	int err;

	err = -pthread_attr_init(&how);
	if (err)
		return err;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = -pthread_attr_setstacksize(&how, STACK) ?: -pthread_create(&s->thread, &how, keep_up, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&how);
	s->running = !err;
	return err;
}

int route_source_open(struct route_source **source, const struct route_wish *wish, int64_t grace)
{
	struct route_source *s = *source = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->wish = *wish;
	s->read_at = INT64_MAX;
	pthread_mutex_init(&s->lock, NULL);
	s->told = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->ends = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = s->told < 0 || s->ends < 0 ? -errno : routes_begin(&s->table, grace);
	/* Joined first: what changes while it is read is told. */
	err = err ?: join(s) ?: read_all(s) ?: start(s);
	return err ? because(err, "the routes of table %u: %s", wish->table, reason(err)) : 0;
}

void route_source_close(struct route_source *s)
{
	if (!s)
		return;
	if (s->running) {
		tell(s->ends);
		pthread_join(s->thread, NULL);
	}
	if (s->notices)
		nl_close(s->notices);
	routes_end(&s->table);
	close_fd(s->told);
	close_fd(s->ends);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

int route_source_fd(const struct route_source *s)
{
	return s->told;
}

struct route_table *route_source_take(struct route_source *s, int *err)
{
	uint64_t times;

	if (read(s->told, &times, sizeof(times)) < 0)
		times = 0; /* nothing was told */
	pthread_mutex_lock(&s->lock);
	if (!s->err)
		return &s->table;
	*err = because(s->err, "the routes of table %u: %s: %s", s->wish.table, s->where, errno_text(s->err));
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

void route_source_give(struct route_source *s)
{
	pthread_mutex_unlock(&s->lock);
}

unsigned int route_source_readings(const struct route_source *s)
{
	return s->readings;
}

const struct route *route_source_other(const struct route_source *s)
{
	return s->others ? &s->other : NULL;
}

uint64_t route_source_elsewhere(const struct route_source *s)
{
	return s->wish.family ? 0 : s->elsewhere + 1;
}
