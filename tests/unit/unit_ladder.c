// SPDX-License-Identifier: GPL-2.0-only
/*
 * Strikes of the detector's bans, against a model that writes down when each of them will have fallen: random ladders,
 * offences and silences, dates that are set back, and a state that forgets what has fallen at any time.
 */
#include <math.h>

#include "base/log.h"
#include "filter/ladder.h"
#include "state/strikes.h"

#include "own_state.h"

#define DAY 86400

static const struct ladder ladder_default = { { 60, 600, 3600, DAY, 7 * DAY }, 5 };

static struct ladder some_ladder(void)
{
	struct ladder ladder = { .n = 1 + ktap_random() % LADDER_STEPS };

	for (size_t i = 0; i < ladder.n; i++)
		ladder.seconds[i] = (i ? ladder.seconds[i - 1] : 0) + 1 + ktap_random() % 1000;
	return ladder;
}

/* When the strike of each number is over. */
struct model {
	int64_t falls[LADDER_STEPS + 1];
};

static unsigned int model_left(const struct model *m, int64_t now)
{
	unsigned int n = 0;

	for (unsigned int i = 1; i <= LADDER_STEPS; i++)
		n += m->falls[i] > now;
	return n;
}

static void model_ban(struct model *m, const struct ladder *ladder, unsigned int strikes, int64_t ends)
{
	*m = (struct model){ 0 };
	for (unsigned int i = strikes; i; i--)
		m->falls[i] = ends += ladder->seconds[i - 1];
}

#define SOURCES 5

static void sequences(void)
{
	for (int round = 0; round < 200 && !ktap_failed; round++) {
		struct ladder ladder = some_ladder();
		struct strike strike[SOURCES] = { 0 };
		struct model model[SOURCES] = { 0 };
		int64_t now = 1000000000;

		for (int step = 0; step < 100 && !ktap_failed; step++) {
			unsigned int i = ktap_random() % SOURCES, left, wanted;

			now += ktap_random() % (ladder.seconds[ktap_random() % ladder.n] + 2);
			left = ladder_left(&ladder, strike[i].strikes, strike[i].ended, now);
			wanted = model_left(&model[i], now);
			if (!CHECK(left == wanted, "round %d, step %d: %u strikes, not %u", round, step, left, wanted))
				return;
			if (ktap_random() % 2 || strike[i].ended > now)
				continue;
			strike[i].strikes = left < ladder.n ? left + 1 : left;
			strike[i].ended = now + ladder_seconds(&ladder, strike[i].strikes, 0.5);
			model_ban(&model[i], &ladder, strike[i].strikes, strike[i].ended);
		}
	}
}

static void lengths(void)
{
	static const int64_t wanted[] = { 60, 600, 3600, DAY, 7 * DAY, 7 * DAY, 7 * DAY };

	for (unsigned int i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		int64_t least = INT64_MAX, most = 0, step = wanted[i];

		CHECK(ladder_seconds(&ladder_default, i + 1, 0.5) == step, "strike %u", i + 1);
		for (int k = 0; k < 1000; k++) {
			int64_t seconds =
				ladder_seconds(&ladder_default, i + 1, (double)(ktap_random() >> 11) * 0x1p-53);

			least = seconds < least ? seconds : least;
			most = seconds > most ? seconds : most;
		}
		CHECK(least >= step * 9 / 10 && most <= step * 11 / 10, "strike %u: %" PRId64 " to %" PRId64, i + 1,
		      least, most);
		CHECK(least < step * 92 / 100 && most > step * 108 / 100, "strike %u: only %" PRId64 " to %" PRId64,
		      i + 1, least, most);
	}
	/* A ladder of a second lasts one. */
	CHECK(ladder_seconds(&(struct ladder){ { 1 }, 1 }, 1, 0) == 1, "a second");
	CHECK(ladder_falls(&ladder_default, 2) == 660, "two of them fall within %" PRId64 " s",
	      ladder_falls(&ladder_default, 2));
}

static void edges(void)
{
	static const struct {
		unsigned int strikes;
		int64_t after;
		unsigned int left;
	} known[] = {
		{ 0, 0, 0 },   { 1, 59, 1 },   { 1, 60, 0 },   { 2, 0, 2 },	    { 2, 599, 2 },
		{ 2, 600, 1 }, { 2, 659, 1 },  { 2, 660, 0 },  { 5, 7 * DAY, 4 },   { 5, 8 * DAY, 3 },
		{ 9, 0, 5 },   { 2, -100, 2 }, { 1, -DAY, 1 }, { 255, 7 * DAY, 4 }, { 1, INT32_MAX, 0 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		unsigned int left =
			ladder_left(&ladder_default, known[i].strikes, 1000000000, 1000000000 + known[i].after);

		CHECK(left == known[i].left, "%u strikes after %" PRId64 " s: %u, not %u", known[i].strikes,
		      known[i].after, left, known[i].left);
	}
}

/* What the state has forgotten of them has fallen, and nothing else. */
static void kept(void)
{
	struct ladder ladder = some_ladder();
	struct model model[SOURCES] = { 0 };
	int64_t now = 1000000000;
	struct state *s = opened(true);

	for (int step = 0; step < 400 && s && !ktap_failed; step++) {
		unsigned int i = ktap_random() % SOURCES, left, wanted;
		struct strike strike = { .first = { i % 2 ? i : (ip6)i << 64, i % 2 ? 4 : 6 },
					 .length = i % 2 ? 32 : 64 };
		int err;

		now += ktap_random() % (ladder.seconds[ktap_random() % ladder.n] + 2);
		if (!(ktap_random() % 3))
			CHECK(!state_strikes_fall(s, &ladder, now), "%s", reason(-1));
		if (!(ktap_random() % 20)) {
			CHECK(!state_commit(s), "%s", reason(-1));
			state_close(s);
			s = opened(true);
			if (!s)
				return;
		}
		err = state_strike_get(s, strike.first, strike.length, &strike);
		CHECK(!err || err_is(err, ENOENT), "%s", reason(err));
		left = err ? 0 : ladder_left(&ladder, strike.strikes, strike.ended, now);
		wanted = model_left(&model[i], now);
		CHECK(left == wanted, "step %d: %u strikes, not %u", step, left, wanted);
		if (ktap_random() % 2 || (!err && strike.ended > now))
			continue;
		strike.strikes = left < ladder.n ? left + 1 : left;
		strike.ended = now + ladder_seconds(&ladder, strike.strikes, 0.5);
		CHECK(!state_strike_put(s, &strike), "%s", reason(-1));
		model_ban(&model[i], &ladder, strike.strikes, strike.ended);
	}
	state_close(s);
	empty_directory();
}

static size_t rows(struct state *s, struct strike **strikes)
{
	size_t n;

	CHECK(!state_strikes(s, strikes, &n), "%s", reason(-1));
	return n;
}

/* A date that is set back by years does not keep anybody on the ladder for years. */
static void set_back(void)
{
	struct strike strike = { .first = { 1, 4 }, .length = 32, .strikes = 2, .ended = 2000000000 }, *all = NULL;
	struct state *s = opened(true);

	if (!s)
		return;
	CHECK(!state_strike_put(s, &strike) && !state_strikes_fall(s, &ladder_default, 1000000000), "%s", reason(-1));
	CHECK(!state_strike_get(s, strike.first, strike.length, &strike) && strike.ended == 1000000000,
	      "it ended at %" PRId64, strike.ended);
	CHECK(!state_strikes_fall(s, &ladder_default, 1000000659) && rows(s, &all) == 1, "it has fallen too early");
	free(all);
	CHECK(!state_strikes_fall(s, &ladder_default, 1000000660) && rows(s, &all) == 0, "it has not fallen");
	free(all);
	/* That of a ban of the longest step that lasts a tenth longer is no such date. */
	strike = (struct strike){ { 2, 4 }, 32, 5, 1000000000 + 7 * DAY * 11 / 10 };
	CHECK(!state_strike_put(s, &strike) && !state_strikes_fall(s, &ladder_default, 1000000000), "%s", reason(-1));
	CHECK(!state_strike_get(s, strike.first, strike.length, &strike) && strike.ended != 1000000000, "it was cut");
	state_close(s);
	empty_directory();
}

static void bounded(void)
{
	struct strike *all = NULL;
	struct state *s = opened(true);
	size_t n, more = 1 + ktap_random() % 100;
	bool oldest = true;

	for (size_t i = 0; s && i < STRIKES_MOST + more; i++) {
		/* In an order that is not that of their keys. */
		uint32_t at = (uint32_t)((uint64_t)i * 48271 % (STRIKES_MOST + more));
		struct strike strike = { { i, 4 }, 32, 1 + i % 3, 1000000000 + at };

		ENOUGH(!state_strike_put(s, &strike));
	}
	if (!s)
		return;
	CHECK(!state_strikes_bound(s), "%s", reason(-1));
	n = rows(s, &all);
	CHECK(n == STRIKES_MOST, "%zu rows", n);
	for (size_t i = 0; i < n; i++)
		oldest = oldest && all[i].ended >= 1000000000 + (int64_t)more;
	CHECK(oldest, "one that ended first is still there, and a later one is not");
	CHECK(!state_strike_drop(s, all[0].first, 32) && !state_strike_drop(s, all[0].first, 32), "%s", reason(-1));
	CHECK(err_is(state_strike_get(s, all[0].first, 32, &all[1]), ENOENT), "it is still there");
	free(all);
	state_close(s);
	empty_directory();
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "offences and silences against a model", sequences },
		{ "how long a ban lasts", lengths },
		{ "where a strike falls", edges },
		{ "what the state keeps, against a model", kept },
		{ "a date that is set back", set_back },
		{ "how many are kept", bounded },
	};

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
