// SPDX-License-Identifier: GPL-2.0-only
/*
 * Routes of ours in a table, against a kernel that is an array: what is there afterwards is what was wanted, what is
 * somebody else's stays, and each order says what it means; with answers that come in pieces, and with errors.
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "base/log.h"
#include "base/netlink.h"
#include "feeds/route_source.h"
#include "feeds/route_writer.h"
#include "ktap.h"

#define TABLE 667
#define MOST  600

static struct there {
	struct prefix prefix;
	uint8_t protocol, type;
} there[MOST];
static size_t there_n;

static struct {
	int open, send, receive, dump[2], order; /* order: of each, once `orders_left` are over */
	size_t orders_left;
	bool rubbish; /* between the answers */
} fails;

static char replies[MOST * 128];
static size_t replies_n, replies_at;
static bool strict;
static int only; /* the family that it writes; 0: both */

struct nl_socket {
	int unused;
};

static int given_open(struct nl_socket **socket, int family, int flags, unsigned int groups)
{
	static struct nl_socket one;

	if (family != NETLINK_ROUTE || flags || groups)
		abort();
	*socket = fails.open ? NULL : &one;
	return fails.open;
}

static void given_close(struct nl_socket *socket)
{
	(void)socket;
}

static int given_option(const struct nl_socket *socket, int option, const void *value, size_t size)
{
	(void)socket;
	if (size == sizeof(int) && option == NETLINK_GET_STRICT_CHK)
		strict = *(const int *)value;
	return 0;
}

static struct there *find(const struct prefix *p)
{
	for (size_t i = 0; i < there_n; i++)
		if (!route_order(&there[i].prefix, p))
			return &there[i];
	return NULL;
}

/* As ip-route(8) would: what there is of that prefix is in the way of another. */
static int obey(const struct nlmsghdr *m)
{
	const struct route_wish wish = { .table = TABLE, .types = 1ULL << RTN_BLACKHOLE };
	const struct rtmsg *header = nl_payload(m);
	bool del = m->nlmsg_type == RTM_DELROUTE;
	enum route_says says;
	struct there *is;
	struct prefix p;
	struct route r;

	CHECK(m->nlmsg_flags == (NLM_F_REQUEST | NLM_F_ACK | (del ? 0 : NLM_F_CREATE | NLM_F_EXCL)), "flags %x",
	      m->nlmsg_flags);
	CHECK(header->rtm_scope == (del ? RT_SCOPE_NOWHERE : RT_SCOPE_UNIVERSE) && !header->rtm_table &&
		      header->rtm_protocol == ROUTE_WRITER_PROTOCOL,
	      "scope %u, table %u, protocol %u", header->rtm_scope, header->rtm_table, header->rtm_protocol);
	says = route_read(&r, &wish, m);
	if (!CHECK(says == (del ? SAYS_GONE : SAYS_HERE), "it says %d", says))
		return -EINVAL;
	if (!fails.orders_left && fails.order)
		return fails.order;
	fails.orders_left -= fails.orders_left > 0;
	p = (struct prefix){ { r.first, r.family }, r.length };
	is = find(&p);
	if (del && (!is || is->protocol != ROUTE_WRITER_PROTOCOL || is->type != RTN_BLACKHOLE))
		return -ESRCH;
	if (!del && is)
		return -EEXIST;
	if (del)
		*is = there[--there_n];
	else
		there[there_n++] = (struct there){ p, ROUTE_WRITER_PROTOCOL, RTN_BLACKHOLE };
	return 0;
}

static void answer(uint16_t type, uint32_t number, int err, size_t size)
{
	struct nlmsghdr *m = nl_put_header(replies + replies_n);
	struct nlmsgerr *says = nl_put_extra(m, size);

	m->nlmsg_type = type;
	m->nlmsg_seq = number;
	if (size >= sizeof(*says))
		says->error = err;
	replies_n += NLMSG_ALIGN(m->nlmsg_len);
}

static ssize_t given_send(const struct nl_socket *socket, const void *bytes, size_t size)
{
	const struct nlmsghdr *m = bytes;
	int left = (int)size;

	(void)socket;
	if (fails.send) {
		errno = -fails.send;
		return -1;
	}
	replies_n = replies_at = 0;
	for (; nl_ok(m, left); m = nl_next(m, &left)) {
		if (fails.rubbish) {
			answer(NLMSG_NOOP, m->nlmsg_seq, -EIO, sizeof(struct nlmsgerr));
			answer(NLMSG_ERROR, 64, -EIO, sizeof(struct nlmsgerr));
			answer(NLMSG_ERROR, m->nlmsg_seq, -EIO, sizeof(struct nlmsgerr) - 8);
		}
		answer(NLMSG_ERROR, m->nlmsg_seq, obey(m), sizeof(struct nlmsgerr));
	}
	CHECK(!left, "%d bytes are left", left);
	return (ssize_t)size;
}

/* A few at a time. */
static ssize_t given_receive(const struct nl_socket *socket, void *room, size_t size)
{
	size_t n = 0, few = 1 + ktap_random() % 9;

	(void)socket;
	if (fails.receive || replies_at == replies_n) {
		errno = fails.receive ? -fails.receive : EAGAIN;
		return -1;
	}
	while (few-- && replies_at < replies_n) {
		const struct nlmsghdr *m = (const struct nlmsghdr *)(replies + replies_at);

		if (n + m->nlmsg_len > size)
			break;
		memcpy((char *)room + n, m, m->nlmsg_len);
		n += NLMSG_ALIGN(m->nlmsg_len);
		replies_at += NLMSG_ALIGN(m->nlmsg_len);
	}
	return (ssize_t)n;
}

static int given_dump(struct nl_socket *socket, uint16_t kind, const void *request, size_t size, netlink_each_fn *each,
		      void *arg)
{
	const struct rtmsg *asked = request;
	const struct nlattr *at = (const struct nlattr *)(asked + 1);
	int family = asked->rtm_family == AF_INET ? 4 : 6;

	(void)socket;
	CHECK(kind == RTM_GETROUTE && size == sizeof(*asked) + 8 && strict && at->nla_type == RTA_TABLE &&
		      at->nla_len == 8 && *(const uint32_t *)(at + 1) == TABLE,
	      "it asks for something else");
	CHECK(!only || only == family, "it asks for IPv%d", family);
	if (fails.dump[family == 6])
		return fails.dump[family == 6];
	/* Asked again, some come twice. */
	for (size_t i = 0; i < 2 * there_n; i++) {
		const struct there *t = &there[i % there_n];
		char text[128];
		struct nlmsghdr *m = nl_put_header(text);
		struct rtmsg *header = nl_put_extra(m, sizeof(*header));
		uint8_t bytes[16];

		if (t->prefix.first.family != family || (i >= there_n && i % 3))
			continue;
		for (int k = 0; k < 16; k++)
			bytes[k] = (uint8_t)(t->prefix.first.num >> (8 * ((family == 4 ? 3 : 15) - k) & 127));
		m->nlmsg_type = RTM_NEWROUTE;
		header->rtm_family = asked->rtm_family;
		header->rtm_dst_len = (unsigned char)t->prefix.length;
		header->rtm_table = RT_TABLE_COMPAT;
		header->rtm_protocol = t->protocol;
		header->rtm_type = t->type;
		nl_put_u32(m, RTA_TABLE, TABLE);
		nl_put(m, RTA_DST, family == 4 ? 4 : 16, bytes);
		each(arg, m);
	}
	return 0;
}

#define netlink_open given_open
#define netlink_dump given_dump
#define nl_close     given_close
#define nl_option    given_option
#define nl_send	     given_send
#define nl_receive   given_receive
#include "feeds/route_writer.c"

static struct route_writer w;

static struct prefix some_prefix(void)
{
	struct prefix p = { .first.family = ktap_random() % 3 ? 4 : 6 };

	p.length = addr_width(p.first.family) - (ktap_random() % 4 ? 0 : (unsigned int)(ktap_random() % 9));
	p.first.num = (p.first.family == 4 ? (ip6)45 << 24 : (ip6)0x2a00 << 112) + ktap_random() % 300;
	p.first.num &= ~addr_mask(p.first.family, p.length);
	return p;
}

/* So many of them, in order, and each once; of one family, or of both. */
static size_t some_prefixes(struct prefix *to, size_t most, int family)
{
	size_t n = 0, different = 0;

	while (n < most) {
		to[n] = some_prefix();
		n += !family || to[n].first.family == family;
	}
	qsort(to, n, sizeof(*to), route_order);
	for (size_t i = 0; i < n; i++)
		if (!i || route_order(&to[i - 1], &to[i]) != 0)
			to[different++] = to[i];
	return different;
}

static size_t ours(int family)
{
	size_t n = 0;

	for (size_t i = 0; i < there_n; i++)
		n += there[i].protocol == ROUTE_WRITER_PROTOCOL && there[i].type == RTN_BLACKHOLE &&
		     (!family || there[i].prefix.first.family == family);
	return n;
}

static void others_put(size_t n)
{
	static const struct {
		uint8_t protocol, type;
	} kinds[] = { { 12, RTN_BLACKHOLE }, { ROUTE_WRITER_PROTOCOL, RTN_UNICAST }, { 186, RTN_UNREACHABLE } };

	for (size_t i = 0; i < n; i++) {
		struct prefix p = some_prefix();
		size_t kind = ktap_random() % 3;

		if (!find(&p))
			there[there_n++] = (struct there){ p, kinds[kind].protocol, kinds[kind].type };
	}
}

/* The writer knows what is there, and that is what was wanted, but for what is somebody else's. */
static bool is_made(const struct prefix *wanted, size_t n, size_t others, int family)
{
	size_t taken = 0;
	bool whole = true;

	for (size_t i = 0; i < n; i++) {
		const struct there *t = find(&wanted[i]);

		if (!t || t->protocol != ROUTE_WRITER_PROTOCOL || t->type != RTN_BLACKHOLE)
			taken++;
		whole = whole && t;
	}
	for (size_t i = 0; i + 1 < w.n; i++)
		whole = whole && route_order(&w.at[i], &w.at[i + 1]) < 0;
	return CHECK(whole && w.taken == taken && w.n == n - taken && ours(family) == w.n &&
			     there_n - ours(0) == others,
		     "%zu wanted: %zu are there, it knows %zu, %zu taken and not %zu, others %zu of %zu", n,
		     ours(family), w.n, taken, w.taken, there_n - ours(0), others);
}

static void makes(void)
{
	for (int round = 0; round < 400 && !ktap_failed; round++) {
		const int family = round % 4 == 1 ? 4 : round % 4 == 2 ? 6 : 0;
		struct prefix wanted[200];
		size_t others;

		there_n = 0;
		only = family;
		fails.rubbish = round % 3 == 0;
		others_put(ktap_random() % 60);
		others = there_n;
		/* Of before. */
		for (size_t i = ktap_random() % 100; i; i--) {
			struct prefix p = some_prefix();

			if (!find(&p) && (!family || p.first.family == family))
				there[there_n++] = (struct there){ p, ROUTE_WRITER_PROTOCOL, RTN_BLACKHOLE };
		}
		if (!CHECK(!route_writer_open(&w, TABLE, family) && !route_writer_read(&w) && w.n == ours(family),
			   "%zu and not %zu are there", w.n, ours(family)))
			return;
		CHECK(!strict, "the socket is strict still");
		for (int turn = 0; turn < 4 && !ktap_failed; turn++) {
			size_t n = some_prefixes(wanted, ktap_random() % 200, family), before = ours(0);

			/* Somebody takes one of ours out. */
			if (turn == 2)
				for (size_t i = 0; i < there_n; i++)
					if (there[i].protocol == ROUTE_WRITER_PROTOCOL &&
					    there[i].type == RTN_BLACKHOLE) {
						there[i] = there[--there_n];
						before--;
						break;
					}
			if (turn == 2 && route_writer_read(&w))
				return;
			CHECK(!route_writer_make(&w, wanted, n), "it fails");
			is_made(wanted, n, others, family);
			CHECK(before + w.came - w.went == ours(0), "%zu before, %zu came, %zu went, %zu are there",
			      before, w.came, w.went, ours(0));
		}
		CHECK(!route_writer_make(&w, NULL, 0) && !ours(family) && there_n == others, "something is left");
		route_writer_close(&w);
	}
	only = 0;
	memset(&fails, 0, sizeof(fails));
}

/* What it has not seen go is no less gone. */
static void gone(void)
{
	struct prefix wanted[100];
	size_t n = some_prefixes(wanted, 100, 0);

	there_n = 0;
	CHECK(!route_writer_open(&w, TABLE, 0) && !route_writer_read(&w) && !route_writer_make(&w, wanted, n),
	      "it fails");
	CHECK(w.came == n, "%zu of %zu came", w.came, n);
	there_n = n / 2;
	CHECK(!route_writer_make(&w, NULL, 0) && !there_n && w.went == n / 2, "%zu went, %zu are left", w.went,
	      there_n);
	route_writer_close(&w);
}

static void says(int err, const char *text)
{
	CHECK(err && !strcmp(reason(err), text), "'%s', not '%s'", err ? reason(err) : "no error", text);
	memset(&fails, 0, sizeof(fails));
}

static void errors(void)
{
	struct prefix wanted[100];
	size_t n = some_prefixes(wanted, 100, 0), known;

	there_n = 0;
	fails.open = -EPERM;
	says(route_writer_open(&w, TABLE, 0), "Operation not permitted");
	route_writer_close(&w);
	CHECK(!route_writer_open(&w, TABLE, 0), "not opened");
	for (int six = 0; six < 2; six++) {
		static const int none[] = { -ENOENT, -EAFNOSUPPORT, -EOPNOTSUPP };

		for (int i = 0; i < 3; i++) {
			fails.dump[six] = none[i];
			CHECK(!route_writer_read(&w) && !w.n, "%s is an error", errno_text(none[i]));
			fails.dump[six] = 0;
		}
		fails.dump[six] = -EIO;
		says(route_writer_read(&w), "the routes of table 667: Input/output error");
	}
	fails.send = -ENOBUFS;
	says(route_writer_make(&w, wanted, n), "the routes of table 667: No buffer space available");
	fails.receive = -ENOBUFS;
	says(route_writer_make(&w, wanted, n), "the routes of table 667: No buffer space available");
	there_n = 0;
	fails.order = -ENOMEM;
	fails.orders_left = n - 5;
	says(route_writer_make(&w, wanted, n), "the routes of table 667: Cannot allocate memory");
	CHECK(there_n == n - 5 && !w.n, "%zu are there, and it knows %zu", there_n, w.n);
	/* So it has to read what is there. */
	CHECK(!route_writer_read(&w) && w.n == n - 5, "it reads %zu", w.n);
	CHECK(!route_writer_make(&w, wanted, n) && w.n == n && there_n == n, "%zu are there, and it knows %zu", there_n,
	      w.n);
	known = w.n;
	fails.order = -EPERM;
	says(route_writer_make(&w, NULL, 0), "the routes of table 667: Operation not permitted");
	CHECK(w.n == known, "it knows %zu", w.n);
	route_writer_close(&w);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "what is wanted is there", makes },
		{ "what has gone by itself", gone },
		{ "errors", errors },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
