// SPDX-License-Identifier: GPL-2.0-only
/*
 * Routes that come, go and take each other's place, against a table that is walked from its beginning; what stays in
 * force when most of them go; and what messages of the kernel say, whole, cut and of rubbish.
 */
#include "base/nl.h"
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "feeds/route_source.h"
#include "feeds/route_table.h"

#include "ktap.h"

#define MOST 2000

/* The model: every route that there ever was. */
static struct known {
	struct route route;
	bool here;
	int64_t went; /* INT64_MIN: it is not in force any more */
} known[MOST];
static size_t known_n;

static struct known *model_find(const struct route *r)
{
	for (size_t i = 0; i < known_n; i++) {
		const struct route *k = &known[i].route;

		if (k->first == r->first && k->length == r->length && k->family == r->family &&
		    k->metric == r->metric && k->tos == r->tos && k->type == r->type && k->protocol == r->protocol)
			return &known[i];
	}
	known[known_n] = (struct known){ *r, false, INT64_MIN };
	return &known[known_n++];
}

static bool no_prefix(void *arg, struct addr first, unsigned int length)
{
	(void)arg;
	(void)first;
	(void)length;
	return false;
}

static struct route some_route(void)
{
	struct route r = { .family = ktap_random() % 3 ? 4 : 6, .metric = ktap_random() % 4 ? 0 : 7 };

	r.length = (uint8_t)(addr_width(r.family) - (ktap_random() % 4 ? 0 : ktap_random() % 9));
	r.first = (r.family == 4 ? (ip6)45 << 24 : (ip6)0x2a00 << 112) + ktap_random() % 300;
	r.first &= ~addr_mask(r.family, r.length);
	r.type = RTN_BLACKHOLE;
	r.protocol = ktap_random() % 5 ? 12 : 186;
	return r;
}

static bool in_force_is(struct route_table *t, bool lingering, const char *when)
{
	struct ranges is = RANGES_EMPTY, wanted = RANGES_EMPTY;
	bool ok;

	for (size_t i = 0; i < known_n; i++)
		if (known[i].here || (lingering && known[i].went != INT64_MIN))
			ranges_add_prefix(&wanted, (struct addr){ known[i].route.first, known[i].route.family },
					  known[i].route.length);
	ranges_finish(&wanted);
	ok = !routes_to_be(t, &is, no_prefix, NULL) && !ranges_finish(&is) && ranges_equal(&is, &wanted);
	ranges_free(&is);
	ranges_free(&wanted);
	return CHECK(ok, "%s: what is in force is another", when);
}

/* Changes, and readings that find out about others. Nothing is kept for longer than it lingers. */
static void changes(void)
{
	for (int round = 0; round < 20 && !ktap_failed; round++) {
		struct route_table t;
		int64_t now = 1 + (int64_t)(ktap_random() % (1ULL << 33));

		known_n = 0;
		if (!CHECK(!routes_begin(&t, 0), "memory"))
			return;
		for (int step = 0; step < 1500 && !ktap_failed; step++) {
			struct route r = some_route();
			struct known *k = model_find(&r);
			unsigned int what = ktap_random() % 20;

			now += (int64_t)(ktap_random() % 30);
			if (what < 11) {
				routes_put(&t, &r, now);
				k->here = true;
			} else if (what < 16) {
				CHECK(routes_drop(&t, &r, now) || k->here, "one that is not there leaves one");
				if (k->here)
					k->went = now;
				k->here = false;
			} else if (what < 18) {
				struct known *others = NULL;
				bool several = false;

				for (size_t i = 0; i < known_n; i++)
					if (known[i].here && known[i].route.first == r.first &&
					    known[i].route.length == r.length && known[i].route.family == r.family &&
					    known[i].route.metric == r.metric) {
						several = several || others;
						others = &known[i];
					}
				if (!CHECK((routes_replaced(&t, &r, now) > 1) == several, "of several: %d", several))
					break;
				if (others && !several) {
					others->here = false;
					others->went = now;
				}
			} else if (what < 19) {
				/* Some have gone without a word. */
				routes_read_begin(&t);
				for (size_t i = 0; i < known_n; i++) {
					if (known[i].here && ktap_random() % 10)
						routes_put(&t, &known[i].route, now);
					else if (known[i].here) {
						known[i].here = false;
						known[i].went = now;
					}
				}
				routes_read_end(&t, true, now);
			} else {
				in_force_is(&t, true, "with what lingers");
			}
			if (ktap_random() % 50)
				continue;
			/* Long after the last. */
			now += ROUTES_WAIT_MS + ROUTES_LINGER_MS;
			CHECK(routes_settle(&t, now) == ROUTES_NO_NEWS, "there is news");
			for (size_t i = 0; i < known_n; i++)
				known[i].went = INT64_MIN;
			CHECK(!t.gone && routes_due(&t) == INT64_MAX, "%zu linger", t.gone);
			in_force_is(&t, false, "at rest");
		}
		routes_end(&t);
	}
}

static struct route numbered(unsigned int i)
{
	return (struct route){ .first = ((ip6)45 << 24) + i, .family = 4, .length = 32, .type = RTN_BLACKHOLE };
}

static size_t in_force(struct route_table *t)
{
	struct ranges set = RANGES_EMPTY;
	size_t n;

	routes_to_be(t, &set, no_prefix, NULL);
	ranges_finish(&set);
	n = (size_t)ranges_count4(&set);
	ranges_free(&set);
	return n;
}

static void put(struct route_table *t, unsigned int from, unsigned int to, int64_t now)
{
	for (unsigned int i = from; i < to; i++) {
		struct route r = numbered(i);

		routes_put(t, &r, now);
	}
}

static void drop(struct route_table *t, unsigned int from, unsigned int to, int64_t now)
{
	for (unsigned int i = from; i < to; i++) {
		struct route r = numbered(i);

		routes_drop(t, &r, now);
	}
}

/* Each time other ones: of those that have gone nothing is kept, and so many fit where as many were before. */
static void comes_and_goes(void)
{
	struct route_table t;
	unsigned int at = 0;
	int64_t now = 1;

	if (!CHECK(!routes_begin(&t, 0), "memory"))
		return;
	put(&t, 0, 100, now);
	for (int i = 0; i < 2000 && !ktap_failed; i++, at += 10) {
		put(&t, at + 100, at + 110, now);
		drop(&t, at, at + 10, now);
		now += ROUTES_LINGER_MS + 1;
		routes_settle(&t, now);
		CHECK(t.here == 100 && t.log2 < 10, "%zu routes, in a table of 2^%u", t.here, t.log2);
	}
	routes_end(&t);
}

/* A daemon ends: however long its routes take to go, all stay until the time is over, or they are there again. */
static void accidents(void)
{
	for (int round = 0; round < 200 && !ktap_failed; round++) {
		const int64_t grace = 60000;
		unsigned int n = 1000 + (unsigned int)(ktap_random() % 3000), at = 0,
			     each = n / (1 + ktap_random() % 40) + 1;
		bool back = ktap_random() % 2;
		struct route_table t;
		int64_t now = 1000, held = 0;
		enum routes_news news = ROUTES_NO_NEWS;

		if (!CHECK(!routes_begin(&t, grace), "memory"))
			return;
		put(&t, 0, n, now);
		now += 100000;
		for (; at < n && !ktap_failed; at += each, now += 500) {
			drop(&t, at, at + each < n ? at + each : n, now);
			news = routes_settle(&t, now);
			held = news == ROUTES_HELD ? now : held;
			CHECK(in_force(&t) == n, "%zu of %u are in force while they go, %u each", in_force(&t), n,
			      each);
		}
		CHECK(held, "%u of %u each half second: no accident", each, n);
		now += 1000;
		if (back) {
			put(&t, 0, n - 10, now);
			CHECK(routes_settle(&t, now) == ROUTES_NO_NEWS, "it is over at once");
			now = routes_due(&t);
			CHECK(routes_settle(&t, now) == ROUTES_BACK, "it is not over at %" PRId64, now);
			CHECK(in_force(&t) == n - 10, "%zu in force after it", in_force(&t));
		} else {
			CHECK(routes_settle(&t, now) == ROUTES_NO_NEWS, "news");
			put(&t, n, n + 5, now);
			CHECK(in_force(&t) == n + 5, "new ones are not taken");
			now = routes_due(&t);
			CHECK(now == held + grace, "due at %" PRId64 ", held since %" PRId64, now, held);
			CHECK(routes_settle(&t, now) == ROUTES_OVER, "it is not over");
			CHECK(in_force(&t) == 5, "%zu in force after it", in_force(&t));
		}
		routes_end(&t);
	}
}

/*
 * What notices said of FRR 8.4 with 90,028 routes, each half second: ended by SIGTERM it has no time for most of them,
 * and started again it withdraws some that it finds; ten seconds later its session is up. Nothing passes meanwhile.
 */
static void restarts(void)
{
	static const struct {
		int64_t at;
		unsigned int went, came;
	} told[] = {
		{ 0, 113, 0 },	    { 500, 4049, 0 },	{ 1000, 4997, 0 },  { 1500, 545, 0 },	{ 7500, 2394, 0 },
		{ 17000, 0, 1117 }, { 17500, 0, 2572 }, { 18000, 0, 2514 }, { 19000, 0, 730 },	{ 19500, 0, 491 },
		{ 20000, 0, 660 },  { 20500, 0, 692 },	{ 21000, 0, 1418 }, { 21500, 0, 1662 }, { 22000, 0, 242 }
	};
	const unsigned int n = 90028;
	/* As it was, and where all takes longer: the quiet between them is up to 50 s then. */
	for (int64_t slower = 1; slower <= 5 && !ktap_failed; slower++) {
		unsigned int went = 0, came = 0;
		struct route_table t;
		int64_t now = 1000000;

		if (!CHECK(!routes_begin(&t, 300000), "memory"))
			return;
		put(&t, 0, n, 1000);
		CHECK(routes_settle(&t, now) == ROUTES_NO_NEWS, "news");
		for (size_t i = 0; i < sizeof(told) / sizeof(*told) && !ktap_failed; i++) {
			/* Whenever there is something to do until then. */
			for (int64_t due; (due = routes_due(&t)) < 1000000 + told[i].at * slower; now = due)
				if (!CHECK(due > now && routes_settle(&t, due) == ROUTES_NO_NEWS, "due at %" PRId64,
					   due))
					break;
			now = 1000000 + told[i].at * slower;
			drop(&t, went, went + told[i].went, now);
			went += told[i].went;
			put(&t, came, came + told[i].came, now);
			came += told[i].came;
			routes_settle(&t, now);
			CHECK(in_force(&t) == n, "%zu of %u are in force at %" PRId64, in_force(&t), n, now);
		}
		CHECK(!t.held, "%u of %u: an accident", went, n);
		now = routes_due(&t);
		routes_settle(&t, now);
		CHECK(t.here == n - went + came && !t.gone, "%zu stay, %zu wait", t.here, t.gone);
		routes_end(&t);
	}
}

/* Many that are withdrawn stay until it is seen that no more go, and few do not. */
static void withdrawals(void)
{
	for (int round = 0; round < 200 && !ktap_failed; round++) {
		const int64_t grace = ktap_random() % 2 ? 300000 : 5000;
		unsigned int n = 10000 + (unsigned int)(ktap_random() % 90000),
			     part = round % 2 ? 2 + (unsigned int)(ktap_random() % (n / ROUTES_MANY + 1))
					      : n / 10 + (unsigned int)(ktap_random() % (n / 4));
		bool many = part >= ROUTES_LOST_LEAST && part * ROUTES_MANY > n;
		int64_t now = 1000000, until;
		struct route_table t;

		if (!CHECK(!routes_begin(&t, grace), "memory"))
			return;
		put(&t, 0, n, 1000);
		routes_settle(&t, now);
		drop(&t, 0, part, now);
		until = now + (!many					       ? ROUTES_LINGER_MS
			       : part > n / 20 && grace > ROUTES_PART_QUIET_MS ? ROUTES_PART_QUIET_MS
									       : ROUTES_QUIET_MS);
		CHECK(routes_due(&t) == until, "%u of %u: due %" PRId64 " ms later", part, n, routes_due(&t) - now);
		routes_settle(&t, until - 1);
		CHECK(in_force(&t) == n, "%u of %u: they end early", part, n);
		routes_settle(&t, until);
		CHECK(in_force(&t) == n - part, "%u of %u: they do not end", part, n);
		routes_end(&t);
	}
}

/* Few that go, and many that go while as many come, end as always. */
static void no_accidents(void)
{
	struct route_table t;
	int64_t now = 1000;

	if (!CHECK(!routes_begin(&t, 60000), "memory"))
		return;
	put(&t, 0, 2, now);
	drop(&t, 0, 2, now);
	CHECK(routes_settle(&t, now) == ROUTES_NO_NEWS && in_force(&t) == 2, "two that have just gone");
	CHECK(routes_due(&t) == now + ROUTES_LINGER_MS, "due at %" PRId64, routes_due(&t));
	now += ROUTES_LINGER_MS;
	CHECK(routes_settle(&t, now) == ROUTES_NO_NEWS && !in_force(&t), "two that have gone");
	put(&t, 0, 10000, now);
	for (unsigned int i = 0; i < 600 && !ktap_failed; i++) {
		now += 100;
		drop(&t, i * 50, i * 50 + 50, now);
		put(&t, 10000 + i * 50, 10000 + i * 50 + 50, now);
		CHECK(routes_settle(&t, now) == ROUTES_NO_NEWS, "news");
		CHECK(t.here == 10000 && t.gone <= 50 * (ROUTES_LINGER_MS / 100 + 1) * 2, "%zu are kept", t.gone);
	}
	/* What was in force before counts as gone. */
	CHECK(!routes_were(&t, (struct addr){ numbered(30001).first, 4 }, 32, now), "memory");
	now += ROUTES_LINGER_MS;
	routes_settle(&t, now);
	CHECK(!routes_were(&t, (struct addr){ numbered(7).first, 4 }, 32, now), "memory");
	CHECK(in_force(&t) == 10001, "%zu in force", in_force(&t));
	routes_end(&t);
}

/* However slowly they go, at least half of them stay for the grace period, where so many go in the time that each of
 * them lingers that it may be an accident; and of what is withdrawn one by one nothing does for ever. */
static void slowly(void)
{
	for (int round = 0; round < 200 && !ktap_failed; round++) {
		const int64_t grace = 300000, step = 100 + (int64_t)(ktap_random() % 9000);
		unsigned int n = 100 + (unsigned int)(ktap_random() % 3000), at = 0, each, held_at = 0;
		int64_t now = 1000, held = 0, over = 0;
		struct route_table t;

		/* In a grace period at most. */
		each = (unsigned int)(n * (uint64_t)step / (uint64_t)grace) + 1 + (unsigned int)(ktap_random() % 20);
		while (each * (1 + (ROUTES_LINGER_MS - 1) / step) < ROUTES_LOST_LEAST)
			each++;
		if (!CHECK(!routes_begin(&t, grace), "memory"))
			return;
		put(&t, 0, n, now);
		routes_settle(&t, now);
		now += 1000000;
		routes_settle(&t, now);
		for (; at < n && !ktap_failed && !over; now += step) {
			enum routes_news news;

			drop(&t, at, at + each < n ? at + each : n, now);
			at += each;
			news = routes_settle(&t, now);
			if (news == ROUTES_HELD) {
				held = now;
				held_at = (unsigned int)in_force(&t);
				CHECK(held_at + each >= n / 2, "%u of %u are held", held_at, n);
			}
			if (news == ROUTES_OVER)
				over = now;
			CHECK(!held || over || in_force(&t) == held_at, "%zu of %u that are held", in_force(&t),
			      held_at);
		}
		CHECK(held, "%u of %u, each %d ms: no accident", each, n, (int)step);
		for (int i = 0; i < 100 && t.gone; i++) {
			now = routes_due(&t);
			routes_settle(&t, now);
		}
		CHECK(!in_force(&t) || at < n, "%zu stay for ever", in_force(&t));
		routes_end(&t);
	}
}

/* Two that look the same: when one goes, it is not known that there is none. */
static void twins(void)
{
	struct route r = numbered(1), twin = r;
	struct route_table t;

	if (!CHECK(!routes_begin(&t, 0), "memory"))
		return;
	twin.has = ROUTE_TWIN;
	routes_put(&t, &twin, 1);
	CHECK(routes_drop(&t, &r, 2), "appended behind another prefix's, there is one");
	routes_put(&t, &r, 3);
	routes_put(&t, &r, 4);
	CHECK(routes_drop(&t, &r, 5), "told twice, there is one");
	routes_put(&t, &r, 6);
	routes_put(&t, &twin, 7);
	CHECK(routes_replaced(&t, &r, 8) > 1, "which of both is replaced cannot be told");
	CHECK(!routes_drop(&t, &r, 9), "appended, there are two");
	for (int n = 2; n; n--) {
		routes_read_begin(&t);
		for (int i = 0; i < n; i++)
			routes_put(&t, &r, 10);
		routes_read_end(&t, true, 11);
		CHECK(routes_drop(&t, &r, 12) == (n == 1), "read %d times, it is not known", n);
	}
	routes_end(&t);
}

static char text[256];

static struct nlmsghdr *message(uint16_t type, uint16_t flags, int family, uint8_t length, unsigned int table,
				const void *dst, size_t size)
{
	struct nlmsghdr *m = nl_put_header(text);
	struct rtmsg *header;

	m->nlmsg_type = type;
	m->nlmsg_flags = flags;
	header = nl_put_extra(m, sizeof(*header));
	header->rtm_family = (unsigned char)family;
	header->rtm_dst_len = length;
	header->rtm_table = table > 255 ? RT_TABLE_COMPAT : (unsigned char)table;
	header->rtm_type = RTN_BLACKHOLE;
	nl_put_u32(m, RTA_TABLE, table);
	if (size)
		nl_put(m, RTA_DST, size, dst);
	nl_put_u32(m, RTA_PRIORITY, 9);
	return m;
}

static void messages(void)
{
	const struct route_wish wish = { .table = 666, .types = 1 << RTN_BLACKHOLE };
	const struct route_wish only6 = { .table = 666, .types = 1 << RTN_BLACKHOLE, .family = 6 };
	const uint8_t four[] = { 45, 1, 2, 3 }, six[16] = { 0x2a, [15] = 1 };
	struct nlmsghdr *m;
	struct route r;

	m = message(RTM_NEWROUTE, 0, AF_INET, 32, 666, four, 4);
	CHECK(route_read(&r, &wish, m) == SAYS_HERE && r.first == 0x2d010203 && r.length == 32 && r.metric == 9,
	      "IPv4");
	CHECK(route_read(&r, &only6, m) == SAYS_NOTHING, "the other family");
	((struct rtmsg *)nl_payload(m))->rtm_type = RTN_UNICAST;
	CHECK(route_read(&r, &wish, m) == SAYS_OTHER, "another type");
	nl_put_u32(m, RTA_NH_ID, 5);
	CHECK(route_read(&r, &wish, m) == SAYS_OTHER && r.has == ROUTE_BY_NEXTHOP, "another type, by a nexthop");
	m->nlmsg_flags |= NLM_F_REPLACE;
	CHECK(route_read(&r, &wish, m) == SAYS_REPLACED, "another type in its place");
	m = message(RTM_NEWROUTE, NLM_F_REPLACE, AF_INET6, 128, 666, six, 16);
	CHECK(route_read(&r, &only6, m) == SAYS_TAKES_PLACE && r.first == ((ip6)0x2a << 120 | 1), "IPv6");
	m = message(RTM_NEWROUTE, NLM_F_APPEND, AF_INET, 32, 666, four, 4);
	CHECK(route_read(&r, &wish, m) == SAYS_HERE && r.has == ROUTE_TWIN, "one behind another");
	m = message(RTM_DELROUTE, 0, AF_INET, 24, 666, four, 4);
	CHECK(route_read(&r, &wish, m) == SAYS_GONE && r.first == 0x2d010200, "a network with host bits");
	m = message(RTM_NEWROUTE, 0, AF_INET, 0, 666, NULL, 0);
	CHECK(route_read(&r, &wish, m) == SAYS_HERE && !r.length && !r.first, "a default route");
	m = message(RTM_NEWROUTE, 0, AF_INET, 32, 667, four, 4);
	CHECK(route_read(&r, &wish, m) == SAYS_NOTHING, "another table");
	m = message(RTM_NEWROUTE, 0, AF_INET, 33, 666, four, 4);
	CHECK(route_read(&r, &wish, m) == SAYS_NOTHING, "a length that cannot be");
	m = message(RTM_NEWROUTE, 0, AF_INET, 32, 666, four, 4);
	((struct rtmsg *)nl_payload(m))->rtm_flags = RTM_F_CLONED;
	CHECK(route_read(&r, &wish, m) == SAYS_NOTHING, "a copy");
	m->nlmsg_type = RTM_DELNEXTHOP;
	CHECK(route_read(&r, &wish, m) == SAYS_MAYBE, "a nexthop that goes");
	m->nlmsg_type = RTM_NEWNEXTHOP;
	CHECK(route_read(&r, &wish, m) == SAYS_NOTHING, "a new nexthop");
	m->nlmsg_flags = NLM_F_REPLACE;
	CHECK(route_read(&r, &wish, m) == SAYS_MAYBE, "a nexthop that is replaced");
	m = message(RTM_NEWADDR, 0, AF_INET, 32, 666, four, 4);
	CHECK(route_read(&r, &wish, m) == SAYS_NOTHING, "no route");
	m = message(RTM_NEWROUTE, 0, AF_UNSPEC, 0, 666, NULL, 0);
	CHECK(route_read(&r, &wish, m) == SAYS_NOTHING, "no family");
	m = message(RTM_NEWROUTE, 0, AF_INET, 32, 666, four, 4);
	((struct rtmsg *)nl_payload(m))->rtm_src_len = 24;
	CHECK(route_read(&r, &wish, m) == SAYS_NOTHING, "one from somewhere only");
	m = message(RTM_NEWROUTE, 0, AF_INET, 32, 666, four, 4);
	m->nlmsg_len = NLMSG_HDRLEN + sizeof(struct rtmsg) - 1;
	CHECK(route_read(&r, &wish, m) == SAYS_NOTHING, "one that is cut");
	m = message(RTM_NEWROUTE, 0, AF_INET, 32, 666, four, 3);
	CHECK(route_read(&r, &wish, m) == SAYS_HERE && !r.first, "half an address");
	m = message(RTM_NEWROUTE, 0, AF_INET, 0, 66, NULL, 0);
	m->nlmsg_len = NLMSG_HDRLEN + sizeof(struct rtmsg);
	CHECK(route_read(&r, &(struct route_wish){ .table = 66, .types = 1 << RTN_BLACKHOLE }, m) == SAYS_HERE &&
		      !r.metric,
	      "one without attributes");
	nl_put(m, RTA_TABLE, 2, four);
	nl_put(m, RTA_PRIORITY, 3, four);
	CHECK(route_read(&r, &(struct route_wish){ .table = 66, .types = 1 << RTN_BLACKHOLE }, m) == SAYS_HERE &&
		      !r.metric,
	      "half a number");
	for (int i = 0; i < 200000; i++) {
		m = message(ktap_random() % 2 ? RTM_NEWROUTE : RTM_DELROUTE, 0, ktap_random() % 2 ? AF_INET : AF_INET6,
			    24, 666, six, ktap_random() % 17);
		for (int k = 0; k < 3; k++)
			text[sizeof(*m) + ktap_random() % (m->nlmsg_len - sizeof(*m))] = (char)ktap_random();
		m->nlmsg_len = (uint32_t)(sizeof(*m) + ktap_random() % (m->nlmsg_len - sizeof(*m) + 1));
		if (route_read(&r, &wish, m) == SAYS_HERE &&
		    !CHECK(r.length <= addr_width(r.family) && !(r.first & addr_mask(r.family, r.length)), "/%u",
			   r.length))
			return;
	}
}

int main(void)
{
	static const struct ktap_case cases[] = { { "changes and readings", changes },
						  { "comes and goes", comes_and_goes },
						  { "accidents", accidents },
						  { "a daemon that is started again", restarts },
						  { "withdrawals", withdrawals },
						  { "what is no accident", no_accidents },
						  { "slow accidents", slowly },
						  { "twins", twins },
						  { "messages", messages } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
