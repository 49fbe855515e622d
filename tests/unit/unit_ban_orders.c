// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bans of an agent beside another's of the same prefix, which end sooner and later: none of another's ends sooner than
 * it would have without the agent. At random, against a model that knows only who says what until when.
 */
#include <math.h>
#include <time.h>

#include "base/clock.h"
#include "base/progress.h"
#include "change/accounts.h"
#include "change/ban.h"
#include "change/ban_sum.h"
#include "change/behind.h"
#include "change/change.h"
#include "change/stepped_back.h"
#include "state/internal.h"
#include "state/strikes.h"

#include "own_state.h"

/* How far it is. */
static char far_said[300];

static void given_progress(const struct context *context, const char *what, double part)
{
	size_t n = strlen(far_said);

	(void)context;
	snprintf(far_said + n, sizeof(far_said) - n, "%s %.2f; ", what, part);
}

#define progress given_progress
#include "change/ban.c"
#undef progress

#define WHOSE BAN_BY_CROWDSEC

static struct change change;
static struct prefix at;

static void begin(void)
{
	change = (struct change){ .context = &own_context, .state = opened(true) };
	ENOUGH(change.state && !prefix_parse("198.51.100.7", 12, &at.first, &at.length));
	change.jail.let_go = RANGES_EMPTY;
}

static void end(void)
{
	state_close(change.state);
	touched_free(&change.touched);
	accounts_free(&change.accounts);
	ranges_free(&change.jail.let_go);
	empty_directory();
}

/* seconds 0: without an end. */
static void another(int seconds)
{
	struct ban ban = { .first = at.first, .length = at.length, .added = time(NULL), .reason = "mine" };

	if (seconds) {
		ban.expires = ban.added + seconds;
		ban.due = clock_boot() + seconds * 1000000000LL;
	}
	ENOUGH(!account_own_put(&change, &ban));
}

/* True: missed. */
static bool order(bool del, int seconds)
{
	struct ban_options options = { 0 };
	struct ban_order one = { .prefix = at, .ttl = seconds, .reason = del ? NULL : WHOSE "x", .del = del };
	struct banned banned = { 0 };

	CHECK(!ban_orders(&change, &options, WHOSE, &one, 1, &banned), "order: %s", log_last());
	banned_free(&banned);
	return one.missed;
}

/* How long it is banned; 0: without an end, -1: it is not. */
static int left(char reason[BAN_REASON_MAX])
{
	struct ban ban;

	*reason = '\0';
	if (account_own(change.state, at.first, at.length, &ban))
		return -1;
	memcpy(reason, ban.reason, BAN_REASON_MAX);
	return ban.expires ? (int)(ban.expires - time(NULL)) : 0;
}

/* A second is counted in full. */
static bool near(int is, int wanted)
{
	return wanted > 0 ? is > wanted - 30 && is <= wanted + 1 : is == wanted;
}

/* By another process than what was before. */
static void again(void)
{
	ENOUGH(!accounts_put(&change) && !state_commit(change.state));
	state_close(change.state);
	touched_free(&change.touched);
	accounts_free(&change.accounts);
	change = (struct change){ .context = &own_context, .state = opened(true) };
	ENOUGH(change.state);
}

/* The machine was started anew: of the ends only the dates are left. */
static void reboot(void)
{
	ENOUGH(!state_set(change.state, SETTING_BOOT, 1));
	again();
	ENOUGH(!change.state->same_boot);
}

/* Each way that a process may go on from here. */
static void goes_on(int how)
{
	if (how == 1)
		again();
	else if (how == 2)
		reboot();
}

static bool is_theirs(const char *why)
{
	return !strncmp(why, WHOSE, strlen(WHOSE));
}

/* Another's is there first; then the agent's comes, becomes shorter, and is taken out. */
static void another_first(void)
{
	static const int others[] = { 0, 50, 100, 110, 600, 7200 }, agents[] = { 40, 80, 105, 3600 };
	enum { OTHERS = sizeof(others) / sizeof(*others), AGENTS = sizeof(agents) / sizeof(*agents) };

	for (size_t i = 0; i < 3 * OTHERS * AGENTS; i++) {
		int how = (int)(i % 3), other = others[i / 3 % OTHERS], agent = agents[i / 3 / OTHERS];
		bool over = other && agent > other, missed;
		char why[BAN_REASON_MAX];

		begin();
		another(other);
		missed = order(false, agent);
		CHECK(missed == !over && near(left(why), over ? agent : other) &&
			      !strcmp(why, over ? WHOSE "x" : "mine"),
		      "%d, and %d of the agent: %d s, '%s'", other, agent, left(why), why);
		goes_on(how);
		if (over && agent == 3600) {
			missed = order(false, 5);
			CHECK(missed && near(left(why), other) && !strcmp(why, "mine"),
			      "%d, and it becomes shorter: %d s, '%s'", other, left(why), why);
			ENOUGH(!order(false, agent));
			goes_on(how);
		}
		missed = order(true, agent);
		CHECK(missed == !over && near(left(why), other) && !strcmp(why, "mine"),
		      "%d, and %d taken out: %d s, '%s'", other, agent, left(why), why);
		end();
	}
}

static const struct ban_options plain = { 0 }, keeping = { .keep_longer = true }, replacing = { .replace = true };

/* seconds 0: without an end. */
static struct banned added_as(const struct ban_options *how, int seconds, const char *why)
{
	struct ban_options options = *how;
	struct banned banned = { 0 };

	options.ttl = (struct number){ .given = seconds, .value = seconds };
	options.reason = why;
	CHECK(!ban_add(&change, &options, &(struct prefixes){ .at = &at, .n = 1 }, &banned), "add: %s", log_last());
	return banned;
}

static void add_as(const struct ban_options *how, int seconds, const char *why)
{
	struct banned banned = added_as(how, seconds, why);

	banned_free(&banned);
}

static void add(int seconds, const char *why)
{
	add_as(&plain, seconds, why);
}

/* A ban of somebody's over the agent's: what it met is the one behind that, unless that is kept out of it. */
static void met(void)
{
	static const struct {
		const struct ban_options *how;
		const char *why, *reason; /* NULL: nothing is met */
	} each[] = { { &plain, "new", "mine" },
		     { &plain, "mine", NULL },
		     { &plain, NULL, "mine" },
		     { &keeping, "new", NULL },
		     { &replacing, "new", NULL } };

	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		struct banned banned;
		char why[BAN_REASON_MAX];

		begin();
		another(50);
		ENOUGH(!order(false, 3600) && near(left(why), 3600) && is_theirs(why));
		banned = added_as(each[i].how, 7200, each[i].why);
		CHECK(!banned.longer_n && !banned.reasons_n && banned.former_n == (each[i].reason != NULL),
		      "%zu: %zu longer, %zu reasons, %zu former ones", i, banned.longer_n, banned.reasons_n,
		      banned.former_n);
		if (each[i].reason && banned.former_n)
			CHECK(!strcmp(banned.former[0].reason, each[i].reason), "%zu: '%s'", i,
			      banned.former[0].reason);
		CHECK(near(left(why), 7200) && !is_theirs(why), "%zu: %d s, '%s'", i, left(why), why);
		banned_free(&banned);
		end();
	}
}

/* The first error, if there is one. */
static int del(const char *why)
{
	bool build;
	int err = ban_del(&change, &(struct prefixes){ .at = &at, .n = 1 }, why, NULL, &build);

	ranges_free(&change.jail.let_go);
	change.jail.let_go = RANGES_EMPTY;
	return err;
}

/* Who makes the agent's ban longer keeps it, whatever becomes of the decision. */
static void agents_first(void)
{
	static const int longer[] = { 0, 7200 };
	char why[BAN_REASON_MAX];

	for (size_t i = 0; i < 4; i++) {
		int seconds = longer[i / 2];
		const char *mine = i % 2 ? "mine" : NULL;

		begin();
		ENOUGH(!order(false, 3600));
		add(seconds, mine);
		CHECK(near(left(why), seconds) && !strcmp(why, mine ?: ""), "%d: %d s, '%s'", seconds, left(why), why);
		CHECK(order(false, 1800) && near(left(why), seconds), "%d, and a shorter decision: %d s", seconds,
		      left(why));
		CHECK(order(true, 1800) && near(left(why), seconds), "%d, and none: %d s", seconds, left(why));
		end();
	}
}

/* A shorter one beside the agent's is there when the decision is deleted, or becomes shorter. */
static void shorter(void)
{
	char why[BAN_REASON_MAX];

	for (int i = 0; i < 12; i++) {
		const struct ban_options *o = i % 2 ? &keeping : &plain;
		int how = i / 2 % 3;
		struct banned banned;

		begin();
		ENOUGH(!order(false, 3600));
		banned = added_as(o, 600, "mine");
		CHECK(banned.kept == 1 && banned.longer_n == (o == &plain) && banned.reasons_n == banned.longer_n,
		      "it is not said that the agent's stays");
		banned_free(&banned);
		CHECK(near(left(why), 3600) && is_theirs(why), "a shorter one: %d s, '%s'", left(why), why);
		goes_on(how);
		if (i < 6)
			CHECK(!order(true, 3600) && near(left(why), 600) && !strcmp(why, "mine"),
			      "and the decision is deleted: %d s, '%s'", left(why), why);
		else
			CHECK(order(false, 60) && near(left(why), 600) && !strcmp(why, "mine"),
			      "and the decision becomes shorter: %d s, '%s'", left(why), why);
		CHECK(err_is(state_behind_get(change.state, at.first, at.length, &(struct ban){ 0 }), ENOENT),
		      "it is behind itself");
		end();
	}
}

/* Of many it is said again and again which part of them is done. */
static void how_far(void)
{
	enum { MANY = 3 * FAR_EACH };
	struct prefixes many = { .at = calloc(MANY, sizeof(*many.at)), .n = MANY };
	struct banned banned = { 0 };
	bool build;

	ENOUGH(many.at);
	begin();
	for (uint32_t i = 0; i < MANY; i++)
		many.at[i] = (struct prefix){ { 0x0a000000 + i, 4 }, 32 };
	*far_said = '\0';
	CHECK(!ban_add(&change, &plain, &many, &banned) && !ban_del(&change, &many, NULL, NULL, &build), "%s",
	      log_last());
	CHECK(!strcmp(far_said, "keeping the bans 0.33; keeping the bans 0.67; "
				"taking the bans out 0.33; taking the bans out 0.67; "),
	      "'%s'", far_said);
	banned_free(&banned);
	free(many.at);
	end();
}

/* Several of this machine's own are one, as without the agent. */
static void several(void)
{
	char why[BAN_REASON_MAX];

	begin();
	ENOUGH(!order(false, 3600));
	add(600, "first");
	add(300, "second");
	add_as(&keeping, 400, "third");
	ENOUGH(!order(true, 3600));
	CHECK(near(left(why), 600) && !strcmp(why, "first"), "shorter ones: %d s, '%s'", left(why), why);
	ENOUGH(!order(false, 3600));
	add(1200, NULL);
	ENOUGH(!order(true, 3600));
	CHECK(near(left(why), 1200) && !*why, "a longer one: %d s, '%s'", left(why), why);
	ENOUGH(!order(false, 3600));
	add_as(&keeping, 1800, "fourth");
	ENOUGH(!order(true, 3600));
	CHECK(near(left(why), 1800) && !strcmp(why, "fourth"), "one that keeps longer ones: %d s, '%s'", left(why),
	      why);
	ENOUGH(!order(false, 3600));
	add(7200, "fifth");
	CHECK(near(left(why), 7200) && !strcmp(why, "fifth"), "longer than all: %d s, '%s'", left(why), why);
	add_as(&replacing, 60, "last");
	ENOUGH(!order(false, 3600));
	add_as(&replacing, 90, "at last");
	CHECK(near(left(why), 90) && !strcmp(why, "at last") && order(true, 3600) && near(left(why), 90),
	      "replaced: %d s, '%s'", left(why), why);
	end();
}

/* Who takes out by a reason means that ban; who gives none means all. */
static void taken_out(void)
{
	char why[BAN_REASON_MAX];

	begin();
	for (int i = 0; i < 2; i++) {
		ENOUGH(!order(false, 3600));
		add(600, "mine");
		CHECK(err_is(del("another's"), EPERM) && near(left(why), 3600), "another reason: %d s", left(why));
		ENOUGH(!del(NULL));
		CHECK(left(why) == -1 && order(true, 3600) && left(why) == -1, "del: %d s, '%s'", left(why), why);
		ENOUGH(!order(false, 3600) && !order(true, 3600));
		CHECK(left(why) == -1, "it comes back later: %d s, '%s'", left(why), why);
	}
	ENOUGH(!order(false, 3600));
	add(600, "mine");
	CHECK(!del("mine") && near(left(why), 3600) && is_theirs(why), "by its reason: %d s, '%s'", left(why), why);
	ENOUGH(!order(true, 3600));
	CHECK(left(why) == -1, "it comes back: %d s, '%s'", left(why), why);
	ENOUGH(!order(false, 3600));
	add(600, "mine");
	CHECK(!del(WHOSE "x") && near(left(why), 600) && !strcmp(why, "mine"), "by the agent's: %d s, '%s'", left(why),
	      why);
	end();
}

/* After a reboot nothing is in force: who takes a ban out then is not asked about the rest. */
static void after_a_reboot(void)
{
	for (int live = 0; live < 2; live++) {
		begin();
		another(600);
		change.live.g.number = (unsigned int)live;
		ENOUGH(!change.guard.again && !del(NULL));
		CHECK(change.guard.again == !live, "%s",
		      live ? "before it, no guard rail asks" : "behind it, they ask");
		end();
	}
}

/* A ban that waits to be confirmed goes back to what was there, and to what was behind it. */
static void on_trial(void)
{
	struct pending waits = { .kind = PENDING_BAN, .deadline = 4000000000 };
	char why[BAN_REASON_MAX];
	struct ban mine;

	prefix_text(waits.name, (struct addr){ 0xc6336407, 4 }, 32);
	for (int i = 0; i < 4; i++) {
		begin();
		ENOUGH(!order(false, 3600));
		if (i % 2)
			add(600, "mine");
		ENOUGH(!state_pending_add(change.state, &waits));
		mine = (struct ban){ at.first, at.length, .added = time(NULL), .reason = "on trial" };
		mine.expires = mine.added + (i < 2 ? 900 : 7200);
		ENOUGH(i < 2 ? !state_behind_put(change.state, &mine) : !account_own_put(&change, &mine));
		goes_on(i % 3);
		ENOUGH(!state_pending_undo(change.state, &waits));
		CHECK(near(left(why), 3600) && is_theirs(why), "%d: %d s, '%s'", i, left(why), why);
		ENOUGH(!order(true, 3600));
		CHECK(near(left(why), i % 2 ? 600 : -1) && !strcmp(why, i % 2 ? "mine" : ""), "%d: %d s, '%s'", i,
		      left(why), why);
		end();
	}
}

/* What the detector bans while a change of an agent's ban waits stays, be it in force or behind that. */
static void beside_a_trial(void)
{
	struct pending waits = { .kind = PENDING_BAN, .deadline = 4000000000 };
	char why[BAN_REASON_MAX];
	struct ban ban;

	prefix_text(waits.name, (struct addr){ 0xc6336407, 4 }, 32);
	for (int i = 0; i < 8; i++) {
		int seconds = i & 4 ? 300 : i & 2 ? 1800 : 7200, behind = seconds < 600 && i & 1 ? 600 : seconds;

		begin();
		ENOUGH(!order(false, 3600));
		if (i & 1)
			add(600, "mine");
		ENOUGH(!state_pending_add(change.state, &waits));
		ban = (struct ban){ at.first, at.length, .added = time(NULL), .reason = "on trial" };
		ban.expires = ban.added + 60;
		ENOUGH(!account_own_put(&change, &ban));
		ban.expires = ban.added + seconds;
		strcpy(ban.reason, "detector: syn");
		ENOUGH(!account_own_put(&change, &ban) && !state_ban_stays(change.state, &ban));
		goes_on(i % 3);
		ENOUGH(!state_pending_undo(change.state, &waits));
		CHECK(near(left(why), seconds < 3600 ? 3600 : seconds) && is_theirs(why) == (seconds < 3600),
		      "%d: %d s, '%s'", i, left(why), why);
		order(true, 3600);
		CHECK(near(left(why), behind) && !strcmp(why, behind == 600 ? "mine" : "detector: syn"),
		      "%d, and taken back: %d s, '%s'", i, left(why), why);
		end();
	}
}

/* The clock of a machine that has none is set after a ban: after the next start the agent's would end before. */
static void agents_ends_first(void)
{
	char why[BAN_REASON_MAX];
	struct ban *bans;
	size_t n;

	begin();
	ENOUGH(!order(false, 3600));
	add(600, "mine");
	ENOUGH(!state_put(change.state, "UPDATE ban SET expires = 1000", ""));
	reboot();
	ENOUGH(!state_bans_expire(change.state, time(NULL), &bans, &n));
	CHECK(n == 1 && is_theirs(bans->reason), "%zu run out", n);
	CHECK(!behind_expired(change.state, bans, n, &change.touched) && near(left(why), 600) && !strcmp(why, "mine"),
	      "%d s, '%s'", left(why), why);
	free(bans);
	end();
}

/* --- Who says what until when ------------------------------------------------------------------------------------- */

/*
 * Ends are so many seconds from now, apart by which of them it is, and hundreds of seconds from all others: time passes
 * by thousands of them, which its rows are made older by. So it does not matter what time the test takes.
 */
enum {
	PREFIXES = 3,
	ROUNDS = 12,
	STEPS = 60,
	TURN = 1000,
	OWN_AT = 200,
	AGENTS_AT = 500,
	MEMBERS_AT = 800,
	DRIFT = 90
};

/* 0: nothing is said. `missed`: the agent says it, and another's stands in its place: it says so again. */
static struct said_of {
	int own, agent, member;
	bool missed;
} says[PREFIXES], said_then[PREFIXES];
static bool image;
static const struct pending image_waits = { .kind = PENDING_IMAGE, .name = PENDING_IMAGE_NAME, .deadline = 4000000000 };

static int later(int a, int b)
{
	return a > b ? a : b;
}

static void is_prefix(int i)
{
	static const char *const texts[PREFIXES] = { "198.51.100.7", "2001:db8::/48", "198.51.100.0/24" };

	ENOUGH(!prefix_parse(texts[i], strlen(texts[i]), &at.first, &at.length));
}

static int some(int of)
{
	return (int)(ktap_random() % 8) * TURN + of;
}

static void member_says(int i)
{
	struct said_of *is = &says[i];
	bool taken = false, fresh;
	int until = some(MEMBERS_AT);

	if (is->member && ktap_random() % 2) {
		ENOUGH(!account_unsay(&change, "m", &at));
		/* Nor does it come back with what the image took the place of. */
		is->member = said_then[i].member = 0;
		return;
	}
	ENOUGH(!account_say(&change, "m", &at, until, "x", &taken, &fresh) && taken);
	is->member = until;
}

static void agent_says(struct said_of *is)
{
	if (is->agent && ktap_random() % 2) {
		order(true, is->agent);
		is->agent = 0;
		is->missed = false;
		return;
	}
	is->agent = some(AGENTS_AT);
	is->missed = order(false, is->agent);
}

static void own_says(struct said_of *is)
{
	int until = some(OWN_AT), how = (int)(ktap_random() % 8);

	if (how < 5) {
		add_as(how % 2 ? &keeping : &plain, until, "mine");
		is->own = later(is->own, until);
	} else if (how == 5) {
		add_as(&replacing, until, "mine");
		is->own = until;
	} else {
		int err = del(how == 6 ? NULL : "mine");
		bool there = is->own || (how == 6 && is->agent && !is->missed);

		CHECK(!err == there, "del: %s", err ? log_last() : "it was done");
		is->own = 0;
	}
	/* What the agent said is forgotten where this machine's own takes its place, or ends it. */
	if (!is->missed && (how == 5 || how == 6 || is->own > is->agent))
		is->agent = 0;
	/* A change that fails is not kept. */
	if (how > 5)
		again();
}

static void end_what_is_over(void)
{
	struct ban *bans;
	size_t n;

	ENOUGH(!state_bans_expire(change.state, time(NULL), &bans, &n) &&
	       !behind_expired(change.state, bans, n, &change.touched));
	free(bans);
}

static void time_passes(void)
{
	static const char *const tables[] = { "ban", "behind", "said", "ban_before", "said_before" };
	char sql[200];

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		snprintf(sql, sizeof(sql), "UPDATE %s SET expires = expires - %d, due = due - %d000000000", tables[i],
			 TURN, TURN);
		ENOUGH(!state_put(change.state, sql, ""));
	}
	for (int i = 0; i < PREFIXES; i++)
		for (int then = 0; then < 2; then++) {
			struct said_of *is = then ? &said_then[i] : &says[i];

			is->own = later(is->own - TURN, 0);
			is->agent = later(is->agent - TURN, 0);
			is->member = later(is->member - TURN, 0);
			is->missed = is->missed && is->agent;
		}
	end_what_is_over();
}

/* It takes the place of all bans for a while; or for good. */
static void image_comes_or_goes(void)
{
	size_t n;

	image = !image;
	if (image) {
		memcpy(said_then, says, sizeof(says));
		memset(says, 0, sizeof(says));
		ENOUGH(!state_pending_add(change.state, &image_waits) && !state_set(change.state, "image", 1) &&
		       !state_bans_clear(change.state));
		again();
		return;
	}
	if (ktap_random() % 4 == 0) {
		ENOUGH(!state_pending_confirm(change.state) && !state_set(change.state, "image", 0));
		again();
		return;
	}
	ENOUGH(!accounts_put(&change) && !state_pending_undo(change.state, &image_waits));
	for (int i = 0; i < PREFIXES; i++) {
		struct said_of *is = &says[i], *then = &said_then[i];
		int agents = is->missed ? 0 : is->agent, then_agents = then->missed ? 0 : then->agent;

		/* Until then it is what another said. */
		agents = later(agents, then_agents);
		is->own = later(is->own, then->own);
		if (agents > is->own) {
			is->agent = agents;
			is->missed = false;
		} else if (!is->missed) {
			is->agent = 0;
		}
		is->member = is->member ?: then->member;
	}
	ENOUGH(!stepped_back(change.state, &change.touched, &n));
	end_what_is_over();
}

static void as_said(const char *what)
{
	for (int i = 0; i < PREFIXES; i++) {
		const struct said_of *is = &says[i];
		int own = later(is->own, is->agent), all = later(own, is->member), is_left, all_left;
		char why[BAN_REASON_MAX];
		struct ban ban = { 0 };
		int err;

		is_prefix(i);
		is_left = left(why);
		err = state_ban_get(change.state, at.first, at.length, &ban);
		all_left = err ? 0 : (int)(ban.expires - time(NULL));
		if (!CHECK((own ? is_left > own - DRIFT && is_left <= own + 1 && is_theirs(why) == (is->agent > is->own)
				: is_left == -1) &&
				   (all ? all_left > all - DRIFT && all_left <= all + 1 : err_is(err, ENOENT)),
			   "%s: %d is own for %d s, '%s', and banned for %d; said for %d, %d of the agent, %d of a member",
			   what, i, is_left, why, all_left, is->own, is->agent, is->member))
			return;
	}
}

static void at_random(void)
{
	static const char *const words[] = { "own",    "own",	 "own",	  "agent",  "agent", "agent",
					     "member", "passes", "again", "reboot", "image" };
	struct member_limits limits = member_limits_default;

	limits.rate = MEMBER_RATE_MOST;
	for (int round = 0; round < ROUNDS && !ktap_failed; round++) {
		time_t began = time(NULL);

		begin();
		ENOUGH(!account_rule(&change, "m", &limits));
		memset(says, 0, sizeof(says));
		image = false;
		for (int step = 0; step < STEPS && !ktap_failed && time(NULL) - began < DRIFT / 2; step++) {
			const char *word = words[ktap_random() % (sizeof(words) / sizeof(*words))];
			int i = (int)(ktap_random() % PREFIXES);
			char what[40];

			is_prefix(i);
			if (!strcmp(word, "own"))
				own_says(&says[i]);
			else if (!strcmp(word, "agent"))
				agent_says(&says[i]);
			else if (!strcmp(word, "member"))
				member_says(i);
			else if (!strcmp(word, "passes"))
				time_passes();
			else if (!strcmp(word, "image"))
				image_comes_or_goes();
			else
				goes_on(*word == 'r' ? 2 : 1);
			for (i = 0; i < PREFIXES; i++) {
				is_prefix(i);
				if (says[i].missed)
					says[i].missed = order(false, says[i].agent);
			}
			snprintf(what, sizeof(what), "round %d, step %d, %s", round, step, word);
			as_said(what);
		}
		end();
	}
}

/* Whoever gives orders may write any number: what is kept of it can be read again, also after a start of the machine.
 */
static void without_measure(void)
{
	static const double times[] = { 366 * 86400., 6e9 - 1, 6e9, 252e9, 1e13, 1e16, 9.3e18, 1e300, HUGE_VAL };

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		struct ban_order one = { .ttl = times[i], .reason = (char *)"x" };
		double wanted = times[i] < 6e9 ? times[i] : 6e9;
		struct banned banned = { 0 };
		struct ban ban = { 0 };

		begin();
		one.prefix = at;
		CHECK(!ban_orders(&change, &plain, NULL, &one, 1, &banned), "%g s: %s", times[i], log_last());
		for (int how = 0; how < 3; how++) {
			goes_on(how);
			CHECK(!account_own(change.state, at.first, at.length, &ban) &&
				      (double)(ban.expires - time(NULL)) > wanted - 30 &&
				      (double)(ban.expires - time(NULL)) <= wanted + 1,
			      "%g s, %d: it ends %lld, %s", times[i], how, (long long)ban.expires, log_last());
		}
		banned_free(&banned);
		end();
	}
}

/* What the detector has counted is not the agent's; neither is what nobody has banned. */
static void detectors(void)
{
	struct strike strike;
	char why[BAN_REASON_MAX];

	begin();
	ENOUGH(!state_strike_put(change.state, &(struct strike){ at.first, at.length, 3, time(NULL) }));
	CHECK(order(true, 60) && !change.jail.let_go.n4, "the detector's is taken out");
	CHECK(!order(false, 60) && !order(true, 60) && left(why) == -1, "it is not taken out");
	CHECK(!change.jail.let_go.n4 && !state_strike_get(change.state, at.first, at.length, &strike) &&
		      strike.strikes == 3,
	      "the detector's word is taken back");
	end();
}

/* Of each prefix the last word counts, whatever others are said in between. */
static void in_their_order(void)
{
	static const char *const prefixes[] = {
		"198.51.100.9/32", "198.51.100.5/32", "198.51.100.0/24", "198.51.100.64/26", "203.0.113.0/24",
		"192.0.2.0/25",	   "2001:db8::/48",   "2001:db8:1::/48", "2001:db8::1/128",  "2001:db8:1::/64",
	};
	enum { PLACES = sizeof(prefixes) / sizeof(*prefixes), MOST = 60 };

	for (int round = 0; round < 100 && !ktap_failed; round++) {
		struct ban_order orders[MOST] = { 0 };
		size_t n = 1 + ktap_random() % MOST;
		struct banned banned = { 0 };
		bool is[PLACES] = { false };
		struct ban ban;

		begin();
		for (size_t i = 0; i < n; i++) {
			size_t which = ktap_random() % PLACES;

			ENOUGH(!prefix_parse(prefixes[which], strlen(prefixes[which]), &orders[i].prefix.first,
					     &orders[i].prefix.length));
			orders[i].del = ktap_random() % 2;
			is[which] = !orders[i].del;
		}
		CHECK(!ban_orders(&change, &plain, NULL, orders, n, &banned), "orders: %s", log_last());
		for (size_t i = 0; i < PLACES; i++) {
			struct prefix p;

			ENOUGH(!prefix_parse(prefixes[i], strlen(prefixes[i]), &p.first, &p.length));
			CHECK(!account_own(change.state, p.first, p.length, &ban) == is[i],
			      "of %zu orders %s is%s banned", n, prefixes[i], is[i] ? " not" : "");
		}
		banned_free(&banned);
		end();
	}
}

/* A member has room for what it says by what it has taken back before, wherever that stands in the table. */
static void members_in_their_order(void)
{
	enum { PLACES = 8, ROOM = 3, MOST = 20 };
	struct member_limits limits = member_limits_default;

	limits.entries = ROOM;
	limits.rate = 1e6;
	for (int round = 0; round < 100 && !ktap_failed; round++) {
		struct ban_order orders[MOST] = { 0 };
		size_t n = 1 + ktap_random() % MOST, held = 0, refused = 0;
		struct banned banned = { 0 };
		bool own[PLACES] = { false }, said[PLACES] = { false };
		struct prefix places[PLACES];
		struct ban ban;

		begin();
		ENOUGH(!account_rule(&change, "m", &limits));
		for (int i = 0; i < PLACES; i++)
			places[i] = (struct prefix){ { 0xc6336400 + (unsigned int)i, 4 }, 32 };
		for (size_t i = 0; i < n; i++) {
			size_t which = ktap_random() % PLACES;
			struct ban_order *order = &orders[i];

			*order = (struct ban_order){ .prefix = places[which],
						     .ttl = 600,
						     .account = !i || ktap_random() % 4 ? "m" : NULL,
						     .del = !i || ktap_random() % 2 };
			if (!order->account) {
				own[which] = !order->del;
			} else if (order->del) {
				held -= said[which];
				said[which] = false;
			} else if (said[which] || held < ROOM) {
				held += !said[which];
				said[which] = true;
			} else {
				refused++;
			}
		}
		CHECK(!ban_orders(&change, &plain, NULL, orders, n, &banned), "orders: %s", log_last());
		CHECK(banned.refused == refused, "of %zu orders %zu are refused, not %zu", n, banned.refused, refused);
		for (size_t i = 0; i < PLACES; i++) {
			struct addr first = places[i].first;

			CHECK(account_others(change.state, first, 32) == said[i], "of %zu orders %zu is%s said", n, i,
			      said[i] ? " not" : "");
			CHECK(!account_own(change.state, first, 32, &ban) == own[i], "of %zu orders %zu is%s banned", n,
			      i, own[i] ? " not" : "");
		}
		banned_free(&banned);
		end();
	}
}

/* Prefixes; behind "-" one to take out, and "/8x64*" so many, one after the other. */
static size_t write_orders(struct ban_order *orders, const char *text)
{
	size_t n = 0;

	while (*text) {
		size_t length = strcspn(text, " ");
		bool del = *text == '-';
		unsigned int many = 1;
		struct prefix p;

		ENOUGH(!prefix_parse(text + del, length - del - (text[length - 1] == '*' ? 4 : 0), &p.first,
				     &p.length));
		if (text[length - 1] == '*')
			many = (unsigned int)atoi(text + length - 3);
		for (unsigned int i = 0; i < many; i++) {
			orders[n++] = (struct ban_order){ .prefix = p, .ttl = 600, .del = del };
			p.first.num += addr_mask(p.first.family, p.length) + 1;
		}
		text += length + (text[length] == ' ');
	}
	return n;
}

/* What is ordered is no more, with what is banned, than a list may ban; the widest of what is new are left out. */
static void together(void)
{
#define SAYS4 "live bans would be of 29 % of all IPv4 addresses; add bans so many, or a list with --wide"
#define SAYS6 "live bans would be of 3 % of all IPv6 addresses; add bans so many, or a list with --wide"
	static const struct {
		const char *there, *orders, *much, *why; /* much: of each; or of all but the last */
	} known[] = {
		{ "", "11.0.0.0/8x64*", "0", "" },
		{ "", "11.0.0.0/8x65* 192.0.2.1", "1", SAYS4 },
		{ "11.0.0.0/8x63*", "80.0.0.0/9 81.0.0.0/9", "00", "" },
		{ "11.0.0.0/8x63*", "80.0.0.0/9 82.0.0.0/16 81.0.0.0/9 82.1.0.0/24", "1010", SAYS4 },
		{ "11.0.0.0/8x63*", "80.0.0.0/9 81.0.0.0/9 81.128.0.0/23", "110", SAYS4 },
		/* Nothing is new in it; and what others than hosts and small networks have is nobody's. */
		{ "11.0.0.0/8x64*", "11.0.0.0/8 12.7.0.0/16 10.0.0.0/8", "000", "" },
		{ "11.0.0.0/8x64*", "11.0.0.0/8 80.0.0.0/23 12.7.0.0/16 -13.0.0.0/8", "0100", SAYS4 },
		{ "11.0.0.0/8x64*", "80.0.0.0/24 81.0.0.1 2600::/12", "000", "" },
		/* As much as somebody has made it. */
		{ "11.0.0.0/8x99*", "11.0.0.0/8 120.0.0.0/22 121.0.0.0/24", "010", NULL },
		{ "", "2400::/12x16* 2a00::/48", "0", "" },
		{ "", "2400::/12x17* 2a00::/24", "1", SAYS6 },
		{ "2400::/12x16*", "2a00::/47 2a00:1::/48 2410::/12 2a01::1", "1000", SAYS6 },
		{ "11.0.0.0/8x64* 2400::/12x16*", "2a00::/13 80.0.0.0/20 81.0.0.0/32", "110", SAYS6 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct ban_order orders[128];
		struct banned banned = { 0 };
		size_t n = write_orders(orders, known[i].there);
		char why[256] = "";
		struct ban ban;

		begin();
		ENOUGH(!ban_orders(&change, &plain, NULL, orders, n, &banned));
		n = write_orders(orders, known[i].orders);
		CHECK(!ban_sum(change.state, orders, n, why), "%zu: %s", i, log_last());
		CHECK(!known[i].why || !strcmp(why, known[i].why), "%zu: '%s'", i, why);
		for (size_t k = 0; k < n; k++) {
			size_t words = strlen(known[i].much);
			/* Of many, all but the last are of one kind. */
			char wanted = words > 1 ? known[i].much[k] : k + 1 < n ? *known[i].much : '0';

			CHECK(orders[k].much == (wanted == '1'), "%zu: order %zu is%s left out", i, k,
			      orders[k].much ? "" : " not");
		}
		ENOUGH(!ban_orders(&change, &plain, NULL, orders, n, &banned));
		for (size_t k = 0; k < n; k++)
			CHECK(!account_own(change.state, orders[k].prefix.first, orders[k].prefix.length, &ban) ==
				      (!orders[k].much && !orders[k].del),
			      "%zu: order %zu is done otherwise", i, k);
		banned_free(&banned);
		end();
	}
}

static const struct ktap_case cases[] = {
	{ "another's ban first", another_first },
	{ "the agent's ban first", agents_first },
	{ "a shorter one", shorter },
	{ "what is met", met },
	{ "how far it is", how_far },
	{ "several", several },
	{ "taken out by hand", taken_out },
	{ "taken out after a reboot", after_a_reboot },
	{ "a ban on trial", on_trial },
	{ "beside a ban on trial", beside_a_trial },
	{ "the agent's ends first", agents_ends_first },
	{ "at random", at_random },
	{ "the detector's word", detectors },
	{ "in their order", in_their_order },
	{ "members' in their order", members_in_their_order },
	{ "without measure", without_measure },
	{ "together", together },
};

int main(void)
{
	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
