// SPDX-License-Identifier: GPL-2.0-only
/*
 * After a step back to a version that knows no fleet: of each prefix what is in force by then, what is said of it, and
 * what becomes of it; and where a call fails. The state, and who judges, are made up.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "change/accounts_internal.h"
#include "change/change.h"
#include "shown.h"
#include "state/fleet.h"
#include "state/state.h"

static const struct shown known[] = {
#include "unit_stepped_back.txt"
};

static struct shows shows = { .file = "tests/unit/unit_stepped_back.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define NOW  1000000
#define MOST 16

static struct said rows[MOST];
static struct ban in_force, judged; /* of each prefix; no length: none */
static size_t rows_n;
static bool stepped, joined;
static unsigned int calls, fails_at;

__attribute__((format(printf, 1, 2))) static int call(const char *format, ...)
{
	bool fails = ++calls == fails_at;
	va_list args;

	printf("  ");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	puts(fails ? ": fails" : "");
	return fails ? -EIO : 0;
}

static const char *prefix_of(struct addr first, unsigned int length)
{
	static char text[PREFIX_TEXT_MAX];

	return prefix_text(text, first, (int)length);
}

static int given_know(struct change *change)
{
	change->accounts.known = true;
	return call("who the members are");
}

/* Member 3 is gone. */
static struct account_held *given_account(const struct accounts *accounts, int64_t id)
{
	static struct account_held members[5];

	if (!accounts->known)
		puts("  nobody knows them");
	if (id < 1 || id > 4 || id == 3)
		return NULL;
	snprintf(members[id].is.name, sizeof(members[id].is.name), "member-%d", (int)id);
	return &members[id];
}

static void given_words(struct ban *ban, const struct account_held *by)
{
	char reason[BAN_REASON_MAX];

	snprintf(reason, sizeof(reason), "%.20s: %.100s", by->is.name, ban->reason);
	memcpy(ban->reason, reason, sizeof(reason));
}

static bool given_judge_all(struct accounts *accounts, struct said *said, size_t n, int64_t now, struct ban *is)
{
	printf("  of %s %zu rows, the first of %d%s%s\n", prefix_of(said[0].ban.first, said[0].ban.length), n,
	       (int)said[0].member, now == NOW ? "" : ", at another time", accounts->known ? "" : ", not known");
	*is = judged;
	return judged.length;
}

static int given_judge(struct change *change, struct addr first, unsigned int length)
{
	change->touched.n6++;
	return call("judge %s", prefix_of(first, length));
}

static int given_returned(struct change *change)
{
	return call("judge what returned%s", change->accounts.known ? "" : ", not known");
}

static void given_free(struct accounts *accounts)
{
	accounts->known = false;
	puts("  freed");
}

static int given_said(struct state *state, struct said **said, size_t *n)
{
	int err = call("what is said");

	if (err)
		return err;
	if (state)
		puts("  of another state");
	*said = malloc(sizeof(rows));
	if (!*said)
		abort();
	memcpy(*said, rows, sizeof(rows));
	/* Behind the last there is none, whatever lies there. */
	if (rows_n)
		(*said)[rows_n] = rows[rows_n - 1];
	*n = rows_n;
	return 0;
}

static int given_ban(struct state *state, struct addr first, unsigned int length, struct ban *ban)
{
	int err = call("what is in force of %s", prefix_of(first, length));

	(void)state;
	*ban = in_force;
	return err ?: in_force.length ? 0 : -ENOENT;
}

static int given_put(struct state *state, const struct said *said, bool *fresh)
{
	(void)state;
	(void)fresh;
	return call("its own word is: %s, '%s', until %lld, member %d", prefix_of(said->ban.first, said->ban.length),
		    said->ban.reason, (long long)said->ban.expires, (int)said->member);
}

static int given_drop(struct state *state, struct addr first, unsigned int length, int64_t member)
{
	(void)state;
	return call("its own word is no more: %s, member %d", prefix_of(first, length), (int)member);
}

static bool given_stepped(const struct state *state)
{
	(void)state;
	return stepped;
}

static bool given_joined(const struct state *state)
{
	(void)state;
	return joined;
}

static int given_say_all(struct state *state)
{
	(void)state;
	return call("say all");
}

static void given_agree(struct state *state)
{
	(void)state;
	puts("  they agree");
}

static time_t given_time(time_t *to)
{
	(void)to;
	return NOW;
}

#define accounts_know	       given_know
#define account_of_id	       given_account
#define account_in_words       given_words
#define account_judge_all      given_judge_all
#define account_judge	       given_judge
#define account_judge_returned given_returned
#define accounts_free	       given_free
#define state_said	       given_said
#define state_ban_get	       given_ban
#define state_said_put	       given_put
#define state_said_drop	       given_drop
#define state_stepped_back     given_stepped
#define state_joined	       given_joined
#define state_fleet_say_all    given_say_all
#define state_bans_agree       given_agree
#define time		       given_time
#include "change/stepped_back.c"
#undef time

static void begin(void)
{
	memset(rows, 0, sizeof(rows));
	in_force = judged = (struct ban){ 0 };
	rows_n = 0;
	stepped = true;
	joined = false;
	calls = fails_at = 0;
}

static struct ban ban_of(const char *prefix, const char *reason, int64_t expires)
{
	struct ban ban = { .expires = expires };

	if (prefix_parse(prefix, strlen(prefix), &ban.first, &ban.length))
		abort();
	snprintf(ban.reason, sizeof(ban.reason), "%s", reason);
	return ban;
}

static void says(int64_t member, const char *prefix, const char *reason)
{
	rows[rows_n++] = (struct said){ ban_of(prefix, reason, 0), member };
}

static void mended(const char *what)
{
	struct touched touched = { .n6 = 5 };
	size_t n = 77;
	int err;

	printf("%s:\n", what);
	err = stepped_back(NULL, &touched, &n);
	printf("  = %s, %zu mended, %zu touched\n", err ? errno_text(err) : "done", n, touched.n6);
}

static void none(void)
{
	mended("nothing is said");
	stepped = false;
	says(1, "192.0.2.1", "one");
	mended("it has not stepped back");
	begin();
	joined = true;
	mended("in a fleet");
}

/* What is in force, what is to be, and whether this machine has said something itself. */
static void each_way(void)
{
	static const struct {
		const char *what, *is, *wanted;
		int64_t is_until, wanted_until;
		bool own;
	} each[] = {
		{ "neither", NULL, NULL, 0, 0, false },
		{ "neither, and it said so", NULL, NULL, 0, 0, true },
		{ "wanted", NULL, "one", 0, 0, false },
		{ "wanted, and it said so", NULL, "one", 0, 0, true },
		{ "there alone", "somebody", NULL, 0, 0, false },
		{ "there alone, and it said so", "somebody", NULL, 0, 0, true },
		{ "there alone, a member's", "member-2: two", NULL, 0, 0, false },
		{ "the words of one who is gone", "member-3: three", NULL, 0, 0, false },
		{ "over", "somebody", NULL, NOW, 0, false },
		{ "not over yet", "somebody", NULL, NOW + 1, 0, false },
		{ "the same", "member-1: one", "member-1: one", 0, 0, true },
		{ "another reason", "somebody", "member-1: one", 0, 0, true },
		{ "another reason, a member's", "member-2: two", "member-1: one", 0, 0, true },
		{ "the same end", "a", "a", NOW + 50, NOW + 50, false },
		{ "a second later", "a", "a", NOW + 50, NOW + 51, false },
		{ "a second sooner", "a", "a", NOW + 50, NOW + 49, false },
		{ "two seconds later", "a", "a", NOW + 50, NOW + 52, false },
		{ "two seconds sooner", "a", "a", NOW + 50, NOW + 48, false },
		{ "without an end", "a", "a", NOW + 50, 0, false },
		{ "with one", "a", "a", 0, 1, false },
	};

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		begin();
		if (each[i].own)
			says(MEMBER_OWN, "192.0.2.1", "own");
		says(1, "192.0.2.1", "one");
		says(3, "192.0.2.1", "three");
		says(2, "192.0.2.1", "two");
		if (each[i].is)
			in_force = ban_of("192.0.2.1", each[i].is, each[i].is_until);
		if (each[i].wanted)
			judged = ban_of("192.0.2.1", each[i].wanted, each[i].wanted_until);
		mended(each[i].what);
	}
}

/* Rows of one prefix stand together. */
static void many(void)
{
	says(MEMBER_OWN, "192.0.2.0/24", "own");
	says(1, "192.0.2.0/24", "one");
	says(1, "192.0.2.0/25", "one");
	says(1, "192.0.2.128/25", "one");
	says(2, "192.0.2.128/25", "two");
	says(2, "192.0.2.128/25", "two");
	rows[rows_n - 1].ban.first.family = 6;
	says(4, "2001:db8::/32", "four");
	judged = ban_of("192.0.2.1", "one", 0);
	joined = true;
	mended("many prefixes");
}

static void each_fails(void)
{
	for (int there = 0; there < 3; there++)
		for (unsigned int at = 1; at < 40; at++) {
			begin();
			says(MEMBER_OWN, "192.0.2.1", "own");
			says(1, "192.0.2.1", "one");
			says(2, "192.0.2.2", "two");
			joined = true;
			if (there)
				in_force = ban_of("192.0.2.1", there > 1 ? "member-1: one" : "somebody", 0);
			fails_at = at;
			mended(there ? "there" : "not there");
			if (calls < at)
				break;
		}
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "nothing", none }, { "each way", each_way }, { "many", many }, { "each call fails", each_fails }
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
