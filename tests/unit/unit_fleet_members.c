// SPDX-License-Identifier: GPL-2.0-only
/*
 * What members of a fleet are taken for: whom the program is to follow, and from where; what each word of theirs
 * becomes, and what of it is none; and that what was taken is known to the state before the program is told. With this
 * test as the program.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "feeds/fleet_members.h"

#include "own_state.h"

#define EPOCH "0123456789abcdef"

static struct fleet_talk talk;
static struct fleet_members m;
static char said[1 << 16];

static void begin(void)
{
	struct fleet fleet = { .url = "redis://a", .name = "edge-7", .say = "all" };
	struct state *s;

	empty_directory();
	s = opened(true);
	CHECK(!state_fleet_join(s, &fleet) && !state_commit(s), "it cannot join");
	state_close(s);
	free(talk.out);
	talk = (struct fleet_talk){ .fd = -1, .out = malloc(2 << 20) };
	members_end(&m);
	CHECK(!members_begin(&m, &own_context, &talk, "edge-7"), "no memory");
}

static const char *heard(void)
{
	ENOUGH(talk.said < sizeof(said));
	memcpy(said, talk.out, talk.said);
	said[talk.said] = '\0';
	talk.said = 0;
	return said;
}

#define SAYS(text)                                                                \
	do {                                                                      \
		const char *is = heard();                                         \
		CHECK(!strcmp(is, text), "it says '%s', and not '%s'", is, text); \
	} while (0)

static void rule(const char *name, enum member_rule is, int64_t entries)
{
	struct state *s = opened(true);
	struct member member;
	int err = state_member_get(s, name, &member);

	if (err_is(err, ENOENT)) {
		member = (struct member){ .limits = member_limits_default };
		snprintf(member.name, sizeof(member.name), "%s", name);
		err = 0;
	}
	member.rule = is;
	member.limits.entries = entries;
	CHECK(!err && !state_member_put(s, &member) && !state_commit(s), "%s: %s", name, reason(err));
	state_close(s);
}

static void at_put(const char *name, int64_t n)
{
	struct fleet_at at = { .epoch = EPOCH, .id = "7-1", .n = n };
	struct state *s = opened(true);

	snprintf(at.member, sizeof(at.member), "%s", name);
	CHECK(!(n ? state_fleet_at_put(s, &at) : state_fleet_at_drop(s, name)) && !state_commit(s), "%s", name);
	state_close(s);
}

static void expect(void)
{
	struct state *s = opened(false);

	CHECK(!members_expect(&m, s), "it cannot be read");
	state_close(s);
}

static void followed(void)
{
	begin();
	expect();
	SAYS("");
	at_put("b", 5);
	expect();
	SAYS("unfollow\tb\n"); /* nobody accepts it */
	rule("a", MEMBER_ACCEPTED, 10);
	rule("b", MEMBER_ACCEPTED, 20);
	rule("edge-7", MEMBER_ACCEPTED, 30); /* that is this machine */
	expect();
	SAYS("follow\ta\t-\t0\t-\t10\nfollow\tb\t" EPOCH "\t5\t7-1\t20\n");
	expect();
	SAYS("");
	rule("a", MEMBER_REFUSED, 10);
	rule("b", MEMBER_ACCEPTED, 21);
	expect();
	SAYS("unfollow\ta\nfollow\tb\t" EPOCH "\t5\t7-1\t21\n");
	/* Once its row is gone it is taken from the beginning. */
	at_put("b", 0);
	expect();
	SAYS("again\tb\n");
	/* Also of one who may have no ban. */
	rule("b", MEMBER_ACCEPTED, 0);
	at_put("b", 5);
	expect();
	heard();
	at_put("b", 0);
	expect();
	SAYS("again\tb\n");
	rule(MEMBER_ANY, MEMBER_ACCEPTED, 7);
	rule("b", MEMBER_BY_ANY, 21);
	rule("c", MEMBER_BY_ANY, 21);
	expect();
	SAYS("follow\tb\t-\t0\t-\t7\nany\t7\n");
	rule(MEMBER_ANY, MEMBER_ACCEPTED, 0);
	expect();
	SAYS("follow\tb\t-\t0\t-\t0\nany\t0\n");
	rule(MEMBER_ANY, MEMBER_REFUSED, 7);
	expect();
	SAYS("unfollow\tb\nany\t-\n");
	/* The program has begun again, and knows nothing. */
	rule("a", MEMBER_ACCEPTED, 1);
	members_again(&m);
	expect();
	SAYS("follow\ta\t-\t0\t-\t1\nunfollow\tb\n");
	at_put("a", 3);
	expect();
	heard();
	at_put("a", 0);
	expect();
	SAYS("again\ta\n");
}

static bool take(const char *a, const char *b, const char *c, const char *d, const char *e, const char *f)
{
	const char *words[TALK_WORDS] = { a, b, c, d, e, f, "", "" };

	return members_take(&m, (char **)words);
}

static struct followed *of(const char *name)
{
	for (size_t i = 0; i < m.n; i++)
		if (!strcmp(m.all[i]->at.member, name))
			return m.all[i];
	return NULL;
}

static void orders(void)
{
	static const struct {
		const char *prefix, *left;
		double ttl; /* below 0: it is none */
	} bans[] = {
		{ "192.0.2.1", "0", 0 },
		{ "192.0.2.0/24", "1", 1 },
		{ "2001:db8::/48", "1000", 1 },
		{ "192.0.2.1", "1001", 2 },
		{ "192.0.2.1", "9223372036854775807", 9223372036854776. },
		{ "192.0.2.1", "-1", -1 },
		{ "192.0.2.1", "", -1 },
		{ "192.0.2.1", "1x", -1 },
		{ "192.0.2.1", "99999999999999999999", -1 },
		{ "192.0.2.1/24", "1", -1 },
		{ "192.0.2.256", "1", -1 },
		{ "0.0.0.0/1", "1", -1 },
		{ "0.0.0.0", "1", -1 },
		{ "fe80::1", "1", -1 },
		{ "", "1", -1 },
	};
	int64_t bad = 0;
	size_t n = 0;

	begin();
	CHECK(!take("said", "a", "", "", "", "") && !take("", "a", "", "", "", "") && !m.n, "not about a member");
	CHECK(take("member", "edge-7", "", "", "", "") && take("member", "a b", "", "", "", "") && !m.n,
	      "one that is none is known");
	for (size_t i = 0; i < sizeof(bans) / sizeof(*bans); i++) {
		const struct ban_order *o = &m.orders[n];

		CHECK(take("+", "a", bans[i].prefix, bans[i].left, i % 2 ? "why" : "", "") && m.n == 1, "not taken");
		n += bans[i].ttl >= 0;
		bad += bans[i].ttl < 0;
		CHECK(m.orders_n == n && of("a")->bad == bad, "'%s' for '%s': %zu orders, %lld bad", bans[i].prefix,
		      bans[i].left, m.orders_n, (long long)of("a")->bad);
		CHECK(bans[i].ttl < 0 || (fabs(o->ttl - bans[i].ttl) < 1e-9 && !o->del && !strcmp(o->account, "a") &&
					  (i % 2 ? !strcmp(o->reason, "why") : !o->reason)),
		      "'%s': for %g s, '%s'", bans[i].prefix, o->ttl, o->reason);
	}
	CHECK(take("-", "b", "192.0.2.1", "", "", "") && m.orders_n == n + 1 && m.orders[n].del &&
		      !strcmp(m.orders[n].account, "b") && fabs(m.orders[n].ttl) < 1e-9,
	      "it ends no ban, or has a time: %g s", m.orders[n].ttl);
	CHECK(take("+", "c", "::", "1", "", "") && of("c")->bad == 1 &&
		      !strcmp(of("c")->why, ":: stands for no single host (::, unspecified)"),
	      "'%s'", of("c")->why);
	/* It may have been taken by an older version. */
	CHECK(take("-", "c", "::", "", "", "") && of("c")->bad == 1 && m.orders[m.orders_n - 1].del &&
		      m.orders[m.orders_n - 1].prefix.length == 128,
	      "what was taken cannot be ended");
	m.orders_n--;
	CHECK(take("bad", "b", "no\033", "", "", "") && of("b")->bad == 1 && !strcmp(of("b")->why, "no?"), "'%s'",
	      of("b")->why);
	CHECK(take("gap", "b", "lost\n", "", "", "") && of("b")->gaps == 1 && !strcmp(of("b")->why, "lost?"), "'%s'",
	      of("b")->why);
	CHECK(take("quiet", "b", "5000", "", "", "") &&
		      llabs(of("b")->heard - ((int64_t)time(NULL) * 1000 - 5000)) <= 60000,
	      "heard at %lld", (long long)of("b")->heard);
	of("b")->heard = 1;
	take("quiet", "b", "-1", "", "", "");
	take("quiet", "b", "x", "", "", "");
	take("quiet", "b", "999999999999999", "", "", "");
	CHECK(of("b")->heard == 1, "heard at %lld", (long long)of("b")->heard);
	for (; m.orders_n < 8192 && !members_full(&m);)
		take("-", "b", "192.0.2.1", "", "", "");
	CHECK(m.orders_n == 8192 && members_full(&m), "full with %zu", m.orders_n);
	m.orders_n = m.marks_n = 0;
	for (; m.marks_n < 8192 && !members_full(&m);)
		take("at", "b", EPOCH, "1", "1-1", "0");
	CHECK(m.marks_n == 8192 && members_full(&m), "full with %zu marks", m.marks_n);
}

static void is_at(const char *name, int64_t n, const char *id)
{
	struct state *s = opened(false);
	struct fleet_at *at = NULL;
	size_t count = 0;
	bool found = !n;

	CHECK(!state_fleet_ats(s, &at, &count), "it cannot be read");
	for (size_t i = 0; i < count; i++)
		if (!strcmp(at[i].member, name))
			found = n && at[i].n == n && !strcmp(at[i].id, id) && !strcmp(at[i].epoch, EPOCH);
	CHECK(found, "%s is not at %lld, %s", name, (long long)n, id);
	free(at);
	state_close(s);
}

/* How far each is: in the state, and then told. */
static void places(void)
{
	static const char *const bad[][3] = {
		{ "0123456789abcde", "1", "1-1" },
		{ "0123456789abcdef0", "1", "1-1" },
		{ "0123456789abcdeF", "1", "1-1" },
		{ EPOCH, "-1", "1-1" },
		{ EPOCH, "x", "1-1" },
		{ EPOCH, "", "1-1" },
		{ EPOCH, "1", "1-x" },
		{ EPOCH, "1", "123456789012345678901234567890123456789012345678" },
		{ EPOCH, "99999999999999999999", "1-1" },
		{ EPOCH, "4611686018427387904", "1-1" },
	};
	struct member_seen *seen;
	size_t n;

	begin();
	CHECK(!members_into_force(&m), "nothing");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		take("at", "a", bad[i][0], bad[i][1], bad[i][2], "1");
		CHECK(!m.marks_n && of("a")->bad == (int64_t)i + 1, "place %zu is one", i);
	}
	take("at", "a", EPOCH, "1", "5-1", "10");
	take("at", "b", EPOCH, "8", "5-2", "");
	take("at", "a", EPOCH, "3", "6-1", "30");
	CHECK(!members_full(&m) && !members_into_force(&m) && !m.marks_n, "not in force");
	is_at("a", 3, "6-1");
	is_at("b", 8, "5-2");
	SAYS("took\ta\t5-1\ntook\tb\t5-2\ntook\ta\t6-1\n");
	CHECK(of("a")->at.n == 3 && of("a")->kept && of("a")->entries == 2 && of("a")->latencies == 2, "%lld",
	      (long long)of("a")->at.n);
	/* What was measured is from its date to in force. */
	CHECK(of("a")->latency[0] >= 10 && of("a")->latency[1] >= 30 && of("b")->latency[0] >= 0, "%g and %g ms",
	      (double)of("a")->latency[0], (double)of("a")->latency[1]);
	for (size_t i = 0; i < 600; i++)
		of("a")->latency[of("a")->latencies++ % LATENCIES] = (float)(i % 512);
	of("b")->latencies = 0;
	CHECK(!members_seen(&m, &seen, &n) && n == 2 && !strcmp(seen[0].name, "a") && seen[0].entries == 2 &&
		      seen[0].bad == 10 && !seen[0].gaps && !strcmp(seen[1].name, "b"),
	      "%zu members", n);
	CHECK(seen[0].heard == of("a")->heard && seen[0].heard, "heard at %lld", (long long)seen[0].heard);
	CHECK(fabs(seen[0].p50 - 256) < 1 && fabs(seen[0].p99 - 506) < 1 && seen[1].p50 < 0 && seen[1].p99 < 0,
	      "%g, %g", seen[0].p50, seen[0].p99);
	free(seen);
}

/* Whom no rule names is followed as long as there is room; what is beyond it is said once, and not followed. */
static void too_many(void)
{
	static const char warning[] =
		"fleet: zz is one of more than 4096 members, and not followed: name those that matter "
		"(fleet accept NAME)";
	int was = dup(STDERR_FILENO), to = memfd_create("said", MFD_CLOEXEC);
	char name[20], text[1000];
	ssize_t n;

	begin();
	for (int i = 0; i < MEMBERS_MOST; i++) {
		snprintf(name, sizeof(name), "m%d", i);
		take("member", name, "", "", "", "");
	}
	CHECK(m.n == MEMBERS_MOST, "%zu members", m.n);
	heard();
	ENOUGH(was >= 0 && to >= 0 && dup2(to, STDERR_FILENO) >= 0);
	take("member", "zz", "", "", "", "");
	SAYS("unfollow\tzz\n");
	take("snapshot", "zy", "", "", "", "");
	SAYS("unfollow\tzy\n");
	take("+", "zx", "192.0.2.1", "0", "", "");
	take("at", "zx", EPOCH, "3", "6-1", "30");
	take("member", "edge-7", "", "", "", "");
	take("member", "no/name", "", "", "", "");
	SAYS("");
	take("member", "m5", "", "", "", "");
	dup2(was, STDERR_FILENO);
	close(was);
	n = pread(to, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	close(to);
	CHECK(strstr(text, warning) && !strstr(strstr(text, warning) + strlen(warning), "is one of") &&
		      m.n == MEMBERS_MOST,
	      "%zu members: '%s'", m.n, text);
	members_end(&m);
}

/* Its end is a place of its own, and only of one that has begun, is complete and whole. */
static void snapshots(void)
{
	begin();
	take("snapshot-end", "a", "complete", EPOCH, "4", "7-1");
	CHECK(!m.marks_n, "one that has not begun ends");
	take("snapshot", "a", "", "", "", "");
	take("-", "a", "192.0.2.1", "", "", "");
	CHECK(of("a")->seen_n == 0 && !of("a")->whole, "one more than it may say: %zu", of("a")->seen_n);
	of("a")->most = 1;
	take("snapshot", "a", "", "", "", "");
	CHECK(of("a")->snapshot && of("a")->whole, "it has not begun");
	take("+", "a", "192.0.2.1", "0", "", "");
	take("+", "a", "192.0.2.2", "0", "", "");
	CHECK(of("a")->seen_n == 2 && of("a")->whole, "%zu", of("a")->seen_n);
	take("+", "a", "192.0.2.3", "0", "", "");
	CHECK(of("a")->seen_n == 2 && !of("a")->whole, "%zu", of("a")->seen_n);
	take("snapshot-end", "a", "given up", EPOCH, "4", "7-1");
	CHECK(!of("a")->snapshot && !of("a")->seen && !m.marks_n, "given up, and it ends");
	m.orders_n = 0;
	take("snapshot", "a", "", "", "", "");
	take("at", "b", EPOCH, "8", "5-2", "1");
	take("snapshot-end", "a", "complete", EPOCH, "4", "7-1");
	CHECK(m.marks_n == 2 && members_full(&m), "%zu marks", m.marks_n);
	CHECK(!members_into_force(&m), "not in force");
	is_at("a", 4, "7-1");
	is_at("b", 8, "5-2");
	SAYS("took\tb\t5-2\ntook\ta\t7-1\n");
	CHECK(!of("a")->snapshot && !of("a")->latencies && of("b")->latencies == 1, "%zu measured", of("a")->latencies);
	take("snapshot", "a", "", "", "", "");
	members_again(&m);
	take("snapshot-end", "a", "complete", EPOCH, "5", "8-1");
	CHECK(!m.marks_n, "the program has begun again, and a snapshot goes on");
}

/* It is there once it has ended: nothing is missing of it. */
static void of_snapshot_end(const char *name)
{
	take("snapshot", name, "", "", "", "");
	take("snapshot-end", name, "complete", EPOCH, "4", "7-1");
}

static bool takes_none;
int __real_state_fleet_at_put(struct state *state, const struct fleet_at *at);
int __wrap_state_fleet_at_put(struct state *state, const struct fleet_at *at);

int __wrap_state_fleet_at_put(struct state *state, const struct fleet_at *at)
{
	return takes_none ? -EIO : __real_state_fleet_at_put(state, at);
}

/* What the state does not take is not in force, and the program is not told that it is. */
static void not_taken(void)
{
	begin();
	CHECK(!members_into_force(&m), "nothing");
	take("at", "a", EPOCH, "1", "5-1", "10");
	takes_none = true;
	CHECK(err_is(members_into_force(&m), EIO), "it is in force");
	takes_none = false;
	SAYS("");
	CHECK(!of("a")->kept && of("a")->at.n == 0, "it is at %lld", (long long)of("a")->at.n);
	take("at", "a", EPOCH, "2", "5-2", "10");
	CHECK(!members_into_force(&m), "not in force");
	is_at("a", 2, "5-2");
	SAYS("took\ta\t5-2\n");
}

/* Of a snapshot neither: that it ended is not known to anybody. */
static void end_not_taken(void)
{
	begin();
	of_snapshot_end("a");
	takes_none = true;
	CHECK(err_is(members_into_force(&m), EIO), "it is in force");
	takes_none = false;
	SAYS("");
	CHECK(!of("a")->kept && !of("a")->snapshot && !m.marks_n && !m.orders_n, "%zu marks", m.marks_n);
	is_at("a", 0, "");
	of_snapshot_end("a");
	CHECK(!members_into_force(&m), "not in force");
	SAYS("took\ta\t7-1\n");
	is_at("a", 4, "7-1");
}

/* Of which what the member says is asked, and cannot be. */
static void end_not_read(void)
{
	char from[512], to[512];

	begin();
	of_snapshot_end("a");
	snprintf(from, sizeof(from), "%s/state.db", own_context.state);
	snprintf(to, sizeof(to), "%s/apart", own_context.state);
	CHECK(!rename(from, to) && !mkdir(from, 0700), "it stays where it is");
	CHECK(members_into_force(&m) < 0, "it is in force");
	CHECK(!rmdir(from) && !rename(to, from), "it does not come back");
	SAYS("");
	of_snapshot_end("a");
	CHECK(!members_into_force(&m), "not in force");
	SAYS("took\ta\t7-1\n");
}

static bool says_none;
int __real_state_said_by(struct state *state, int64_t member, struct said **said_by, size_t *n);
int __wrap_state_said_by(struct state *state, int64_t member, struct said **said_by, size_t *n);

int __wrap_state_said_by(struct state *state, int64_t member, struct said **said_by, size_t *n)
{
	return says_none ? -EIO : __real_state_said_by(state, member, said_by, n);
}

/* Nor where the state gives everything but that. */
static void end_not_said(void)
{
	begin();
	rule("a", MEMBER_ACCEPTED, 10);
	of_snapshot_end("a");
	says_none = true;
	CHECK(err_is(members_into_force(&m), EIO), "it is in force");
	says_none = false;
	SAYS("");
	is_at("a", 0, "");
	of_snapshot_end("a");
	CHECK(!members_into_force(&m), "not in force");
	SAYS("took\ta\t7-1\n");
	is_at("a", 4, "7-1");
}

static int callocs_left = -1; /* -1: all that are asked for */
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

void *__wrap_calloc(size_t n, size_t size)
{
	return callocs_left && callocs_left-- ? __real_calloc(n, size) : NULL;
}

static void no_memory(void)
{
	struct fleet_members is;
	int err;

	for (int n = 0; n < 3; n++) {
		callocs_left = n;
		err = members_begin(&is, &own_context, &talk, "edge-7");
		callocs_left = -1;
		CHECK(n == 2 ? !err : err_is(err, ENOMEM), "with memory for %d: %s", n,
		      err ? reason(err) : "it begins");
		members_end(&is);
	}
}

/* What was measured is a time, or nothing. */
static void measured(void)
{
	static const struct {
		const char *said;
		double is;
	} each[] = { { "0", 0 }, { "1", 1 }, { "250", 250 }, { "-1", 0 }, { "-5000", 0 }, { "5x", 0 } };

	begin();
	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		take("at", "a", EPOCH, "1", "5-1", each[i].said);
		CHECK(m.marks_n == i + 1 && fabs(m.marks[i].latency - each[i].is) < 1e-9, "'%s': %g ms", each[i].said,
		      m.marks[i].latency);
	}
}

static bool gives_none;
int __real_state_members(struct state *state, struct member **members, size_t *n);
int __wrap_state_members(struct state *state, struct member **members, size_t *n);

int __wrap_state_members(struct state *state, struct member **members, size_t *n)
{
	return gives_none ? -EIO : __real_state_members(state, members, n);
}

/* Nobody is taken for one who is not followed any more while that cannot be read. */
static void not_read(void)
{
	struct state *s;

	begin();
	rule("a", MEMBER_ACCEPTED, 10);
	expect();
	SAYS("follow\ta\t-\t0\t-\t10\n");
	s = opened(false);
	gives_none = true;
	CHECK(err_is(members_expect(&m, s), EIO), "it is read");
	gives_none = false;
	state_close(s);
	SAYS("");
}

static const char *refuses; /* what ends with .66 */
static size_t in_force, waits;
int __real_into_force(struct into_force *f, struct ban_order *given, size_t n);
int __wrap_into_force(struct into_force *f, struct ban_order *given, size_t n);

int __wrap_into_force(struct into_force *f, struct ban_order *given, size_t n)
{
	if (!refuses)
		return __real_into_force(f, given, n);
	for (size_t i = 0; i < n; i++) {
		if ((given[i].prefix.first.num & 255) != 66) {
			in_force++;
			CHECK(!given[i].again || !strcmp(given[i].account, "a"), "%s says it", given[i].account);
			continue;
		}
		f->refused_n++;
		f->refused(f->arg, i, refuses);
	}
	f->waits += waits;
	f->done(f->arg, n);
	return 0;
}

static void waits_of(const char *text, int64_t added)
{
	struct said one = { .ban = { .added = added, .expires = time(NULL) + 600 } };
	struct state *s = opened(true);
	struct member member;
	bool fresh;

	ENOUGH(!state_member_get(s, "a", &member) &&
	       !prefix_parse(text, strlen(text), &one.ban.first, &one.ban.length));
	one.member = member.id;
	CHECK(!state_said_put(s, &one, &fresh) && !state_commit(s), "%s", text);
	state_close(s);
}

static void asks_again(size_t puts, int64_t ms)
{
	int64_t before = clock_ms();

	in_force = 0;
	members_ask_again(&m);
	CHECK(in_force == puts, "%zu come into force, not %zu", in_force, puts);
	CHECK(m.ask_at >= before + ms && m.ask_at <= clock_ms() + ms, "asked again after %lld ms",
	      (long long)(m.ask_at - before));
}

/* It is asked for again as soon as the process runs; then every half minute as long as anything waits. */
static void what_waits(void)
{
	begin();
	rule("a", MEMBER_ACCEPTED, 10);
	CHECK(!m.ask_at, "not at once");
	refuses = "needed still";
	waits_of("198.51.100.1", time(NULL));
	asks_again(0, 600000);
	take("+", "a", "192.0.2.1", "0", "", "");
	CHECK(!members_into_force(&m) && m.ask_at > clock_ms() + 100000, "nothing waits");
	waits = 1;
	take("+", "a", "192.0.2.1", "0", "", "");
	CHECK(!members_into_force(&m) && m.ask_at <= clock_ms() + 30000 && m.ask_at > clock_ms(), "it waits");
	waits = 0;
	waits_of("198.51.100.2", SAID_WAITS);
	waits_of("198.51.100.66", SAID_WAITS);
	asks_again(1, 30000);
	CHECK(!of("a")->refused && !of("a")->bad, "it is refused");
	/* One that cannot be read is no reason to ask without an end. */
	gives_none = true;
	asks_again(0, 30000);
	gives_none = false;
	refuses = NULL;
}

/* Each refusal counts for whoever said it, with its reason, which may be anything. */
static void refused_by_rail(void)
{
	struct member_seen *seen;
	size_t n;

	begin();
	take("+", "a", "192.0.2.1", "0", "", "");
	take("+", "b", "192.0.2.66", "0", "", "");
	take("+", "c", "192.0.2.66", "0", "", "");
	take("-", "a", "192.0.2.2", "0", "", "");
	take("+", "c", "198.51.100.66", "0", "", "");
	take("at", "c", EPOCH, "5", "5-1", "0");
	refuses = "that is \033you";
	in_force = 0;
	CHECK(!members_into_force(&m) && in_force == 2, "%zu are in force", in_force);
	refuses = NULL;
	CHECK(!of("a")->refused && !of("a")->bad && !*of("a")->why, "a: %zu refused", (size_t)of("a")->refused);
	CHECK(of("b")->refused == 1 && of("b")->bad == 1 && !strcmp(of("b")->why, "that is ?you"),
	      "b: %zu refused, '%s'", (size_t)of("b")->refused, of("b")->why);
	CHECK(of("c")->refused == 2 && of("c")->bad == 2 && !strcmp(of("c")->why, "that is ?you"),
	      "c: %zu refused, '%s'", (size_t)of("c")->refused, of("c")->why);
	/* How far it is goes on behind it. */
	is_at("c", 5, "5-1");
	SAYS("took\tc\t5-1\n");
	CHECK(!members_seen(&m, &seen, &n) && n == 3 && seen[2].bad == 2 && !strcmp(seen[2].why, "that is ?you"),
	      "%zu members", n);
	free(seen);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "followed", followed },
		{ "orders", orders },
		{ "too many", too_many },
		{ "places", places },
		{ "snapshots", snapshots },
		{ "not taken", not_taken },
		{ "its end not taken", end_not_taken },
		{ "its end not read", end_not_read },
		{ "its end not said", end_not_said },
		{ "no memory", no_memory },
		{ "measured", measured },
		{ "not read", not_read },
		{ "refused", refused_by_rail },
		{ "what waits", what_waits },
	};

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
