// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a machine says to its fleet: a state of its own on one side, and the lines that go out and come back on the
 * other, with this test as the program between them. Nothing that is said is forgotten before it is there.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "change/accounts.h"
#include "feeds/fleet_saying.h"
#include "state/events.h"

#include "own_state.h"

#define EPOCH  "0123456789abcdef"
#define OTHERS "fedcba9876543210"

static struct fleet_talk talk;
static struct fleet_seen seen;
static struct fleet_saying own;
static char said[2 << 20];

/* --- What is wrapped --- */

static bool gives_none;
int __real_account_own(struct state *state, struct addr first, unsigned int length, struct ban *ban);
int __wrap_account_own(struct state *state, struct addr first, unsigned int length, struct ban *ban);

int __wrap_account_own(struct state *state, struct addr first, unsigned int length, struct ban *ban)
{
	return gives_none ? -EIO : __real_account_own(state, first, length, ban);
}

static int64_t stands_at; /* ms; 0: the clock goes */
int __real_clock_gettime(clockid_t clock, struct timespec *is);
int __wrap_clock_gettime(clockid_t clock, struct timespec *is);

int __wrap_clock_gettime(clockid_t clock, struct timespec *is)
{
	if (!stands_at || clock != CLOCK_MONOTONIC)
		return __real_clock_gettime(clock, is);
	*is = (struct timespec){ stands_at / 1000, stands_at % 1000 * 1000000 };
	return 0;
}

/* --- */

static void begin(const char *say)
{
	struct fleet fleet = { .url = "redis://a", .name = "edge-7" };
	struct state *s;

	empty_directory();
	strcpy(fleet.say, say);
	s = opened(true);
	CHECK(!state_fleet_join(s, &fleet) && !state_commit(s), "it cannot join");
	state_close(s);
	free(talk.out);
	talk = (struct fleet_talk){ .fd = -1, .out = malloc(2 << 20) };
	seen = (struct fleet_seen){ 0 };
	saying_begin(&own, &own_context, &talk, &seen);
	saying_again(&own);
}

/* What goes out now. */
static const char *turn(void)
{
	int err = saying_turn(&own);

	CHECK(!err, "%s", reason(err));
	memcpy(said, talk.out, talk.said);
	said[talk.said] = '\0';
	talk.said = 0;
	return said;
}

#define SAYS(text)                                                                \
	do {                                                                      \
		const char *is = turn();                                          \
		CHECK(!strcmp(is, text), "it says '%s', and not '%s'", is, text); \
	} while (0)

static bool take(const char *a, const char *b, const char *c, const char *d)
{
	char *words[TALK_WORDS] = { (char *)a, (char *)b, (char *)c, (char *)d };
	int err = 0;
	bool taken;

	for (int i = 4; i < TALK_WORDS; i++)
		words[i] = (char *)"";
	taken = saying_take(&own, words, &err);
	CHECK(!err, "%s: %s", a, reason(err));
	return taken;
}

static struct ban ban_of(const char *text, const char *why)
{
	struct ban ban = { .added = 1 };

	CHECK(!prefix_parse(text, strlen(text), &ban.first, &ban.length), "%s", text);
	snprintf(ban.reason, sizeof(ban.reason), "%s", why);
	return ban;
}

/* As a command does: a ban that is new, or changes; or, without a reason, is taken out. */
static void change_due(const char *text, const char *why, int64_t expires, int64_t due)
{
	struct ban ban = ban_of(text, why ?: "");
	struct prefix prefix = { ban.first, ban.length };
	struct state *s = opened(true);
	bool renewed = false;
	int err;

	ban.expires = expires;
	ban.due = due;
	err = why ? state_ban_put(s, &ban, &renewed) : state_ban_drop(s, ban.first, ban.length);
	err = err ?: state_own_changed(s, &prefix, why ? &ban : NULL, why && !renewed) ?: state_commit(s);
	CHECK(!err, "%s: %s", text, reason(err));
	state_close(s);
}

static void change(const char *text, const char *why, int64_t expires)
{
	change_due(text, why, expires, 0);
}

static struct fleet fleet_is(int64_t *waiting)
{
	struct state *s = opened(false);
	struct fleet fleet;

	CHECK(!state_fleet(s, &fleet) && !state_fleet_waiting(s, waiting), "it cannot be read");
	state_close(s);
	return fleet;
}

static void is(const char *epoch, int64_t n, bool all, int64_t waits)
{
	int64_t waiting;
	struct fleet f = fleet_is(&waiting);

	CHECK(!strcmp(f.epoch, epoch) && f.n == n && !f.all == !all && waiting == waits,
	      "epoch '%s', %lld said, all %lld, %lld wait", f.epoch, (long long)f.n, (long long)f.all,
	      (long long)waiting);
}

/* From joining on, up to where the server has everything. */
static void joined(const char *say)
{
	char epoch[FLEET_EPOCH_MAX];

	begin(say);
	SAYS("");
	CHECK(saying_due(&own) == INT64_MAX, "something is due before it is known what the server has");
	CHECK(take("own-is", "-", "0", ""), "not taken");
	CHECK(saying_due(&own) == 0, "nothing is due");
	turn();
	CHECK(sscanf(said, "all\t%16[0-9a-f]", epoch) == 1 && strlen(epoch) == 16 && strstr(said, "\nall-end\t1\n"),
	      "it says '%s'", said);
	CHECK(saying_due(&own) == INT64_MAX, "more is due before that is there");
	CHECK(take("said", "1", epoch, "7"), "not taken");
	is(epoch, 7, false, 0);
	SAYS("");
}

static void everything(void)
{
	char soon[32];
	int64_t now = time(NULL);
	long left;

	begin("all");
	change("192.0.2.1", "b\tc", 0);
	change("192.0.2.0/24", "a", now + 100000);
	change("2001:db8::/48", "c", now + 7000000000);
	change("198.51.100.1", "over", now - 10);
	take("own-is", "-", "0", "");
	turn();
	CHECK(strstr(said, "+\t192.0.2.1\t0\tb?c\n"), "without an end: '%s'", said);
	CHECK(sscanf(strstr(said, "+\t192.0.2.0/24\t") ?: "", "+\t192.0.2.0/24\t%ld\ta", &left) == 1 &&
		      left > 99000000 && left <= 100000000,
	      "with an end: '%s'", said);
	CHECK(strstr(said, "+\t2001:db8::/48\t6000000000000\tc\n"), "an end that is far: '%s'", said);
	CHECK(!strstr(said, "198.51.100.1"), "one that is over: '%s'", said);
	CHECK(!strncmp(said, "all\t", 4) && strstr(said, "\nall-end\t1\n"), "'%s'", said);
	/* What changes meanwhile is said behind it. */
	change("203.0.113.1", "late", 0);
	snprintf(soon, sizeof(soon), "%s", own.epoch);
	take("said", "1", soon, "3");
	is(soon, 3, false, 1);
	SAYS("+\t203.0.113.1\t0\tlate\nbatch\t2\n");
	take("said", "2", soon, "4");
	is(soon, 4, false, 0);
	CHECK(seen.said == 2, "%lld batches", (long long)seen.said);
}

/* An end by the machine's own clock is nothing that the date can move. */
static void by_its_own_clock(void)
{
	int64_t now = time(NULL);
	long left;

	begin("all");
	change_due("203.0.113.9", "due", now - 10, clock_boot() + 1000000000000);
	take("own-is", "-", "0", "");
	turn();
	CHECK(sscanf(strstr(said, "+\t203.0.113.9\t") ?: "", "+\t203.0.113.9\t%ld\tdue", &left) == 1 && left > 900000 &&
		      left <= 1000000,
	      "'%s'", said);
}

/* Each prefix as it is when it is said. */
static void changes(void)
{
	char epoch[FLEET_EPOCH_MAX];

	joined("all");
	snprintf(epoch, sizeof(epoch), "%s", own.epoch);
	change("192.0.2.1", "one", 0);
	change("192.0.2.2", "two", 0);
	change("192.0.2.1", "again", 0);
	change("192.0.2.2", NULL, 0);
	SAYS(""); /* nobody has told it */
	saying_again(&own);
	SAYS("");
	take("own-is", epoch, "7", "");
	SAYS("+\t192.0.2.1\t0\tagain\n-\t192.0.2.2\nbatch\t2\n");
	is(epoch, 7, false, 2);
	change("192.0.2.1", NULL, 0);
	SAYS("");
	/* An answer that is no answer to it. */
	take("said", "1", epoch, "9");
	take("said", "3", epoch, "9");
	take("said", "2", epoch, "-1");
	take("said", "2", epoch, "4611686018427387904");
	take("said", "2", "x123456789abcdef", "9");
	take("said", "2", "123456789abcdef", "9");
	is(epoch, 7, false, 2);
	SAYS("");
	take("said", "2", epoch, "9");
	is(epoch, 9, false, 1);
	SAYS("-\t192.0.2.1\nbatch\t3\n");
	take("said", "3", epoch, "10");
	take("said", "3", epoch, "11");
	is(epoch, 10, false, 0);
	SAYS("");
	CHECK(saying_due(&own) == INT64_MAX, "something is due");
}

static void chosen(void)
{
	joined("ssh");
	change("192.0.2.1", "ssh: many", 0);
	change("192.0.2.2", "web", 0);
	own.again = true;
	SAYS("+\t192.0.2.1\t0\tssh: many\nbatch\t2\n");
	take("said", "2", own.epoch, "8");
	change("192.0.2.1", "web", 0);
	own.again = true;
	SAYS("-\t192.0.2.1\nbatch\t3\n");
}

/* Batches that are refused stay, and come again later. */
static void refused(void)
{
	static const char *const why[] = { "NOPERM \033no", "down", "lost" };
	char epoch[FLEET_EPOCH_MAX], number[24], wanted[100];

	joined("all");
	own.batch = 20; /* from here on its numbers have two digits */
	snprintf(epoch, sizeof(epoch), "%s", own.epoch);
	for (int i = 0; i < 3; i++) {
		int64_t before;

		change("192.0.2.1", why[i], 0);
		own.again = true;
		turn();
		take("unsaid", "99", "NOPERM", "");
		CHECK(saying_due(&own) == INT64_MAX && !*seen.unsaid, "an answer to another batch");
		before = clock_ms();
		snprintf(number, sizeof(number), "%lld", (long long)own.batch);
		take("unsaid", number, why[i], "");
		CHECK(saying_due(&own) >= before + 5000 && saying_due(&own) <= clock_ms() + 5000, "due in %lld ms",
		      (long long)(saying_due(&own) - before));
		/* That a server is down is told otherwise. */
		CHECK(!strcmp(seen.unsaid, i ? "" : "NOPERM ?no") && own.refused == !i, "'%s'", seen.unsaid);
		SAYS("");
		is(epoch, 7 + i, false, 1);
		take("unsaid", number, "once more", "");
		CHECK(strcmp(seen.unsaid, "once more") != 0, "refused twice");
		own.later_at = clock_ms();
		snprintf(wanted, sizeof(wanted), "+\t192.0.2.1\t0\t%s\nbatch\t%lld\n", i ? why[i] : "NOPERM ?no",
			 (long long)own.batch + 1);
		SAYS(wanted);
		snprintf(number, sizeof(number), "%lld", (long long)own.batch);
		snprintf(wanted, sizeof(wanted), "%d", 8 + i);
		take("said", number, epoch, wanted);
		CHECK(!*seen.unsaid && !own.refused, "'%s'", seen.unsaid);
		SAYS("");
	}
}

/* What the server has is the same, is more than was known, or is something else. */
static void compared(void)
{
	static const struct {
		const char *epoch, *n, *lost;
		int64_t waits, knows;
	} known[] = {
		{ EPOCH, "10", NULL, 2, 10 },
		{ EPOCH, "11", NULL, 2, 11 },
		{ EPOCH, "12", NULL, 2, 12 },
		{ EPOCH, "13", "the server has an earlier state of what this machine had said, or this one", 0, 10 },
		{ EPOCH, "9", "the server has an earlier state of what this machine had said, or this one", 0, 10 },
		{ OTHERS, "10", "the server has something else than this machine had said", 0, 10 },
		{ "-", "0", "the server has nothing of what this machine had said", 0, 10 },
	};
	struct state *s;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		begin("all");
		s = opened(true);
		CHECK(!state_fleet_said(s, EPOCH, 10, 0, 1) && !state_commit(s), "no state");
		state_close(s);
		change("192.0.2.1", "one", 0);
		change("192.0.2.2", "two", 0);
		is(EPOCH, 10, false, 2);
		CHECK(take("own-is", known[i].epoch, known[i].n, ""), "not taken");
		is(EPOCH, known[i].knows, known[i].lost, known[i].waits);
		CHECK(known[i].lost ? !strncmp(seen.lost, known[i].lost, strlen(known[i].lost)) && seen.lost_at
				    : !*seen.lost && !seen.lost_at,
		      "%s of '%s': '%s'", known[i].n, known[i].epoch, seen.lost);
		turn();
		CHECK(!strncmp(said, "all\t", 4) == !!known[i].lost && strstr(said, "192.0.2.2"), "it says '%s'", said);
	}
	/* While everything is to be said anyway, nothing is lost. */
	begin("all");
	take("own-is", OTHERS, "3", "");
	CHECK(!*seen.lost, "'%s'", seen.lost);
	is("", 0, true, 0);
	begin("all");
	s = opened(true);
	CHECK(!state_fleet_said(s, EPOCH, 10, 0, 1) && !state_commit(s), "no state");
	state_close(s);
	CHECK(take("own-lost", "", "", ""), "not taken");
	CHECK(!strcmp(seen.lost, "the server has lost what this machine had said"), "'%s'", seen.lost);
	is(EPOCH, 10, true, 0);
	begin("all");
	s = opened(true);
	CHECK(!state_fleet_said(s, EPOCH, 10, 0, 1) && !state_commit(s), "no state");
	state_close(s);
	CHECK(take("own-lost", "it is \033gone", "", "") && !strcmp(seen.lost, "it is ?gone"), "'%s'", seen.lost);
	CHECK(!take("member", "x", "", "") && !take("", "", "", ""), "what is about others is taken");
}

enum { MANY = 4500 };

/* Which of the many are in what was said; how many lines. */
static size_t hear(bool heard[MANY])
{
	size_t lines = 0;

	for (const char *line = said; (line = strstr(line, "+\t10.0.")); line++, lines++) {
		unsigned int high, low, i;

		if (!CHECK(sscanf(line, "+\t10.0.%u.%u\t", &high, &low) == 2, "'%.30s'", line))
			break;
		i = high << 8 | low;
		if (!CHECK(i < MANY && !heard[i], "%u is said twice", i))
			break;
		heard[i] = true;
	}
	return lines;
}

/* More than fits at once: in pages and batches, each once. */
static void many(void)
{
	begin("all");
	for (int round = 0; round < 2; round++) {
		bool heard[MANY] = { false };
		struct state *s = opened(true);
		size_t failed = 0, lines;

		for (unsigned int i = 0; i < MANY; i++) {
			struct ban ban = { .first = { 0x0a000000 + i, 4 }, .length = 32, .added = 1 };
			struct prefix prefix = { ban.first, ban.length };
			bool renewed;

			failed += state_ban_put(s, &ban, &renewed) ||
				  (round && state_own_changed(s, &prefix, &ban, !renewed));
		}
		CHECK(!failed && !state_commit(s), "%zu failed", failed);
		state_close(s);
		own.again = true;
		if (!round)
			take("own-is", "-", "0", "");
		while (*turn() && !ktap_failed) {
			char number[24];

			lines = hear(heard);
			CHECK(lines <= (round ? 2000 : MANY) && own.is == OWN_SENT, "%zu lines", lines);
			snprintf(number, sizeof(number), "%lld", (long long)own.batch);
			take("said", number, own.epoch, number);
		}
		for (int i = 0; i < MANY; i++)
			failed += !heard[i];
		CHECK(!failed, "%zu were not said", failed);
	}
	CHECK(own.batch == 4, "%lld batches", (long long)own.batch);
}

/* Without room nothing is said; and one that has left says nothing. */
static void neither(void)
{
	struct state *s;

	begin("all");
	take("own-is", "-", "0", "");
	talk.said = 600 << 10;
	CHECK(!saying_turn(&own) && talk.said == 600 << 10 && saying_due(&own) == INT64_MAX, "%zu bytes", talk.said);
	talk.said = 0;
	talk.ended = true;
	SAYS("");
	talk.ended = false;
	s = opened(true);
	CHECK(!state_fleet_leave(s) && !state_commit(s), "it cannot leave");
	state_close(s);
	SAYS("");
	take("own-is", EPOCH, "3", "");
	take("own-lost", "", "", "");
	CHECK(!*seen.lost, "'%s'", seen.lost);
}

/* Where the state cannot be read, that is its end. */
static void unreadable(void)
{
	struct context elsewhere = own_context;
	int err;

	elsewhere.state = "/dev/null/state";
	begin("all");
	take("own-is", "-", "0", "");
	own.context = &elsewhere;
	err = saying_turn(&own);
	CHECK(err && !err_is(err, ENOENT) && !talk.said, "%s", err ? reason(err) : "no error");
	/* What is there is not known as said before that is kept. */
	joined("all");
	change("192.0.2.1", "one", 0);
	own.again = true;
	SAYS("+\t192.0.2.1\t0\tone\nbatch\t2\n");
	own.context = &elsewhere;
	{
		char *words[TALK_WORDS] = { (char[]){ "said" }, (char[]){ "2" }, own.epoch, (char[]){ "8" } };
		int64_t batches = seen.said;

		err = 0;
		CHECK(saying_take(&own, words, &err) && err && own.is == OWN_SENT && seen.said == batches, "%s",
		      err ? reason(err) : "no error");
	}
	is(own.epoch, 7, false, 1);
	own.context = &own_context;
	take("said", "2", own.epoch, "8");
	is(own.epoch, 8, false, 0);
}

/* It is kept under the lock that all take who change the state: while another has it, it is not known as said. */
static void locked(void)
{
	struct context hurried = own_context;
	char *words[TALK_WORDS] = { (char[]){ "said" }, (char[]){ "2" }, own.epoch, (char[]){ "8" } };
	int pair[2], err = 0;
	char path[220], begun;
	pid_t other;

	joined("all");
	change("192.0.2.1", "one", 0);
	own.again = true;
	SAYS("+\t192.0.2.1\t0\tone\nbatch\t2\n");
	snprintf(path, sizeof(path), "%s/" STATE_LOCK, directory);
	ENOUGH(!pipe(pair));
	other = fork();
	if (!other)
		_exit(lock_take(path, 0) < 0 || write(pair[1], "", 1) != 1 || pause());
	close(pair[1]);
	CHECK(other > 0 && read(pair[0], &begun, 1) == 1, "there is no other");
	hurried.wait = 0;
	own.context = &hurried;
	CHECK(saying_take(&own, words, &err) && err_is(err, EBUSY) && own.is == OWN_SENT, "%s",
	      err ? reason(err) : "no error");
	own.context = &own_context;
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	close(pair[0]);
	is(own.epoch, 7, false, 1);
	take("said", "2", own.epoch, "8");
	is(own.epoch, 8, false, 0);
}

/* What of this machine's own cannot be read is not said, and is no end of it; nor is it known what was lost. */
static void not_given(void)
{
	struct context elsewhere = own_context;
	int err;

	joined("all");
	change("192.0.2.1", "one", 0);
	own.again = true;
	gives_none = true;
	err = saying_turn(&own);
	gives_none = false;
	CHECK(err_is(err, EIO) && !talk.said && own.is == OWN_READY && own.batch == 1, "changes: %s, %zu bytes",
	      err ? reason(err) : "no error", talk.said);
	own.again = true;
	SAYS("+\t192.0.2.1\t0\tone\nbatch\t2\n");
	begin("all");
	change("192.0.2.1", "one", 0);
	take("own-is", "-", "0", "");
	gives_none = true;
	err = saying_turn(&own);
	gives_none = false;
	CHECK(err_is(err, EIO) && own.is == OWN_ALL && !memmem(talk.out, talk.said, "all-end", 7), "all: %s",
	      err ? reason(err) : "no error");
	elsewhere.state = "/dev/null/state";
	for (int i = 0; i < 2; i++) {
		char *words[TALK_WORDS] = { (char[]){ "own-is" }, (char[]){ EPOCH }, (char[]){ "3" } };

		words[0] = i ? (char[]){ "own-lost" } : words[0];
		begin("all");
		own.context = &elsewhere;
		err = 0;
		CHECK(saying_take(&own, words, &err) && err && !err_is(err, ENOENT) && own.is == OWN_SILENT, "%s: %s",
		      words[0], err ? reason(err) : "no error");
	}
}

/* How many events say so. */
static size_t events_of(const char *what)
{
	struct events_tail tail;
	char line[EVENT_LINE_MAX];
	size_t n = 0;

	events_begin(&tail, directory);
	events_from_start(&tail, directory);
	while (events_next(&tail, line))
		n += strstr(line, what) != NULL;
	return n;
}

static void another_says_it(void)
{
	struct state *s = opened(true);

	CHECK(!state_fleet_said(s, EPOCH, 10, 0, 1) && !state_commit(s), "no state");
	state_close(s);
	CHECK(take("own-lost", "another machine says it", "", ""), "not taken");
}

/* That is told once, at the third time that comes soon behind the one before; and of each time nothing more then. */
static void told_once(void)
{
	begin("all");
	stands_at = 1000000;
	for (size_t i = 0; i < 6; i++, stands_at += 20) {
		size_t again = i < 2 ? i + 1 : 2, twice = i < 2 ? 0 : 1;

		another_says_it();
		CHECK(own.said_twice == (twice > 0) && events_of("another machine takes part as 'edge-7'") == twice &&
			      events_of("all of it is said again") == again,
		      "%zu: %d, %zu said again", i, own.said_twice, events_of("all of it is said again"));
	}
	stands_at = 0;
}

/* A minute behind what it waited is not soon any more; a millisecond less is. */
static void soon(void)
{
	static const struct {
		int64_t after, waits;
	} next[] = { { 60000, 0 }, { 59999, 5000 }, { 64999, 10000 }, { 69999, 20000 },
		     { 80000, 0 }, { 59999, 5000 }, { 65000, 0 } };

	begin("all");
	stands_at = 1000000;
	another_says_it();
	for (size_t i = 0; i < sizeof(next) / sizeof(*next); i++) {
		stands_at += next[i].after;
		another_says_it();
		CHECK(own.lost_wait == next[i].waits, "%zu: it waits %lld ms", i, (long long)own.lost_wait);
	}
	stands_at = 0;
}

/* Two machines of one name take turns: each waits longer, up to five minutes; but after a pause it is the first again.
 */
static void two_of_one_name(void)
{
	static const int64_t waits[] = { 0, 5000, 10000, 20000, 40000, 80000, 160000, 300000, 300000 };
	struct state *s;

	begin("all");
	for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++) {
		s = opened(true);
		CHECK(!state_fleet_said(s, EPOCH, 10, 0, 1) && !state_commit(s), "no state");
		state_close(s);
		CHECK(take("own-lost", "another machine says it", "", "") && own.lost_wait == waits[i],
		      "%zu: it waits %lld ms", i, (long long)own.lost_wait);
		CHECK(own.is == (waits[i] ? OWN_LATER : OWN_READY) &&
			      (!waits[i] || own.later_at == own.lost_last + waits[i]),
		      "%zu: it is another", i);
	}
	own.lost_last -= 60000 + own.lost_wait;
	s = opened(true);
	CHECK(!state_fleet_said(s, EPOCH, 10, 0, 1) && !state_commit(s), "no state");
	state_close(s);
	CHECK(take("own-lost", "another machine says it", "", "") && !own.lost_wait && own.is == OWN_READY,
	      "after a pause it waits %lld ms", (long long)own.lost_wait);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "two of one name", two_of_one_name },
		{ "everything", everything },
		{ "by its own clock", by_its_own_clock },
		{ "changes", changes },
		{ "chosen", chosen },
		{ "refused", refused },
		{ "compared", compared },
		{ "many", many },
		{ "neither", neither },
		{ "unreadable", unreadable },
		{ "locked", locked },
		{ "not given", not_given },
		{ "told once", told_once },
		{ "soon", soon },
	};

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
