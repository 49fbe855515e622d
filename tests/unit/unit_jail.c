// SPDX-License-Identifier: GPL-2.0-only
/*
 * From bans of the detector to live bans: of whom, for how long, by which words, and of whom not; with a state of the
 * test's own, and a detector, a clock and needs of a machine that are made up. What is done and said, word for word.
 */
#include <endian.h>
#include <jansson.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/log.h"
#include "change/accounts.h"
#include "change/change.h"
#include "change/ends.h"
#include "change/exceptions.h"
#include "change/guard_rails.h"
#include "change/own_addresses.h"
#include "kernel/detect_in_force.h"
#include "kernel/detect_seen.h"
#include "state/events.h"
#include "state/limits.h"
#include "state/settings.h"
#include "state/state.h"
#include "state/strikes.h"
#include "state/until.h"

#include "own_state.h"
#include "shown.h"

static const struct shown known[] = {
#include "unit_jail.txt"
};

static struct shows shows = { .file = "tests/unit/unit_jail.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define DATE 1767225600 /* 2026-01-01T00:00:00Z */
#define NOW  (1ULL << 50)
#define UP   1000000000LL /* s: no machine has been up for so long, so no ban is over by its own clock */

static struct suspect_seen suspects[64];
static struct seen detector;
static const struct own_address *own_need;
static int64_t passed; /* since the beginning */
static int seen_err, spare_err;
static unsigned int full; /* so often there is no room */
static bool spared_above;
static const struct end_key *spared_keys;
static size_t spared_n;

static int64_t given_boot(void)
{
	return (UP + passed) * 1000000000;
}

static int given_seen(const struct context *context, struct seen *seen)
{
	(void)context;
	*seen = detector;
	return seen_err;
}

static int given_needs(struct state *state, bool destinations, own_wanted_fn *wanted, const void *arg,
		       struct own_address **list, size_t *n)
{
	(void)destinations;
	(void)state;
	*n = 0;
	*list = calloc(1, sizeof(**list));
	ENOUGH(*list);
	if (own_need && wanted(arg, own_need->addr))
		(*list)[(*n)++] = *own_need;
	return 0;
}

static struct ranges exempt;

static int given_allowed(struct state *state, struct ranges *set)
{
	struct ranges staying;
	int err = state_allowed_staying(state, &staying) ?: ranges_union(set, &exempt, &staying);

	ranges_free(&staying);
	return err;
}

static int given_put(struct change *change, const struct ban *ban)
{
	char text[PREFIX_TEXT_MAX];
	bool renewed;

	printf("ban %s, added %lld, for %lld s, due in %lld ms: %s\n", prefix_text(text, ban->first, (int)ban->length),
	       (long long)ban->added - DATE, (long long)(ban->expires - ban->added),
	       (long long)(ban->due - given_boot()) / 1000000, ban->reason);
	return state_ban_put(change->state, ban, &renewed);
}

__attribute__((format(printf, 3, 4))) static void given_event(const struct context *context, struct event e,
							      const char *fmt, ...)
{
	char *text = e.more ? json_dumps(e.more, JSON_COMPACT) : NULL;
	va_list args;

	(void)context;
	printf("%s, generation %llu: ",
	       e.kind == EVENT_BAN     ? "event"
	       : e.kind == EVENT_GUARD ? "guard"
				       : "?",
	       e.generation);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n%s%s", text ? text : "", text ? "\n" : "");
	free(text);
	json_decref(e.more);
}

static int given_spare(const struct context *context, const struct spared *who, size_t n)
{
	(void)context;
	for (size_t i = 0; i < n; i++)
		printf("spare: %u bits of IPv%u%s%s\n", who[i].key.bits, who[i].key.family,
		       who[i].guest ? ", a guest's" : "", full ? ", no room" : "");
	if (n && full) {
		full--;
		return because(-ENOSPC, "no room");
	}
	return spare_err;
}

static int given_spared(const struct context *context, struct end_key **keys, size_t *n)
{
	(void)context;
	ENOUGH(*keys = calloc(spared_n + 1, sizeof(**keys)));
	for (size_t i = 0; i < spared_n; i++)
		(*keys)[i] = spared_keys[i];
	*n = spared_n;
	return 0;
}

static int none_spared(struct end_key **keys, size_t *n)
{
	*keys = NULL;
	*n = 0;
	return because(-EIO, "a call fails");
}

static int given_unspare(const struct context *context, const struct end_key *keys, size_t n)
{
	(void)context;
	printf("spare no more:%s", n ? "" : " nobody");
	for (size_t i = 0; i < n; i++)
		printf(" %08x %08x (%u bits)", be32toh(keys[i].addr[0]), be32toh(keys[i].addr[1]), keys[i].bits);
	putchar('\n');
	return 0;
}

static bool given_above(const struct seen *seen)
{
	(void)seen;
	return spared_above;
}

static int given_unjail(const struct context *context, const struct ranges *set)
{
	(void)context;
	printf("let go: %s", set->n4 || set->n6 ? "" : "nobody");
	for (size_t i = 0; i < set->n4; i++)
		printf(" %08x-%08x", set->v4[i].lo, set->v4[i].hi);
	for (size_t i = 0; i < set->n6; i++)
		printf(" %016llx-%016llx", (unsigned long long)(set->v6[i].lo >> 64),
		       (unsigned long long)(set->v6[i].hi >> 64));
	putchar('\n');
	return 0;
}

static time_t given_time(time_t *to)
{
	(void)to;
	return DATE + passed;
}

static bool no_random;

/* Half of all. */
static ssize_t given_random(void *to, size_t n, unsigned int flags)
{
	(void)flags;
	if (no_random)
		return -1;
	*(uint32_t *)to = 1U << 31;
	return (ssize_t)n;
}

static int succeed = -1; /* so many calls succeed before one fails; -1: all of them */
static bool failed;

static int fails(void)
{
	bool is = !succeed;

	succeed -= succeed >= 0;
	failed = failed || is;
	return is ? because(-EIO, "a call fails") : 0;
}

#define CALL(function, ...)	 (fails() ?: function(__VA_ARGS__))
#define ranges_add_prefix(...)	 CALL(ranges_add_prefix, __VA_ARGS__)
#define ranges_finish(...)	 CALL(ranges_finish, __VA_ARGS__)
#define ranges_union(...)	 CALL(ranges_union, __VA_ARGS__)
#define state_open(...)		 CALL(state_open, __VA_ARGS__)
#define state_ban_held(...)	 CALL(state_ban_held, __VA_ARGS__)
#define state_ladder(...)	 CALL(state_ladder, __VA_ARGS__)
#define state_strike_get(...)	 CALL(state_strike_get, __VA_ARGS__)
#define state_strike_put(...)	 CALL(state_strike_put, __VA_ARGS__)
#define state_strikes_fall(...)	 CALL(state_strikes_fall, __VA_ARGS__)
#define state_strikes_bound(...) CALL(state_strikes_bound, __VA_ARGS__)
#define grow(...)		 (fails() ? NULL : grow(__VA_ARGS__))
#define calloc(...)		 (fails() ? NULL : calloc(__VA_ARGS__))

#define kernel_seen			given_seen
#define seen_free(seen)			((void)(seen))
#define own_addresses(...)		CALL(given_needs, __VA_ARGS__)
#define state_allowed_staying(...)	CALL(given_allowed, __VA_ARGS__)
#define account_own_put(...)		CALL(given_put, __VA_ARGS__)
#define event(...)			given_event(__VA_ARGS__)
#define kernel_spare(...)		CALL(given_spare, __VA_ARGS__)
#define kernel_spared(context, keys, n) (fails() ? none_spared(keys, n) : given_spared(context, keys, n))
#define kernel_unspare(...)		CALL(given_unspare, __VA_ARGS__)
#define seen_spared			given_above
#define kernel_unjail_set(...)		CALL(given_unjail, __VA_ARGS__)
#define time(to)			given_time(to)
#define clock_boot			given_boot
#define getrandom			given_random
#include "change/jail.c"
#undef event
#undef time
#undef grow
#undef calloc

/* --- What happens ------------------------------------------------------------------------------------------------- */

static void none(void)
{
	memset(suspects, 0, sizeof(suspects));
	detector = (struct seen){ .on = true, .now = NOW, .suspect = suspects };
	detector.with.tick = 4000000;
}

static struct suspect *add(__u64 kind, __u64 key, __u64 ms, unsigned int classes)
{
	struct suspect_seen *s = &suspects[detector.n++];

	ENOUGH(detector.n <= sizeof(suspects) / sizeof(*suspects));
	*s = (struct suspect_seen){
		.key = key,
		.mark = MARK(kind, NOW),
		.is = { .until = NOW + 1000000000, .over_at = NOW - 1000000, .banned_for = classes }
	};
	s->is.since = s->is.over_at - ms * 1000000;
	for (int class = 0; class < CLASSES; class ++)
		s->is.count[class] = 1000 * (__u64)(class + 1);
	return &s->is;
}

static struct suspect *add4(__u32 addr, __u64 ms, unsigned int classes)
{
	return add(SUSPECT_IPV4, addr, ms, classes);
}

static struct suspect *add6(__u64 net, __u64 ms, unsigned int classes)
{
	return add(SUSPECT_IPV6, net, ms, classes);
}

/* As the service does it, once. */
static void moves_after(const struct ranges *before)
{
	struct change change = { .context = &own_context };
	int err;

	printf("after %lld s\n", (long long)passed);
	change.state = opened(true);
	err = jail_move(&change, NULL, before);
	if (err)
		printf("%s\n", reason(err));
	ENOUGH(!state_commit(change.state));
	state_close(change.state);
	jail_made(&own_context, &change.jail, 7);
	printf("%zu banned, %zu refused, %zu spared\n", change.jail.n, change.jail.refused_n, change.jail.spared_n);
	jail_free(&change.jail);
}

static void moves(void)
{
	moves_after(NULL);
}

/* The same, and who is let go before: the detector bans them no more then. */
static void at_once(void)
{
	struct ranges before;
	int err = jail_spare(&own_context, &before);

	printf("%s: %zu, %zu\n", err ? reason(err) : "at once", before.n4, before.n6);
	if (!err) {
		detector.n = 0;
		moves_after(&before);
		detector.n = 3;
	}
	ranges_free(&before);
}

/* Its ban is over. */
static void ends(__u32 addr)
{
	struct state *s = opened(true);

	CHECK(!state_ban_drop(s, (struct addr){ addr, 4 }, 32) && !state_commit(s), "it was not banned");
	state_close(s);
}

#define C(class) (1u << CLASS_##class)

static void reasons(void)
{
	none();
	moves();
	add4(0xcb007107, 3000, C(PACKETS));
	add4(0xcb007108, 20000, C(PACKETS) | C(SYN));
	add4(0xcb007109, 500, C(BYTES));
	add4(0xcb00710a, 0, C(UDP) | C(BYTES));
	add4(0xcb00710b, 125, C(ICMP) | C(FRAGMENTS))->over_at = NOW;
	add4(0xcb00710c, 3000, 0);
	add4(0xcb00710d, 3000, C(SYN))->until = NOW;
	add6(0x20010db800050005, 1499, C(FRAGMENTS));
	moves();
	/* All of them are banned. */
	moves();
	seen_err = -ENOENT;
	moves();
	seen_err = because(-EIO, "no detector");
	moves();
	seen_err = 0;
}

/* Each time a step further; and less far, once as much time has gone by. */
static void climbs(void)
{
	static const int64_t waits[] = { 61, 601, 3601, 86401, 604801, 604801, 40 * 86400, 61, 5000000 };

	for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++) {
		none();
		add4(0xcb007107, 3000, C(SYN));
		moves();
		ends(0xcb007107);
		passed += waits[i];
	}
}

static void not_these(void)
{
	static const struct own_address gateway = { .addr = { 0xcb007101, 4 },
						    .source = { 0xcb007101, 4 },
						    .what = "a gateway in use",
						    .where = "route table 254" };
	static const struct own_address within = { .addr = { (ip6)0x20010db800050005 << 64 | 1, 6 },
						   .source = { (ip6)0x20010db800050005 << 64 | 1, 6 },
						   .what = "a name server" };
	struct state *s = opened(true);
	struct ban wide = { .first = { 0xc6336400, 4 }, .length = 24 },
		   narrow = { .first = { (ip6)0x20010db800070007 << 64 | 5, 6 }, .length = 128 };
	bool renewed;

	ENOUGH(!ranges_add_prefix(&exempt, (struct addr){ 0xcb007200, 4 }, 24) &&
	       !ranges_add_prefix(&exempt, (struct addr){ (ip6)0x20010db800060006 << 64, 6 }, 128) &&
	       !ranges_finish(&exempt));
	ENOUGH(!state_ban_put(s, &wide, &renewed) && !state_ban_put(s, &narrow, &renewed) && !state_commit(s));
	state_close(s);
	none();
	own_need = &gateway;
	add4(0xcb007207, 3000, C(SYN));		/* exempt */
	add6(0x20010db800060006, 3000, C(SYN)); /* one of its addresses is */
	add4(0xc6336407, 3000, C(SYN));		/* banned with all of its network */
	add6(0x20010db800070007, 3000, C(SYN)); /* one of its addresses is */
	add4(0xcb007101, 3000, C(SYN));		/* needed */
	add4(0xcb007102, 3000, C(SYN));
	add4(0x7f000001, 3000, C(SYN)); /* nobody's */
	add4(0, 3000, C(SYN));
	moves();
	none();
	add4(0xcb007101, 3000, C(SYN));
	passed += 3599;
	moves();
	passed += 1;
	moves();
	passed -= 7200; /* the clock was set back */
	moves();
	none();
	own_need = &within;
	spare_err = because(-EIO, "no map");
	add6(0x20010db800050005, 3000, C(SYN));
	moves();
	spare_err = 0;
	/* Needed since it was banned: what it has earned stays. */
	none();
	own_need = NULL;
	add4(0xcb007103, 3000, C(SYN));
	moves();
	ends(0xcb007103);
	passed += 100;
	own_need = &(struct own_address){ .addr = { 0xcb007103, 4 }, .source = { 0xcb007103, 4 }, .what = "a peer" };
	moves();
	moves();
	own_need = NULL;
	moves();
	/* Let go before anything is written, and said when that is so. */
	none();
	own_need = &gateway;
	add4(0xcb007101, 3000, C(SYN));
	add6(0x20010db800060006, 3000, C(SYN));
	add4(0xcb007102, 3000, C(SYN));
	at_once();
	own_need = &within;
	at_once();
	own_need = NULL;
	at_once();
	seen_err = -ENOENT;
	at_once();
	seen_err = because(-EPERM, "not allowed");
	at_once();
	seen_err = 0;
	ranges_free(&exempt);
}

static void many(void)
{
	none();
	for (unsigned int i = 0; i < 10; i++)
		add4(0x2d000001 + i, 3000, C(SYN));
	add4(0x2d000001 + 9, 5000, C(UDP)); /* by another interface */
	moves();
	for (unsigned int i = 0; i < 3; i++) {
		struct addr addr = { 0x2d000000 + i, 4 };

		printf("%u: %d %d\n", i, jail_has(&own_context, addr, 32), jail_has(&own_context, addr, 31));
	}
}

/* Of IPv6 it is said of the network. */
static void needed6(void)
{
	static const struct own_address within = { .addr = { (ip6)0x20010db800050005 << 64 | 1, 6 },
						   .source = { (ip6)0x20010db800050005 << 64 | 1, 6 },
						   .what = "a name server" };

	none();
	own_need = &within;
	add6(0x20010db800050004, 3000, C(SYN));
	add6(0x20010db800050005, 3000, C(SYN));
	add6(0x20010db800050006, 3000, C(SYN));
	at_once();
}

static void spares(const char *what)
{
	struct ranges needed;
	int err = jail_spare(&own_context, &needed);

	printf("- %s: %s: %zu, %zu\n", what, err ? reason(err) : "done", needed.n4, needed.n6);
	ranges_free(&needed);
}

/* Who is needed no more is not spared for longer, however that came; who is, and what no list may ban, is. */
static void needed_no_more(void)
{
	static const struct own_address gateway = { .addr = { 0xcb007101, 4 }, .what = "a gateway in use" }, within = {
		.addr = { (ip6)0x20010db800050005 << 64 | 1, 6 }, .what = "a name server in use", .guest = true
	};
	const struct end_key keys[] = { end_key_of(gateway.addr, 32),
					end_key_of((struct addr){ 0xcb007107, 4 }, 32),
					end_key_of((struct addr){ (ip6)0x20010db800050005 << 64, 6 }, 64),
					end_key_of((struct addr){ (ip6)0x20010db800050005 << 64 | 9, 6 }, 128),
					end_key_of((struct addr){ (ip6)0x20010db800050006 << 64, 6 }, 64),
					end_key_of((struct addr){ 0, 6 }, 64) };

	spared_keys = keys;
	spared_n = sizeof(keys) / sizeof(keys[0]);
	none();
	own_need = &gateway;
	spares("none of them sends too much");
	spared_above = true;
	spares("one of them does");
	own_need = &within;
	spares("of IPv6 another host of the network is needed");
	own_need = NULL;
	spares("nobody is needed");
	spared_n = 0;
	spares("nobody is spared");
	spared_n = 2;
	own_need = &within;
	add6(0x20010db800050005, 3000, C(SYN));
	spares("one is banned that is needed");
	spared_above = false;
	full = 1;
	spares("there is no room");
	full = 2;
	spares("nor is there afterwards");
	full = 0;
	moves();
	spared_n = 0;
}

/* As many words as there can be. */
static void longest(void)
{
	passed = 100000;
	for (int i = 0; i < 3; i++) {
		none();
		add4(0xcb007107, 4000000000, (1U << LIMITED) - 1);
		for (int class = 0; class < CLASSES; class ++)
			suspects[0].is.count[class] = ~0ULL >> i;
		moves();
		ends(0xcb007107);
	}
}

static int moves_only(const char *prefix)
{
	struct change change = { .context = &own_context, .state = opened(true) };
	struct ranges only = RANGES_EMPTY;
	unsigned int length;
	struct addr first;
	int err;

	ENOUGH(change.state);
	ENOUGH(!prefix_parse(prefix, strlen(prefix), &first, &length) && !ranges_add_prefix(&only, first, length) &&
	       !ranges_finish(&only));
	printf("only %s\n", prefix);
	err = jail_move(&change, &only, NULL);
	ranges_free(&only);
	state_close(change.state);
	jail_free(&change.jail);
	return err;
}

static void only_some(void)
{
	none();
	add4(0xcb007107, 3000, C(SYN));
	add4(0xcb007109, 3000, C(SYN));
	CHECK(!moves_only("203.0.113.8/31") && !moves_only("203.0.113.7") && !moves_only("0.0.0.0/0") &&
		      !moves_only("198.51.100.0/24"),
	      "it fails");
}

static void who_is(void)
{
	static const int errors[] = { 0, -ENOENT, -EIO };

	none();
	add4(0xcb007107, 3000, C(SYN));
	add4(0xcb007108, 3000, 0);
	add4(0xcb007109, 3000, C(SYN));
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		struct prefix *at;
		struct ranges set;
		size_t n = 99;
		int all, in_set;

		seen_err = errors[i];
		all = jail_all(&own_context, &at, &n);
		in_set = jail_set(&own_context, &set);
		printf("all: %s, %zu; as a set: %s, %zu; %d\n", all ? reason(all) : "done", n,
		       in_set ? reason(in_set) : "done", set.n4,
		       jail_has(&own_context, (struct addr){ 0xcb007107, 4 }, 32));
		free(at);
		ranges_free(&set);
	}
	seen_err = 0;
}

static void without_random(void)
{
	none();
	add4(0xcb007107, 3000, C(SYN));
	no_random = true;
	moves();
	no_random = false;
}

/* It is banned for a while, unless that is not confirmed; that has ended by itself. */
static void on_trial(void)
{
	struct pending waits = { .kind = PENDING_BAN, .name = "203.0.113.7", .deadline = 4000000000 };
	struct ban is = { .first = { 0xcb007107, 4 }, .length = 32, .added = 1, .reason = "on trial" };
	struct state *s = opened(true);
	bool renewed;

	ENOUGH(!state_pending_add(s, &waits) && !state_ban_put(s, &is, &renewed) && !state_commit(s));
	state_close(s);
	ends(0xcb007107);
	none();
	add4(0xcb007107, 3000, C(SYN));
	moves();
	s = opened(true);
	CHECK(!state_pending_undo(s, &waits) && !state_ban_get(s, is.first, 32, &is), "it is lost: %s", log_last());
	printf("banned: %s\n", is.reason);
	state_close(s);
}

static struct ban made(const char *prefix, int64_t seconds, const char *why)
{
	struct ban ban = { .added = 1, .expires = seconds ? DATE + passed + seconds : 0 };

	ENOUGH(!prefix_parse(prefix, strlen(prefix), &ban.first, &ban.length));
	ban.due = seconds ? given_boot() + seconds * 1000000000 : 0;
	snprintf(ban.reason, sizeof(ban.reason), "%s", why);
	return ban;
}

static void jails(void)
{
	struct change change = { .context = &own_context, .state = opened(true) };

	CHECK(!jail_move(&change, NULL, NULL) && !state_commit(change.state), "it fails: %s", log_last());
	printf("%zu banned\n", change.jail.n);
	state_close(change.state);
	touched_free(&change.touched);
	jail_free(&change.jail);
}

/* Who is banned already, for as long or less, for good or on trial: what is left when that is over. */
static void beside_bans(void)
{
	static const struct {
		const char *what, *prefix;
		int64_t before, now; /* seconds, or: */
		bool waits;
	} of[] = {
#define NONE  (-1)
#define NEVER 0
		{ "of it, without an end", "203.0.113.7", NONE, NEVER, false },
		{ "around it, for longer", "203.0.113.0/24", NONE, 3600, false },
		{ "around it, for less", "203.0.113.0/24", NONE, 6, false },
		{ "of it, for less", "203.0.113.7", NONE, 6, false },
		{ "around it, on trial", "203.0.113.0/24", NONE, NEVER, true },
		{ "of it, on trial", "203.0.113.7", NONE, NEVER, true },
		{ "of it, for less, on trial", "203.0.113.7", NONE, 6, true },
		{ "around it, longer on trial", "203.0.113.0/24", 3600, NEVER, true },
		{ "of it, longer on trial, too short before", "203.0.113.7", 6, NEVER, true },
		{ "of it, shorter on trial", "203.0.113.7", NEVER, 3600, true },
		{ "of it, too short on trial", "203.0.113.7", NEVER, 6, true },
		{ "beside it", "203.0.113.8/29", NONE, NEVER, false },
	};

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
		for (int back = 0; back <= of[i].waits; back++) {
			struct pending waits = { .kind = PENDING_BAN, .deadline = 4000000000 };
			struct ban before = made(of[i].prefix, of[i].before, "before"),
				   now = made(of[i].prefix, of[i].now, "another"), *bans;
			struct state *s;
			bool renewed;
			size_t n;

			empty_directory();
			s = opened(true);
			prefix_text(waits.name, now.first, (int)now.length);
			ENOUGH(of[i].before < 0 || !state_ban_put(s, &before, &renewed));
			ENOUGH(!of[i].waits || !state_pending_add(s, &waits));
			ENOUGH(!state_ban_put(s, &now, &renewed) && !state_commit(s));
			state_close(s);
			none();
			add4(0xcb007107, 3000, C(SYN));
			printf("- %s, which %s:\n", of[i].what,
			       !of[i].waits ? "stays"
			       : back	    ? "goes back"
					    : "is confirmed");
			jails();
			/* As if it had been killed before it let go. */
			jails();
			s = opened(true);
			ENOUGH(!of[i].waits || !(back ? state_pending_undo(s, &waits) : state_pending_confirm(s)));
			ENOUGH(!state_bans(s, &bans, &n));
			for (size_t b = 0; b < n; b++)
				printf("= %s for %lld s: %s\n",
				       prefix_text(waits.name, bans[b].first, (int)bans[b].length),
				       bans[b].due ? (long long)(bans[b].due - given_boot()) / 1000000000 : 0,
				       bans[b].reason);
			free(bans);
			state_close(s);
		}
}

/* One of two that are let through is so on trial. */
static void excepted(void)
{
	struct pending waits = { .kind = PENDING_LIST, .name = EXCEPTIONS, .deadline = 4000000000 };
	struct ranges before = RANGES_EMPTY, now = RANGES_EMPTY;
	struct state *s = opened(true);

	ENOUGH(!(ranges_add_prefix)(&before, (struct addr){ 0xcb007106, 4 }, 32) && !(ranges_finish)(&before) &&
	       !(ranges_add_prefix)(&now, (struct addr){ 0xcb007106, 4 }, 31) && !(ranges_finish)(&now));
	ENOUGH(!exceptions_put(s, &before) && !state_pending_add(s, &waits) && !exceptions_put(s, &now) &&
	       !state_commit(s));
	state_close(s);
	none();
	add4(0xcb007106, 3000, C(SYN));
	add4(0xcb007107, 3000, C(SYN));
	jails();
	ranges_free(&before);
	ranges_free(&now);
}

static int move_some(void)
{
	struct change change = { .context = &own_context, .state = opened(true) };
	struct ranges before = RANGES_EMPTY;
	int err;

	ENOUGH(change.state);
	ENOUGH(!(ranges_add_prefix)(&before, (struct addr){ 0xcb007101, 4 }, 32) && !(ranges_finish)(&before));
	err = jail_move(&change, NULL, &before);
	ranges_free(&before);
	state_close(change.state);
	jail_free(&change.jail);
	return err;
}

static int spare_some(void)
{
	struct ranges needed;
	int err = jail_spare(&own_context, &needed);

	ranges_free(&needed);
	return err;
}

static int look(void)
{
	struct prefix *at;
	struct ranges set;
	size_t n;
	int err = jail_all(&own_context, &at, &n) ?: jail_set(&own_context, &set);

	free(at);
	ranges_free(&set);
	return err;
}

/* Whoever asked gets the error of each. */
static void each_call_fails(void)
{
	static const struct own_address gateway = { .addr = { 0xcb007101, 4 }, .what = "a gateway in use" };
	static int (*const all[])(void) = { move_some, spare_some, look };
	const struct end_key keys[] = { end_key_of(gateway.addr, 32), end_key_of((struct addr){ 0xcb007107, 4 }, 32) };

	spared_above = true;
	spared_keys = keys;
	spared_n = 2;
	own_need = &gateway;
	none();
	add4(0xcb007101, 3000, C(SYN));
	add4(0xcb007102, 3000, C(SYN));
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		for (int at = 0; at < 100; at++) {
			int err;

			failed = false;
			full = i == 1;
			succeed = at;
			err = all[i]();
			succeed = -1;
			if (!failed)
				break;
			printf("%zu, call %d: %s\n", i, at, reason(err));
		}
	spared_above = false;
	spared_n = 0;
}

static void tell(const char *name, void (*happen)(void))
{
	shows_begin(&shows);
	passed = 100000;
	own_need = NULL;
	empty_directory();
	happen();
	shows_as(&shows, name);
}

static void word_for_word(void)
{
	tell("reasons", reasons);
	tell("climbs", climbs);
	tell("not these", not_these);
	tell("many", many);
	tell("needed of IPv6", needed6);
	tell("needed no more", needed_no_more);
	tell("without a random number", without_random);
	tell("the longest reason", longest);
	tell("only some", only_some);
	tell("who is", who_is);
	tell("on trial", on_trial);
	tell("beside bans", beside_bans);
	tell("excepted", excepted);
	tell("each call fails", each_call_fails);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
