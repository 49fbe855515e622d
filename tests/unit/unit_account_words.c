// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which calls a word of a member or of this machine takes, word for word; that whoever asked gets the error of each;
 * and the bounds of what a member may.
 */
#include <stdarg.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "change/accounts_internal.h"
#include "change/change.h"
#include "change/own_addresses.h"
#include "state/fleet.h"
#include "state/grants.h"

#include "own_state.h"
#include "no_disk.h"
#include "shown.h"

static const struct shown known[] = {
#include "unit_account_words.txt"
};

static struct shows shows = {
	"tests/unit/unit_account_words.txt", known, sizeof(known) / sizeof(*known), NULL, 0, 0, false
};

static bool says, failed;
static int until = -1;	    /* so many calls succeed before one fails; -1: all of them */
static int64_t today, boot; /* the clocks */

static int call(const char *what)
{
	bool fails = !until;

	until -= until >= 0;
	failed = failed || fails;
	if (says)
		printf("  %s\n", what);
	return fails ? because(-EIO, "%s fails", what) : 0;
}

/* Behind the last is nobody, whatever he is called. */
static void *room(size_t n, size_t size)
{
	struct account_held *at = call("calloc") ? NULL : calloc(n, size);

	if (at)
		snprintf(at[n - 1].is.name, sizeof(at->is.name), "ghost");
	return at;
}

static struct own_address needs[2];
static size_t needs_n;

static int made_needs(struct state *state, bool destinations, own_wanted_fn *wanted, const void *arg,
		      struct own_address **list, size_t *n)
{
	(void)state;
	*list = calloc(needs_n + 1, sizeof(**list));
	ENOUGH(*list && !destinations);
	*n = 0;
	for (size_t i = 0; i < needs_n; i++)
		if (wanted(arg, needs[i].addr))
			(*list)[(*n)++] = needs[i];
	return 0;
}

#define CALL(function, ...)	(call(#function) ?: function(__VA_ARGS__))
#define state_members(...)	CALL(state_members, __VA_ARGS__)
#define state_member_put(...)	CALL(state_member_put, __VA_ARGS__)
#define state_member_drop(...)	CALL(state_member_drop, __VA_ARGS__)
#define state_said_any(...)	CALL(state_said_any, __VA_ARGS__)
#define state_said_of(...)	CALL(state_said_of, __VA_ARGS__)
#define state_said_by(...)	CALL(state_said_by, __VA_ARGS__)
#define state_said(...)		CALL(state_said, __VA_ARGS__)
#define state_said_count(...)	CALL(state_said_count, __VA_ARGS__)
#define state_said_put(...)	CALL(state_said_put, __VA_ARGS__)
#define state_said_drop(...)	CALL(state_said_drop, __VA_ARGS__)
#define state_said_no_more(...) CALL(state_said_no_more, __VA_ARGS__)
#define state_ban_get(...)	CALL(state_ban_get, __VA_ARGS__)
#define state_ban_put(...)	CALL(state_ban_put, __VA_ARGS__)
#define state_ban_drop(...)	CALL(state_ban_drop, __VA_ARGS__)
#define state_own_changed(...)	CALL(state_own_changed, __VA_ARGS__)
#define change_touch(...)	CALL(change_touch, __VA_ARGS__)
#define ranges_add_prefix(...)	CALL(ranges_add_prefix, __VA_ARGS__)
#define ranges_finish(...)	CALL(ranges_finish, __VA_ARGS__)
#define own_addresses(...)	CALL(made_needs, __VA_ARGS__)
#define calloc(n, size)		room(n, size)
#define realloc(old, size)	(call("realloc") ? NULL : realloc(old, size))
#define time(where)		today
#define clock_boot()		boot
#define clock_ns(which)		(today * 1000000000)

#include "change/accounts.c"

#undef state_ban_get
#undef state_said_of
#undef calloc

/* --- What there is --- */

static struct change change;

static struct prefix prefix_of(const char *text)
{
	struct prefix p;

	ENOUGH(!prefix_parse(text, strlen(text), &p.first, &p.length));
	return p;
}

static int own_put(const char *text, int64_t seconds)
{
	struct prefix p = prefix_of(text);
	struct ban own = { .first = p.first, .length = p.length, .added = today, .reason = "mine" };

	if (seconds) {
		own.expires = today + seconds;
		own.due = boot + seconds * 1000000000;
	}
	return account_own_put(&change, &own);
}

static int own_drop(const char *text)
{
	struct prefix p = prefix_of(text);

	return account_own_drop(&change, p.first, p.length);
}

static bool taken, fresh;

static int say(const char *member, const char *text, double seconds)
{
	struct prefix p = prefix_of(text);

	return account_say(&change, member, &p, seconds, "why", &taken, &fresh);
}

static int unsay(const char *member, const char *text)
{
	struct prefix p = prefix_of(text);

	return account_unsay(&change, member, &p);
}

static int judge(const char *text)
{
	struct prefix p = prefix_of(text);

	return account_judge(&change, p.first, p.length);
}

static size_t forgotten;

static int forget(const char *member)
{
	return account_forget(&change, member, &forgotten);
}

static struct member_limits limits(int64_t entries, unsigned int quorum)
{
	struct member_limits is = member_limits_default;

	is.entries = entries;
	is.quorum = quorum;
	return is;
}

static int rule(const char *member, int64_t entries, unsigned int quorum)
{
	struct member_limits is = limits(entries, quorum);

	return account_rule(&change, member, &is);
}

static void begin(void)
{
	change = (struct change){ .context = &own_context, .state = opened(true) };
	ENOUGH(change.state);
}

static void end(bool keep)
{
	if (keep)
		CHECK(!accounts_put(&change) && !state_commit(change.state), "not kept: %s", log_last());
	state_close(change.state);
	touched_free(&change.touched);
	accounts_free(&change.accounts);
}

/* Numbered in another order than that of their names. */
static void make(void)
{
	empty_directory();
	begin();
	ENOUGH(!rule("z", 3, 1) && !rule("a", 10, 1) && !rule("q", 10, 2) && !rule(MEMBER_ANY, 10, 1));
	ENOUGH(!own_put("198.51.100.1", 0) && !own_put("198.51.100.2", 6000) && !own_put("198.51.100.3", 9000));
	ENOUGH(!say("z", "198.51.100.2", 8000) && taken && !say("z", "198.51.100.4", 8000) && taken);
	ENOUGH(!say("a", "198.51.100.4", 9000) && taken && !say("q", "198.51.100.5", 6000) && taken);
	ENOUGH(!say("z", "198.51.100.3", 6000) && taken && !say("guest", "198.51.100.6", 6000) && taken);
	/* Others, each of which is like the one before but for one thing. */
	ENOUGH(!say("guest", "203.0.113.0", 6000) && taken && !say("guest", "203.0.113.0/24", 6000) && taken);
	end(true);
}

/* --- Calls --- */

static int own_is(void)
{
	struct prefix p = prefix_of("198.51.100.2"), alone = prefix_of("198.51.100.1");
	struct ban own;

	return account_own(change.state, p.first, p.length, &own)
		       ?: account_own(change.state, alone.first, alone.length, &own);
}

static int none_of_its_own(void)
{
	struct prefix p = prefix_of("198.51.100.4");
	struct ban own;

	return account_own(change.state, p.first, p.length, &own);
}

static int beside(void)
{
	struct prefix p = prefix_of("198.51.100.4"), alone = prefix_of("198.51.100.1"),
		      none = prefix_of("198.51.100.9");
	int is[] = { account_beside(change.state, p.first, p.length), account_beside(change.state, alone.first, 32),
		     account_beside(change.state, none.first, 32),    account_others(change.state, p.first, p.length),
		     account_others(change.state, alone.first, 32),   account_others(change.state, none.first, 32) };

	for (size_t i = 0; i < sizeof(is) / sizeof(*is); i++)
		if (is[i] < 0)
			return is[i];
	CHECK(is[0] == 1 && !is[1] && !is[2] && is[3] == 1 && !is[4] && !is[5], "%d %d %d %d %d %d", is[0], is[1],
	      is[2], is[3], is[4], is[5]);
	return 0;
}

static int own_others(void)
{
	struct prefix p = prefix_of("198.51.100.2");
	int err = unsay("z", "198.51.100.2"), is = err ?: account_others(change.state, p.first, p.length);

	CHECK(is <= 0, "a member says it");
	return is;
}

static int returned(void)
{
	int err;

	change.state->said_back = true;
	err = account_judge_returned(&change);
	CHECK(state_said_came_back(change.state) == (err != 0), "judged: %s", reason(err));
	return err;
}

static int not_returned(void)
{
	return account_judge_returned(&change);
}

static int asked(void)
{
	struct prefix p = prefix_of("198.51.100.0/24");

	return account_asked(&change, &p) ?: account_asked_all(&change);
}

static int put_all(void)
{
	return say("a", "198.51.100.9", 6000) ?: accounts_put(&change) ?: accounts_put(&change);
}

/* It has just come to be needed. */
static int hold(const char *member, const char *text)
{
	change.accounts.holds = true;
	return say(member, text, 6000);
}

static int again(const char *member, const char *text)
{
	struct prefix p = prefix_of(text);

	return account_again(&change, member, &p, &taken);
}

static int held_and_again(const char *member, const char *text)
{
	return hold(member, text) ?: again(member, text);
}

static int refuse_it(const char *member)
{
	return account_rule(&change, member, NULL);
}

#define OPERATIONS                             \
	X(own_put("198.51.100.9", 6000))       \
	X(own_put("198.51.100.1", 6000))       \
	X(own_put("198.51.100.4", 6000))       \
	X(own_put("198.51.100.4", 86400))      \
	X(own_put("198.51.100.2", 0))          \
	X(own_drop("198.51.100.1"))            \
	X(own_drop("198.51.100.2"))            \
	X(own_drop("198.51.100.4"))            \
	X(own_drop("198.51.100.9"))            \
	X(own_is())                            \
	X(none_of_its_own())                   \
	X(beside())                            \
	X(own_others())                        \
	X(say("a", "198.51.100.9", 6000))      \
	X(say("a", "198.51.100.1", 6000))      \
	X(say("a", "198.51.100.2", 6000))      \
	X(say("a", "198.51.100.4", 9000))      \
	X(say("a", "198.51.100.5", 6000))      \
	X(say("z", "198.51.100.4", 6000))      \
	X(say("z", "198.51.100.9", 6000))      \
	X(say("new", "198.51.100.9", 6000))    \
	X(hold("a", "198.51.100.9"))           \
	X(hold("a", "198.51.100.2"))           \
	X(hold("a", "198.51.100.4"))           \
	X(hold("q", "198.51.100.4"))           \
	X(again("a", "198.51.100.4"))          \
	X(again("a", "198.51.100.9"))          \
	X(again("nobody", "198.51.100.9"))     \
	X(held_and_again("a", "198.51.100.9")) \
	X(unsay("a", "198.51.100.4"))          \
	X(unsay("z", "198.51.100.4"))          \
	X(unsay("z", "198.51.100.2"))          \
	X(unsay("q", "198.51.100.5"))          \
	X(unsay("z", "198.51.100.9"))          \
	X(unsay("nobody", "198.51.100.4"))     \
	X(judge("198.51.100.2"))               \
	X(judge("198.51.100.4"))               \
	X(forget("z"))                         \
	X(forget("guest"))                     \
	X(forget("nobody"))                    \
	X(forget(MEMBER_ANY))                  \
	X(rule("z", 3, 2))                     \
	X(rule("guest", 3, 1))                 \
	X(rule("new", 3, 1))                   \
	X(rule(MEMBER_ANY, 3, 2))              \
	X(refuse_it("z"))                      \
	X(refuse_it("guest"))                  \
	X(refuse_it(MEMBER_ANY))               \
	X(returned())                          \
	X(not_returned())                      \
	X(asked())                             \
	X(put_all())

#define X(call) #call,
static char names[][64] = { OPERATIONS };
#undef X

#define X(call)       \
	if (!which--) \
		return call;
static int operation(size_t which)
{
	OPERATIONS
	return -1;
}
#undef X

/* A row each. */
struct rows {
	char at[32][256];
	size_t n;
};

__attribute__((format(printf, 2, 3))) static void row(struct rows *r, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	ENOUGH(r->n < 32);
	vsnprintf(r->at[r->n++], sizeof(r->at[0]), fmt, args);
	va_end(args);
}

static void ban_row(struct rows *r, int64_t member, const struct ban *ban)
{
	char text[PREFIX_TEXT_MAX], who[32] = "in force";

	if (member >= 0)
		snprintf(who, sizeof(who), "said by %d", (int)member);
	row(r, "%s%s %s, %d s: '%s'", who, ban->added == SAID_WAITS ? ", and waits," : "",
	    prefix_text(text, ban->first, (int)ban->length), ban->due ? (int)((ban->due - boot) / 1000000000) : 0,
	    ban->reason);
}

static void take_rows(struct rows *r)
{
	struct ban *bans;
	struct said *said;
	size_t n;

	r->n = 0;
	ENOUGH(!state_bans(change.state, &bans, &n));
	for (size_t i = 0; i < n; i++)
		ban_row(r, -1, &bans[i]);
	free(bans);
	ENOUGH(!(state_said)(change.state, &said, &n));
	for (size_t i = 0; i < n; i++)
		ban_row(r, said[i].member, &said[i].ban);
	free(said);
	for (size_t i = 0; i < change.accounts.n; i++) {
		const struct account_held *held = &change.accounts.at[i];
		const struct member *m = &held->is;

		if (held->changed || held->counted)
			row(r, "%d %s: has %d, rule %d of %d, heard %d, taken %d, ended %d, refused %d '%s'",
			    (int)m->id, m->name, (int)held->held, m->rule, (int)m->limits.entries, m->heard == today,
			    (int)m->taken, (int)m->ended, (int)m->refused, m->why);
	}
}

static void rows_only_in(const char *how, const struct rows *is, const struct rows *others)
{
	for (size_t i = 0; i < is->n; i++) {
		size_t k = 0;

		while (k < others->n && strcmp(is->at[i], others->at[k]))
			k++;
		if (k == others->n)
			printf("  %s %s\n", how, is->at[i]);
	}
}

static struct rows before;

static void print_changed(void)
{
	static struct rows after;

	take_rows(&after);
	rows_only_in("-", &before, &after);
	rows_only_in("+", &after, &before);
}

static void calls_of_each(void)
{
	make();
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		int err;

		shows_begin(&shows);
		begin();
		take_rows(&before);
		until = -1;
		taken = fresh = false;
		forgotten = 0;
		says = true;
		err = operation(i);
		says = false;
		printf("  = %s", err ? errno_text(err) : "done");
		if (!strncmp(names[i], "say", 3))
			printf(", taken %d, fresh %d", taken, fresh);
		if (!strncmp(names[i], "forget", 6))
			printf(", %zu forgotten", forgotten);
		puts("");
		print_changed();
		end(false);
		shows_as(&shows, names[i]);
	}
}

/* False: it does not make so many. */
static bool one_fails(size_t which, int at)
{
	int err;

	begin();
	failed = false;
	until = at;
	err = operation(which);
	until = -1;
	if (failed)
		CHECK(err_is(err, EIO) || err_is(err, ENOMEM), "%s, call %d: %s", names[which], at, reason(err));
	end(false);
	return failed;
}

static void each_call_fails(void)
{
	make();
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		for (int at = 0; one_fails(i, at); at++)
			;
}

/* --- Bounds --- */

static void which_end_is_later(void)
{
	static const int64_t expires[] = { 0, 10, 11 }, due[] = { 0, 5, 6 };

	for (int i = 0; i < 9; i++) {
		struct ban a = { .expires = expires[i / 3], .due = due[i % 3] };

		printf("  until %d, due %d:", (int)a.expires, (int)a.due);
		for (int k = 0; k < 9; k++) {
			struct said x = { .ban = a }, y = { .ban = { .expires = expires[k / 3], .due = due[k % 3] } };

			printf(" %d", latest_first(&x, &y));
		}
		puts("");
	}
}

static void a_rate(void)
{
	static const int64_t ahead[] = { -5, 0, 1, 1499999, 1500000, 1500001, 1999999, 2000000, 2000001, 9000000 };
	struct member_limits is = { .rate = 2, .entries = 3 };

	for (size_t i = 0; i < sizeof(ahead) / sizeof(*ahead); i++) {
		struct member m = { .free_at = 7000000 + ahead[i] };
		bool within = within_rate(&m, &is, 7000000);

		printf("  %d us ahead: %s, then %d\n", (int)ahead[i], within ? "yes" : "no",
		       (int)(m.free_at - 7000000));
	}
}

static void print_say(const char *member, const char *text, double seconds)
{
	struct prefix p = prefix_of(text);
	struct account_held *held;
	struct ban ban;

	ENOUGH(!say(member, text, seconds));
	held = find(&change.accounts, member);
	printf("  %s for %g s: ", text, seconds);
	if (change.accounts.waits)
		printf("it waits, fresh %d, has %d\n", fresh, (int)held->held);
	else if (!taken)
		puts(held->is.why);
	else if (CHECK(!state_ban_get(change.state, p.first, p.length, &ban), "no ban"))
		printf("taken, fresh %d, until %d s\n", fresh, (int)((ban.due - boot) / 1000000000));
}

static void print_again(const char *member, const char *text)
{
	struct prefix p = prefix_of(text);
	struct ban ban;

	ENOUGH(!again(member, text));
	printf("  %s again: waits %d, taken %d, in force %d\n", text, change.accounts.waits, taken,
	       !state_ban_get(change.state, p.first, p.length, &ban));
}

static void what_it_may(void)
{
	struct prefix asks[] = { prefix_of("198.51.100.0/24"), prefix_of("2001:db8::/32") };

	needs[0] = (struct own_address){ .addr = prefix_of("198.51.100.77").first, .what = "a gateway in use" };
	needs[1] = (struct own_address){ .addr = prefix_of("2001:db8::7").first, .what = "a name server" };
	needs_n = 2;
	begin();
	ENOUGH(!rule("a", 100, 1));
	ENOUGH(!account_asked(&change, &asks[0]));
	ENOUGH(!account_asked_all(&change));
	printf("  %zu needs\n", change.accounts.needs_n);
	ENOUGH(!account_asked(&change, &asks[1]) && !account_asked_all(&change));
	printf("  %zu needs\n", change.accounts.needs_n);
	for (size_t i = 0; i < 2; i++)
		print_say("a", (const char *[]){ "198.51.0.0/23", "203.0.113.0/24" }[i], 6000);
	print_say("a", "2001:db9::/47", 6000);
	print_say("a", "2001:db9::/48", 6000);
	print_say("a", "198.51.100.77", 6000);
	print_say("a", "198.51.100.76/31", 6000);
	print_say("a", "198.51.100.76", 6000);
	print_say("a", "2001:db8::/48", 6000);
	print_say("a", "2001:db8::8", 6000);
	print_say("a", "203.0.113.1", -1);
	print_say("a", "203.0.113.1", 0);
	print_say("a", "203.0.113.1", 5000.9);
	print_say("a", "203.0.113.2", 86399);
	print_say("a", "203.0.113.3", 86401);
	print_say("a", "203.0.113.3", 5000);
	print_say("z", "203.0.113.4", 5000);
	/* It goes on waiting, what counts goes on, and what waits counts among those that it may have. */
	print_again("a", "198.51.100.77");
	print_say("a", "198.51.100.77", 7000);
	needs[1].addr = prefix_of("203.0.113.1").first;
	ENOUGH(!account_asked(&change, &(struct prefix){ needs[1].addr, 32 }) && !account_asked_all(&change));
	print_say("a", "203.0.113.1", 7000);
	print_say("z", "203.0.113.1", 5000);
	needs_n = 0;
	ENOUGH(!account_asked_all(&change));
	printf("  %zu needs\n", change.accounts.needs_n);
	print_again("a", "198.51.100.77");
	print_again("a", "198.51.100.77");
	end(false);
}

/* So many that no rule names are known; of those that are, one more word is heard. */
static void how_many_are_known(void)
{
	static const size_t many[] = { STRANGERS_MOST - 1, STRANGERS_MOST, MEMBERS_MOST - 1, MEMBERS_MOST };

	for (size_t i = 0; i < 4; i++) {
		struct accounts *a = &change.accounts;
		bool accepts = i > 1;

		empty_directory();
		begin();
		ENOUGH(!rule(MEMBER_ANY, 10, 1) && (accepts || !refuse_it(MEMBER_ANY)));
		a->at = realloc(a->at, (many[i] + 1) * sizeof(*a->at));
		ENOUGH(a->at);
		for (; a->n < many[i]; a->n++) {
			a->at[a->n] = (struct account_held){ .is.id = 5000 + (int64_t)a->n };
			snprintf(a->at[a->n].is.name, MEMBER_NAME_MAX, "m%zu", a->n);
		}
		taken = fresh = true;
		ENOUGH(!say("new", "203.0.113.1", 6000));
		printf("  beside %zu: taken %d, fresh %d, %zu are known", many[i], taken, fresh, a->n - many[i]);
		ENOUGH(!say("m7", "203.0.113.1", 6000));
		printf("; one of them: %d\n", taken);
		end(false);
	}
}

static void nobody_behind_the_last(void)
{
	begin();
	ENOUGH(!accounts_know(&change));
	printf("  %s %s\n", find(&change.accounts, "ghost") ? "there" : "nobody",
	       find(&change.accounts, "ghost") ? "there" : "nobody");
	end(false);
}

static void in_words(void)
{
	struct account_held by = { .is.name = "edge-7" }, held = { 0 };
	struct ban ban = { 0 };

	account_in_words(&ban, &by);
	printf("  '%s'\n", ban.reason);
	snprintf(ban.reason, sizeof(ban.reason), "x\033y");
	account_in_words(&ban, &by);
	printf("  '%s'\n", ban.reason);
	memset(ban.reason, 'r', BAN_REASON_MAX - 1);
	account_in_words(&ban, &by);
	printf("  '%s'\n", ban.reason);
	printf("  %d", refuse(&held, ban.reason));
	printf(" '%s', %d\n", held.is.why, (int)held.is.refused);
	printf("  %d", refuse(&held, "two\nlines"));
	printf(" '%s', %d\n", held.is.why, (int)held.is.refused);
}

/* What a change has learned and changed is not read again, and is written once. */
static void learned_once(void)
{
	begin();
	take_rows(&before);
	ENOUGH(!say("a", "203.0.113.1", 6000) && !accounts_know(&change));
	print_changed();
	ENOUGH(!accounts_put(&change));
	print_changed();
	end(true);
	begin();
	ENOUGH(!accounts_know(&change));
	for (size_t i = 0; i < change.accounts.n; i++) {
		const struct member *m = &change.accounts.at[i].is;

		printf("  %d %s: rule %d of %d, taken %d\n", (int)m->id, m->name, m->rule, (int)m->limits.entries,
		       (int)m->taken);
		CHECK(account_of_id(&change.accounts, m->id) == &change.accounts.at[i], "%s is not found", m->name);
	}
	CHECK(!account_of_id(&change.accounts, 99), "nobody is found");
	end(false);
}

static void bounds(void)
{
	static const struct scene scenes[] = {
		{ "which end is later", which_end_is_later },
		{ "a rate", a_rate },
		{ "what it may", what_it_may },
		{ "learned once", learned_once },
		{ "nobody behind the last", nobody_behind_the_last },
		{ "in words", in_words },
		{ "how many are known", how_many_are_known },
	};

	make();
	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(*scenes), NULL);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "the calls of each", calls_of_each },
		{ "each call fails", each_call_fails },
		{ "bounds", bounds },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		for (char *at = names[i]; (at = strchr(at, '"'));)
			*at = '\'';
	today = (time)(NULL);
	boot = (clock_boot)();
	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
