// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bans on accounts of this machine and of members of a fleet: what is in force, against a naive model that knows only
 * who says what until when; and that no member gets more than it may.
 */
#include <time.h>

#include "base/clock.h"
#include "change/change.h"
#include "change/own_addresses.h"
#include "change/stepped_back.h"
#include "change/waiting.h"
#include "state/internal.h"
#include "state/members.h"
#include "state/said.h"

#include "own_state.h"

enum { MEMBERS = 5, PREFIXES = 6, STEPS = 1500, NEVER = INT32_MAX };

static const char *const names[MEMBERS] = { "a", "edge-7", "b.c", "d_", "z" };
/* Without, they are judged by "*". */
static const struct {
	unsigned int quorum;
	bool shadow;
} rules[] = { { 1, false }, { 2, false }, { 3, false }, { 1, true }, { 6, false } };

/* Seconds from the beginning on; 0: it is not said. */
static struct {
	int own[PREFIXES], said[MEMBERS][PREFIXES], any;
	int rule[MEMBERS]; /* -1: that of "*" */
	int now;
} model;

/* An image on trial took the place of what was said until then. */
static struct {
	bool on;
	int own[PREFIXES], said[MEMBERS][PREFIXES];
} before;
static const struct pending image = { .kind = PENDING_IMAGE, .name = PENDING_IMAGE_NAME, .deadline = 4000000000 };

/* Or a ban of this machine's is on trial. */
static struct {
	bool on;
	int own;
} trial[PREFIXES];

static int64_t beginning;

static struct prefix prefix_at(int i)
{
	char text[32];
	struct prefix p;

	snprintf(text, sizeof(text), i % 2 ? "2001:db8:%d::/48" : "198.51.%d.0/24", i);
	ENOUGH(!prefix_parse(text, strlen(text), &p.first, &p.length));
	return p;
}

static int rule_of(int member)
{
	return model.rule[member] < 0 ? model.any : model.rule[member];
}

/* When it ends, by looking at each moment at which anything does. */
static int model_end(int p)
{
	int end = model.own[p];

	for (int m = 0; m < MEMBERS; m++) {
		int at = model.said[m][p];

		/* Until `at` it says so itself; another may end before. */
		if (!at || rules[rule_of(m)].shadow)
			continue;
		for (int i = 0; i < MEMBERS; i++) {
			int until = model.said[i][p] < at ? model.said[i][p] : at, then = 0;

			for (int k = 0; k < MEMBERS; k++)
				then += !rules[rule_of(k)].shadow && model.said[k][p] >= until;
			if (until && then >= (int)rules[rule_of(m)].quorum && until > end)
				end = until;
		}
	}
	return end;
}

static struct member_limits limits_of_rule(int rule)
{
	struct member_limits limits = member_limits_default;

	limits.quorum = rules[rule].quorum;
	limits.shadow = rules[rule].shadow;
	limits.rate = 1e6;
	return limits;
}

static bool is_touched(const struct change *change, const struct prefix *p)
{
	for (size_t i = 0; i < change->touched.each.n; i++)
		if (change->touched.each.at[i].first.num == p->first.num &&
		    change->touched.each.at[i].length == p->length)
			return true;
	return false;
}

struct was {
	bool there;
	int64_t expires;
};

static struct was look(struct change *change, int p)
{
	struct prefix at = prefix_at(p);
	struct ban ban;
	int err = state_ban_get(change->state, at.first, at.length, &ban);

	ENOUGH(!err || err_is(err, ENOENT));
	return (struct was){ !err, err ? 0 : ban.expires };
}

/* What is in force is what the model says, and what has changed was touched. */
static bool as_the_model(struct change *change, const struct was *was, bool expired)
{
	for (int p = 0; p < PREFIXES; p++) {
		struct prefix at = prefix_at(p);
		int end = model_end(p);
		struct was is = look(change, p);
		struct ban own;
		int err;

		if (!CHECK(is.there == (end > model.now), "prefix %d: a ban: %d, at %d it ends at %d", p, is.there,
			   model.now, end) ||
		    (is.there && end == NEVER && !CHECK(!is.expires, "prefix %d ends", p)) ||
		    (is.there && end != NEVER &&
		     !CHECK(llabs(is.expires - beginning - end) < 8, "prefix %d ends at %lld, not at %d", p,
			    (long long)(is.expires - beginning), end)))
			return false;
		if (!expired && (is.there != was[p].there || is.expires != was[p].expires) &&
		    !CHECK(is_touched(change, &at), "prefix %d was not touched", p))
			return false;
		err = account_own(change->state, at.first, at.length, &own);
		if (!CHECK(err ? err_is(err, ENOENT) && model.own[p] <= model.now
			       : model.own[p] > model.now || !ban_in_force(&own, beginning + model.now),
			   "prefix %d: its own ban: %d, of the model %d", p, !err, model.own[p]))
			return false;
	}
	return true;
}

static int random_end(void)
{
	return model.now / 20 * 20 + 20 + 20 * (int)(ktap_random() % 30);
}

static void say(struct change *change, int m, int p, int end)
{
	struct prefix at = prefix_at(p);
	bool taken, fresh;

	if (!CHECK(!account_say(change, names[m], &at, end - (int)(time(NULL) - beginning), "why", &taken, &fresh) &&
			   taken,
		   "it is not taken"))
		return;
	model.said[m][p] = end;
}

static void own(struct change *change, int p)
{
	struct prefix at = prefix_at(p);
	struct ban ban = { .first = at.first, .length = at.length, .added = time(NULL), .reason = "own" };
	int end = ktap_random() % 5 ? random_end() : NEVER;

	if (end != NEVER) {
		ban.expires = beginning + end;
		ban.due = clock_boot() + (beginning + end - time(NULL)) * 1000000000;
	}
	CHECK(!account_own_put(change, &ban), "own");
	model.own[p] = end;
}

static void rule(struct change *change, int m)
{
	int rule = (int)(ktap_random() % (sizeof(rules) / sizeof(*rules)));
	struct member_limits limits = limits_of_rule(rule);

	ENOUGH(!account_rule(change, m < MEMBERS ? names[m] : MEMBER_ANY, &limits));
	*(m < MEMBERS ? &model.rule[m] : &model.any) = rule;
}

static void end_what_is_over(struct change *change)
{
	struct ban *bans;
	size_t n;

	ENOUGH(!state_bans_expire(change->state, beginning + model.now, &bans, &n));
	free(bans);
	for (int p = 0; p < PREFIXES; p++) {
		if (model.own[p] <= model.now)
			model.own[p] = 0;
		for (int m = 0; m < MEMBERS; m++)
			if (model.said[m][p] <= model.now)
				model.said[m][p] = 0;
	}
}

static void expire(struct change *change)
{
	/* Between two ends. */
	model.now = model.now / 20 * 20 + 10 + 20 * (int)(1 + ktap_random() % 6);
	end_what_is_over(change);
}

/* --force --confirm */
static void try_image(struct change *change)
{
	before.on = true;
	memcpy(before.own, model.own, sizeof(model.own));
	memcpy(before.said, model.said, sizeof(model.said));
	memset(model.own, 0, sizeof(model.own));
	memset(model.said, 0, sizeof(model.said));
	ENOUGH(!state_pending_add(change->state, &image) && !state_bans_clear(change->state) &&
	       !state_set(change->state, "image", 1));
}

static struct pending waits_of(int p)
{
	struct pending waits = { .kind = PENDING_BAN, .deadline = 4000000000 };
	struct prefix at = prefix_at(p);

	prefix_text(waits.name, at.first, (int)at.length);
	return waits;
}

/* add --replace --confirm */
static void try_ban(struct change *change, int p)
{
	struct pending waits = waits_of(p);

	for (int m = 0; m < MEMBERS; m++)
		if (model.said[m][p])
			return;
	ENOUGH(!state_pending_add(change->state, &waits));
	trial[p].on = true;
	trial[p].own = model.own[p];
	own(change, p);
}

/* As the detector does, which nobody can tell that it has to wait. */
static void own_beside_trial(struct change *change, int p)
{
	struct prefix at = prefix_at(p);
	struct ban is;

	own(change, p);
	ENOUGH(!account_own(change->state, at.first, at.length, &is));
	CHECK(!state_ban_stays(change->state, &is), "beside a trial: %s", log_last());
	if (trial[p].own < model.own[p])
		trial[p].own = model.own[p];
}

static void judge_what_came_back(struct change *change)
{
	size_t n;

	CHECK(!stepped_back(change->state, &change->touched, &n) && !n, "%zu mended: %s", n, log_last());
	CHECK(!state_said_came_back(change->state), "it is not judged");
}

/* A member's last word counts, and of this machine what ends later. */
static void image_goes_back(struct change *change)
{
	before.on = false;
	for (int p = 0; p < PREFIXES; p++) {
		if (model.own[p] < before.own[p])
			model.own[p] = before.own[p];
		for (int m = 0; m < MEMBERS; m++)
			if (!model.said[m][p])
				model.said[m][p] = before.said[m][p];
	}
	/* A command begins with that: its rules are in the state. */
	ENOUGH(!accounts_put(change));
	CHECK(!state_pending_undo(change->state, &image), "going back: %s", log_last());
	judge_what_came_back(change);
	end_what_is_over(change);
}

/* Or it is confirmed. */
static void end_trial(struct change *change)
{
	if (ktap_random() % 3) {
		image_goes_back(change);
		return;
	}
	before.on = false;
	ENOUGH(!state_pending_confirm(change->state) && !state_set(change->state, "image", 0));
}

/* What was there before it began, and what it could not keep from coming; or all is confirmed. */
static void end_ban_trial(struct change *change, int p)
{
	struct pending waits = waits_of(p);

	if (ktap_random() % 3 == 0) {
		memset(trial, 0, sizeof(trial));
		ENOUGH(!state_pending_confirm(change->state));
		return;
	}
	trial[p].on = false;
	model.own[p] = trial[p].own;
	ENOUGH(!accounts_put(change));
	CHECK(!state_pending_undo(change->state, &waits), "a ban goes back: %s", log_last());
	judge_what_came_back(change);
	end_what_is_over(change);
}

static bool any_ban_waits(void)
{
	for (int p = 0; p < PREFIXES; p++)
		if (trial[p].on)
			return true;
	return false;
}

static void begin(struct change *change);
static void end(struct change *change);

/* A version that knows no fleet bans or takes out, for it: what is said of the prefix stays in its table. */
static void by_older_version(struct change *change, int p)
{
	struct prefix at = prefix_at(p);
	struct ban ban = { .first = at.first, .length = at.length, .added = time(NULL), .reason = "older" };
	bool there = look(change, p).there, renewed, known;
	int64_t since = beginning;
	size_t n;

	model.own[p] = there && ktap_random() % 2 ? 0 : random_end();
	ban.expires = beginning + model.own[p];
	end(change);
	begin(change);
	/* Where nobody says anything, there is nothing to mend. */
	known = state_said_any(change->state) > 0;
	ENOUGH(model.own[p] ? !state_ban_put(change->state, &ban, &renewed)
			    : !state_ban_drop(change->state, at.first, at.length));
	ENOUGH(!state_set(change->state, SETTING_GENERATION, state_setting(change->state, SETTING_GENERATION, 0) + 1));
	change->state->stepped_back = true; /* it keeps no number of bans */
	end(change);
	begin(change);
	CHECK(state_stepped_back(change->state) == known, "it is noticed: %d", !known);
	/* Whoever mends nothing leaves that to others. */
	end(change);
	begin(change);
	beginning = since;
	CHECK(!stepped_back(change->state, &change->touched, &n), "mending: %s", log_last());
	CHECK(!state_stepped_back(change->state), "it is not mended");
}

/* True: bans ended by themselves, or are in force without us. */
static bool step(struct change *change)
{
	int p = (int)(ktap_random() % PREFIXES), m = (int)(ktap_random() % MEMBERS), err;
	struct prefix at = prefix_at(p);
	size_t n;

	switch (ktap_random() % 16) {
	case 0:
	case 1:
		(trial[p].on ? own_beside_trial : own)(change, p);
		return false;
	case 2:
		if (trial[p].on)
			return false;
		err = account_own_drop(change, at.first, at.length);
		CHECK(err ? err_is(err, ENOENT) && !model.own[p] : model.own[p], "its own end: %s", reason(err));
		ENOUGH(!change_touch(change, at.first, at.length)); /* as ban_del() does */
		model.own[p] = 0;
		return false;
	case 3:
		rule(change, (int)(ktap_random() % (MEMBERS + 1)));
		return false;
	case 4:
		err = account_forget(change, names[m], &n);
		CHECK(!err || err_is(err, ENOENT), "forget: %s", reason(err));
		memset(model.said[m], 0, sizeof(model.said[m]));
		memset(before.said[m], 0, sizeof(before.said[m]));
		return false;
	case 5:
		expire(change);
		return true;
	case 6:
		if (!trial[p].on)
			by_older_version(change, p);
		return true;
	case 7:
	case 8:
		err = account_unsay(change, names[m], &at);
		CHECK(err ? err_is(err, ENOENT) && !model.said[m][p] : model.said[m][p], "its end: %s", reason(err));
		model.said[m][p] = before.said[m][p] = 0;
		return false;
	case 13:
		if (ktap_random() % 4 || any_ban_waits())
			return false;
		(before.on ? end_trial : try_image)(change);
		return true;
	case 14:
		if (trial[p].on)
			end_ban_trial(change, p);
		else if (!before.on)
			try_ban(change, p);
		return true;
	default:
		say(change, m, p, random_end());
		return false;
	}
}

static void begin(struct change *change)
{
	*change = (struct change){ .context = &own_context, .state = opened(true) };
	ENOUGH(change->state);
	beginning = time(NULL);
}

static void end(struct change *change)
{
	CHECK(!accounts_put(change) && !state_commit(change->state), "the commit: %s", log_last());
	state_close(change->state);
	touched_free(&change->touched);
	accounts_free(&change->accounts);
}

static void against_the_model(void)
{
	struct change change;
	bool right = true;

	memset(&model, 0, sizeof(model));
	memset(&before, 0, sizeof(before));
	memset(trial, 0, sizeof(trial));
	for (int m = 0; m < MEMBERS; m++)
		model.rule[m] = -1;
	begin(&change);
	rule(&change, MEMBERS);
	for (int i = 0; i < STEPS && right && !ktap_failed; i++) {
		struct was was[PREFIXES];
		bool expired;

		for (int p = 0; p < PREFIXES; p++)
			was[p] = look(&change, p);
		prefixes_free(&change.touched.each);
		change.touched.each = (struct prefixes){ 0 };
		expired = step(&change);
		right = as_the_model(&change, was, expired);
		/* Now and then by what is written. */
		if (right && !(ktap_random() % 50)) {
			int64_t since = beginning;

			end(&change);
			begin(&change);
			beginning = since;
		}
	}
	end(&change);
	empty_directory();
}

static bool is_taken(struct change *change, const char *member, const char *text, double seconds)
{
	struct prefix p;
	bool taken = false, fresh;

	ENOUGH(!prefix_parse(text, strlen(text), &p.first, &p.length));
	CHECK(!account_say(change, member, &p, seconds, "x\033[2J", &taken, &fresh), "say: %s", log_last());
	return taken;
}

static void no_more_than_it_may(void)
{
	struct member_limits limits = { .entries = 3, .ttl = 60, .wide = { 24, 48 }, .rate = 0.001, .quorum = 1 };
	struct member member;
	struct change change;
	struct said *said;
	char text[32];
	size_t n;
	int taken = 0;

	begin(&change);
	CHECK(!is_taken(&change, "a", "198.51.100.1", 60), "nobody has accepted it");
	ENOUGH(!account_rule(&change, "a", &limits));
	CHECK(!is_taken(&change, "a", "198.51.0.0/23", 60), "a prefix that is too wide");
	CHECK(!is_taken(&change, "a", "2001:db8::/47", 60), "a prefix that is too wide");
	CHECK(is_taken(&change, "a", "198.51.100.0/24", 1e9), "a long one is shortened");
	CHECK(is_taken(&change, "a", "198.51.100.1", 0), "one without an end has one");
	CHECK(is_taken(&change, "a", "198.51.100.2", 10), "the third");
	CHECK(!is_taken(&change, "a", "198.51.100.3", 10), "the fourth");
	ENOUGH(!account_rule(&change, "b", &limits));
	/* The rate begins once it had as many as it may have at a time. */
	for (int i = 0; i < 100; i++) {
		snprintf(text, sizeof(text), "203.0.113.%d", i % 2);
		taken += is_taken(&change, "b", text, 10);
	}
	CHECK(taken == 4, "%d were taken at once", taken);
	CHECK(!account_rule(&change, "a", NULL) && !is_taken(&change, "a", "198.51.100.1", 10), "it is refused");
	end(&change);
	begin(&change);
	ENOUGH(!state_member_get(change.state, "a", &member) && !state_said_by(change.state, member.id, &said, &n));
	CHECK(n == 3 && member.taken == 3 && member.refused == 5 && !strcmp(member.why, "it is not accepted"),
	      "%zu, %d taken, %d refused: %s", n, (int)member.taken, (int)member.refused, member.why);
	for (size_t i = 0; i < n; i++)
		CHECK(said[i].ban.expires && said[i].ban.expires - said[i].ban.added <= 61 &&
			      !strcmp(said[i].ban.reason, "x?[2J"),
		      "%zu: until %lld: %s", i, (long long)said[i].ban.expires, said[i].ban.reason);
	free(said);
	end(&change);
	empty_directory();
}

/* Whose words were forgotten has room for as many again; whom no rule names is not known any more. */
static void forgotten(void)
{
	struct member_limits limits = {
		.entries = 3, .ttl = 60, .wide = { 24, 48 }, .rate = MEMBER_RATE_MOST, .quorum = 1
	};
	struct member member;
	struct change change;
	char text[32];
	size_t n;

	begin(&change);
	ENOUGH(!account_rule(&change, "a", &limits) && !account_rule(&change, MEMBER_ANY, &limits));
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 8; i++) {
			snprintf(text, sizeof(text), "198.51.%d.%d", 100 + round, i / 2);
			CHECK(is_taken(&change, "a", text, 60) == (i < 6), "round %d: %s", round, text);
		}
		n = 7;
		CHECK(!account_forget(&change, "a", &n) && n == 3, "round %d: %zu are forgotten", round, n);
	}
	CHECK(is_taken(&change, "b", "203.0.113.1", 60) && !account_forget(&change, "b", &n) && n == 1, "of any: %zu",
	      n);
	CHECK(err_is(account_forget(&change, "b", &n), ENOENT) && !n, "it is known still");
	CHECK(err_is(account_forget(&change, MEMBER_ANY, &n), ENOENT) && !n, "any is nobody");
	ENOUGH(!accounts_put(&change));
	CHECK(!state_member_get(change.state, "a", &member) &&
		      err_is(state_member_get(change.state, "b", &member), ENOENT),
	      "who is known");
	end(&change);
	empty_directory();
}

/* What this machine needs is not banned by others, and nothing else stops for that; it waits. */
static void what_this_machine_needs(void)
{
	struct member_limits limits = member_limits_default;
	char host[PREFIX_TEXT_MAX], wanted[2 * PREFIX_TEXT_MAX + 32];
	struct own_address *own = NULL;
	struct waiting *waiting;
	struct prefix p = { 0 };
	struct change change;
	struct member member;
	size_t n = 0, waits;

	begin(&change);
	ENOUGH(!account_rule(&change, MEMBER_ANY, &limits));
	ENOUGH(!own_addresses(change.state, false, NULL, NULL, &own, &n));
	if (n) {
		p = (struct prefix){ own->addr, addr_width(own->addr.family) };
		prefix_text(host, own->addr, -1);
		ENOUGH(!account_asked(&change, &p) && !account_asked_all(&change));
		CHECK(!is_taken(&change, "a", host, 60) && change.accounts.waits, "its own address");
		CHECK(is_taken(&change, "a", "198.51.100.1", 60), "another");
		ENOUGH(!accounts_put(&change) && !state_member_get(change.state, "a", &member));
		CHECK(!member.refused && member.taken == 2, "%d refused: %s", (int)member.refused, member.why);
		snprintf(wanted, sizeof(wanted), "%s bans %s, ", host, host);
		ENOUGH(!waiting_read(change.state, &waiting, &waits));
		CHECK(waits == 1 && !strcmp(waiting->member, "a") && strstr(waiting->need, wanted), "%zu wait", waits);
		free(waiting);
		ENOUGH(!state_run(change.state, "UPDATE said SET due = 1 WHERE added = 0"));
		ENOUGH(!waiting_read(change.state, &waiting, &waits));
		CHECK(!waits, "%zu wait that have ended", waits);
		free(waiting);
	} else {
		ktap_skip("this machine needs nothing");
	}
	free(own);
	end(&change);
	empty_directory();
}

static int64_t words_waiting(struct state *s)
{
	sqlite3_stmt *stmt = state_prepare(s, "SELECT count(*) FROM said_before");
	int64_t n;

	ENOUGH(stmt && sqlite3_step(stmt) == SQLITE_ROW);
	n = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return n;
}

static struct prefix parsed(const char *text)
{
	struct prefix p;

	ENOUGH(!prefix_parse(text, strlen(text), &p.first, &p.length));
	return p;
}

/* What is in force of it; "": nothing. */
static const char *in_force(struct change *change, const char *text)
{
	static struct ban ban;
	struct prefix p = parsed(text);
	int err = state_ban_get(change->state, p.first, p.length, &ban);

	ENOUGH(!err || err_is(err, ENOENT));
	return err ? "" : ban.reason;
}

static void bans(struct change *change, const char *text, int64_t seconds, const char *why)
{
	struct prefix p = parsed(text);
	struct ban own = { .first = p.first, .length = p.length, .added = time(NULL) };

	if (seconds) {
		own.expires = own.added + seconds;
		own.due = clock_boot() + seconds * 1000000000;
	}
	snprintf(own.reason, sizeof(own.reason), "%s", why);
	ENOUGH(!account_own_put(change, &own));
}

#define IS(text, wanted) CHECK(!strcmp(in_force(&change, text), wanted), "%s: '%s'", text, in_force(&change, text))

/* Its accounts and ends come back with an image that was not confirmed, and stay away with one that was. */
static void beside_an_image(void)
{
	struct member_limits one = member_limits_default, two = member_limits_default;
	struct change change;
	struct prefix p;
	size_t n;

	one.rate = two.rate = 1e6;
	two.quorum = 2;
	begin(&change);
	ENOUGH(!account_rule(&change, "m", &one) && !account_rule(&change, "q1", &two) &&
	       !account_rule(&change, "q2", &two));
	ENOUGH(is_taken(&change, "m", "198.51.100.1", 3600) && is_taken(&change, "q1", "198.51.100.9", 3600) &&
	       is_taken(&change, "m", "198.51.100.2", 3600) && is_taken(&change, "m", "198.51.100.4", 3600));
	bans(&change, "198.51.100.1", 60, "mine");
	bans(&change, "198.51.100.3", 0, "forever");
	bans(&change, "198.51.100.5", 60, "short");
	bans(&change, "198.51.100.7", 60, "before");
	end(&change);
	begin(&change);
	try_image(&change);
	CHECK(words_waiting(change.state) == 5, "%d wait", (int)words_waiting(change.state));
	IS("198.51.100.1", "");
	bans(&change, "198.51.100.3", 60, "later, but short");
	bans(&change, "198.51.100.4", 0, "mine, too");
	bans(&change, "198.51.100.5", 3600, "longer");
	ENOUGH(is_taken(&change, "q2", "198.51.100.9", 60) && is_taken(&change, "m", "198.51.100.7", 3600));
	/* What it takes back does not come back. */
	p = parsed("198.51.100.2");
	CHECK(err_is(account_unsay(&change, "m", &p), ENOENT), "it is said in the meantime");
	end(&change);
	begin(&change);
	CHECK(!state_said_check(change.state) && !state_pending_undo(change.state, &image), "going back: %s",
	      log_last());
	judge_what_came_back(&change);
	IS("198.51.100.1", "m: x?[2J");
	IS("198.51.100.2", "");
	IS("198.51.100.3", "forever");
	IS("198.51.100.4", "mine, too");
	IS("198.51.100.5", "longer");
	IS("198.51.100.7", "m: x?[2J");
	CHECK(*in_force(&change, "198.51.100.9"), "two of two say it");
	CHECK(!words_waiting(change.state), "some wait still");
	p = parsed("198.51.100.1");
	CHECK(!account_unsay(&change, "m", &p), "it has nothing to take back");
	IS("198.51.100.1", "mine");
	CHECK(!account_forget(&change, "m", &n) && n == 2, "%zu forgotten", n);
	IS("198.51.100.4", "mine, too");
	IS("198.51.100.7", "before");
	/* Confirmed. */
	ENOUGH(!state_set(change.state, "image", 0));
	try_image(&change);
	CHECK(words_waiting(change.state) == 2 && !state_pending_confirm(change.state) && !words_waiting(change.state),
	      "it was confirmed");
	IS("198.51.100.9", "");
	/* Beside another image nothing is dropped, and all of it is flushed. */
	ENOUGH(is_taken(&change, "q1", "198.51.100.9", 60) && is_taken(&change, "q2", "198.51.100.9", 60));
	ENOUGH(!state_pending_add(change.state, &image));
	CHECK(!words_waiting(change.state) && !state_pending_undo(change.state, &image), "beside another");
	judge_what_came_back(&change);
	CHECK(*in_force(&change, "198.51.100.9"), "it is gone");
	ENOUGH(!state_set(change.state, "image", 0));
	try_image(&change);
	CHECK(words_waiting(change.state) == 2 && !state_pending_flush(change.state) && !words_waiting(change.state),
	      "flushed");
	end(&change);
	empty_directory();
}

static bool touches(struct change *change, const char *text)
{
	struct prefix p = parsed(text);
	bool does = is_touched(change, &p);

	prefixes_free(&change->touched.each);
	change->touched.each = (struct prefixes){ 0 };
	return does;
}

/* What members say of what this machine tries is touched, though nothing changes: it is for what comes back. */
static void beside_a_trial(void)
{
	struct pending waits = { .kind = PENDING_BAN, .name = "198.51.100.1", .deadline = 4000000000 };
	struct member_limits one = member_limits_default, two = one, none = one;
	struct change change;
	struct prefix p = parsed(waits.name);

	two.quorum = 2;
	none.shadow = true;
	begin(&change);
	ENOUGH(!account_rule(&change, "m", &one) && !account_rule(&change, "q1", &two) &&
	       !account_rule(&change, "q2", &two) && !account_rule(&change, "shadow", &none));
	ENOUGH(!state_pending_add(change.state, &waits));
	bans(&change, "198.51.100.1", 0, "tried");
	bans(&change, "198.51.100.2", 0, "for good");
	CHECK(touches(&change, "198.51.100.1"), "the ban itself is not");
	ENOUGH(is_taken(&change, "m", "198.51.100.2", 60));
	CHECK(!touches(&change, "198.51.100.2"), "what does not wait is");
	ENOUGH(is_taken(&change, "shadow", "198.51.100.1", 60) && is_taken(&change, "q1", "198.51.100.1", 60));
	CHECK(!touches(&change, "198.51.100.1"), "what would not hold without it is");
	ENOUGH(is_taken(&change, "q2", "198.51.100.1", 60));
	CHECK(touches(&change, "198.51.100.1"), "what two of two say is not");
	ENOUGH(!account_unsay(&change, "q2", &p));
	CHECK(!touches(&change, "198.51.100.1"), "what is said no more is");
	ENOUGH(is_taken(&change, "m", "198.51.100.1", 60));
	CHECK(touches(&change, "198.51.100.1"), "what a member says is not");
	IS("198.51.100.1", "tried");
	ENOUGH(!accounts_put(&change) && !state_pending_undo(change.state, &waits));
	judge_what_came_back(&change);
	IS("198.51.100.1", "m: x?[2J");
	end(&change);
	empty_directory();
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "random words of members against a model", against_the_model },
		{ "no more than it may", no_more_than_it_may },
		{ "forgotten", forgotten },
		{ "beside an image that waits", beside_an_image },
		{ "beside a ban on trial", beside_a_trial },
		{ "what this machine needs", what_this_machine_needs },
	};

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
