// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bans of an agent beside another's of the same prefix, which end sooner and later: none of another's ends sooner than
 * it would have without the agent.
 */
#include <time.h>

#include "base/clock.h"
#include "change/accounts.h"
#include "change/ban.h"
#include "change/change.h"
#include "state/strikes.h"

#include "own_state.h"

#define WHOSE BAN_BY_CROWDSEC

static struct change change;
static struct prefix at;

static void begin(void)
{
	change = (struct change){ .context = &own_context, .state = opened(true) };
	ENOUGH(change.state && !prefix_parse("198.51.100.7", 12, &at.first, &at.length));
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

/* What was taken over goes to *was, if it was. True: missed. */
static bool order(bool del, int seconds, const struct ban *back, struct ban *was)
{
	struct ban_options options = { 0 };
	struct ban_order one = {
		.prefix = at, .ttl = seconds, .reason = del ? NULL : WHOSE "x", .del = del, .back = back
	};
	struct banned banned = { 0 };

	CHECK(!ban_orders(&change, &options, WHOSE, &one, 1, &banned), "order: %s", log_last());
	if (was && banned.taken_over_n)
		*was = *banned.taken_over;
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

/* Another's is there first; then the agent's comes, becomes shorter, and is taken out. */
static void another_first(void)
{
	static const int others[] = { 0, 50, 100, 110, 600, 7200 }, agents[] = { 40, 80, 105, 3600 };

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		for (size_t k = 0; k < sizeof(agents) / sizeof(*agents); k++) {
			int other = others[i], agent = agents[k];
			bool over = other && other <= 120 && agent > other, missed;
			struct ban was = { 0 };
			char why[BAN_REASON_MAX];

			begin();
			another(other);
			missed = order(false, agent, NULL, &was);
			CHECK(missed == !over && near(left(why), over ? agent : other) &&
				      !strcmp(why, over ? WHOSE "x" : "mine"),
			      "%d, and %d of the agent: %d s, '%s'", other, agent, left(why), why);
			CHECK(!strcmp(was.reason, over ? "mine" : ""), "taken over: '%s'", was.reason);
			if (over && agent == 3600) {
				missed = order(false, 5, &was, NULL);
				CHECK(missed && near(left(why), other) && !strcmp(why, "mine"),
				      "%d, and it becomes shorter: %d s, '%s'", other, left(why), why);
				ENOUGH(!order(false, agent, NULL, &was));
			}
			missed = order(true, agent, over ? &was : NULL, NULL);
			CHECK(missed == !over && near(left(why), other) && !strcmp(why, "mine"),
			      "%d, and %d taken out: %d s, '%s'", other, agent, left(why), why);
			end();
		}
}

/* seconds 0: without an end. */
static void add(int seconds, const char *why)
{
	struct ban_options options = { .ttl = { .given = seconds, .value = seconds }, .reason = why };
	struct banned banned = { 0 };

	CHECK(!ban_add(&change, &options, &(struct prefixes){ .at = &at, .n = 1 }, &banned), "add: %s", log_last());
	banned_free(&banned);
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
		ENOUGH(!order(false, 3600, NULL, NULL));
		add(seconds, mine);
		CHECK(near(left(why), seconds) && !strcmp(why, mine ?: ""), "%d: %d s, '%s'", seconds, left(why), why);
		CHECK(order(false, 1800, NULL, NULL) && near(left(why), seconds), "%d, and a shorter decision: %d s",
		      seconds, left(why));
		CHECK(order(true, 1800, NULL, NULL) && near(left(why), seconds), "%d, and none: %d s", seconds,
		      left(why));
		end();
	}
	begin();
	ENOUGH(!order(false, 3600, NULL, NULL));
	add(600, "mine");
	CHECK(near(left(why), 3600) && !strcmp(why, WHOSE "x"), "a shorter one: %d s, '%s'", left(why), why);
	end();
}

/* What the detector has counted is not the agent's; neither is what nobody has banned. */
static void detectors(void)
{
	struct strike strike;
	char why[BAN_REASON_MAX];

	begin();
	ENOUGH(!state_strike_put(change.state, &(struct strike){ at.first, at.length, 3, time(NULL) }));
	CHECK(order(true, 60, NULL, NULL) && !change.jail.let_go.n4, "the detector's is taken out");
	CHECK(!order(false, 60, NULL, NULL) && !order(true, 60, NULL, NULL) && left(why) == -1, "it is not taken out");
	CHECK(!change.jail.let_go.n4 && !state_strike_get(change.state, at.first, at.length, &strike) &&
		      strike.strikes == 3,
	      "the detector's word is taken back");
	end();
}

static const struct ktap_case cases[] = {
	{ "another's ban first", another_first },
	{ "the agent's ban first", agents_first },
	{ "the detector's word", detectors },
};

int main(void)
{
	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
