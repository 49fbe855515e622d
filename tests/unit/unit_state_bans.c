// SPDX-License-Identifier: GPL-2.0-only
/*
 * The bans of a state against an array of them: put, renewed, dropped and ended in any order, and every question that
 * is asked of them, of all and of a part. Beside them what is kept of signatures and of strikes.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "filter/ladder.h"
#include "state/bans.h"
#include "state/sources.h"
#include "state/strikes.h"

#include "own_state.h"

enum { MOST = 600, STEPS = 250 };

static struct ban known[MOST];
static size_t known_n;
static int64_t now; /* nothing ends near it */

static int by_place(const void *a, const void *b)
{
	const struct ban *x = a, *y = b;

	if (x->first.family != y->first.family)
		return x->first.family - y->first.family;
	if (x->length != y->length)
		return (int)x->length - (int)y->length;
	return x->first.num < y->first.num ? -1 : x->first.num > y->first.num;
}

static struct ban *find(const struct ban *ban)
{
	for (size_t i = 0; i < known_n; i++)
		if (!by_place(&known[i], ban))
			return &known[i];
	return NULL;
}

static bool in_force(const struct ban *ban)
{
	return !ban->expires || ban->expires > now;
}

/* Of few networks, so that they meet. */
static struct ban some_ban(void)
{
	static const unsigned int four[] = { 8, 16, 24, 31, 32 }, six[] = { 0, 32, 48, 64, 128 };
	struct ban ban = { .first.family = ktap_random() % 2 ? 4 : 6, .added = 1 };
	uint64_t end = ktap_random() % 4;

	if (ban.first.family == 4) {
		ban.length = four[ktap_random() % 5];
		ban.first.num = (10 + ktap_random() % 3) << 24 | (ktap_random() % 3) << 16 | (ktap_random() % 2) << 8 |
				ktap_random() % 4;
	} else {
		ban.length = six[ktap_random() % 40 ? 1 + ktap_random() % 4 : 0];
		ban.first.num = (ip6)(0x2001 + ktap_random() % 2) << 112 | (ip6)(ktap_random() % 3) << 80 |
				(ip6)(ktap_random() % 2) << 64 | ktap_random() % 4;
	}
	ban.first.num &= ~addr_mask(ban.first.family, ban.length);
	ban.expires = !end	 ? 0
		      : end == 1 ? now - 1000 - (int64_t)(ktap_random() % 1000)
				 : now + 100000 + (int64_t)(ktap_random() % 1000);
	ban.due = ban.expires ? clock_boot() + ban.expires * 1000000000 - clock_ns(CLOCK_REALTIME) : 0;
	snprintf(ban.reason, sizeof(ban.reason), "reason %u", (unsigned int)(ktap_random() % 100));
	return ban;
}

static bool same(const struct ban *is, const struct ban *wanted)
{
	/* Ends are kept by another clock, to the ns. */
	return !by_place(is, wanted) && llabs(is->expires - wanted->expires) <= 1 && !is->expires == !wanted->expires &&
	       is->added == wanted->added && !strcmp(is->reason, wanted->reason);
}

static bool touches(const struct ban *ban, const struct ranges *within)
{
	ip6 last = ban->first.num | addr_mask(ban->first.family, ban->length);

	if (ban->first.family == 4) {
		for (size_t i = 0; i < within->n4; i++)
			if (within->v4[i].lo <= last && within->v4[i].hi >= ban->first.num)
				return true;
		return false;
	}
	for (size_t i = 0; i < within->n6; i++)
		if (within->v6[i].lo <= last && within->v6[i].hi >= ban->first.num)
			return true;
	return false;
}

static void set_of(struct ranges *set, const struct ranges *within, int ends)
{
	*set = RANGES_EMPTY;
	for (size_t i = 0; i < known_n; i++)
		if (in_force(&known[i]) && (!within || touches(&known[i], within)) &&
		    (ends < 0 || ends == (known[i].expires != 0)))
			ENOUGH(!ranges_add_prefix(set, known[i].first, known[i].length));
	ENOUGH(!ranges_finish(set));
}

static bool holds(const struct ranges *set, const struct ranges *part)
{
	struct ranges both;
	bool is;

	ENOUGH(!ranges_union(&both, set, part));
	is = ranges_equal(&both, set);
	ranges_free(&both);
	return is;
}

/* What is asked of a part has at least that part, and nothing that is not there. */
static void between(struct ranges *is, const struct ranges *within, int ends, const char *what)
{
	struct ranges all, part;

	set_of(&all, NULL, ends);
	set_of(&part, within, ends);
	CHECK(holds(&all, is) && holds(is, &part) && (within || ranges_equal(is, &all)), "%s: another set", what);
	ranges_free(&all);
	ranges_free(&part);
	ranges_free(is);
}

static void sets(struct state *s, const struct ranges *within)
{
	struct ranges set, lasting, ending;
	struct ban *bans = NULL;
	size_t n = 0, touching = 0;

	if (!CHECK(!state_bans_set(s, now, within, &set) && !state_bans_sets(s, now, within, &lasting, &ending),
		   "they cannot be read"))
		return;
	between(&set, within, -1, "all");
	between(&lasting, within, 0, "those without an end");
	between(&ending, within, 1, "those with an end");
	CHECK(!state_bans_ending(s, now, within, &bans, &n), "they cannot be read");
	for (size_t i = 0; i < known_n; i++)
		touching += in_force(&known[i]) && known[i].expires && (!within || touches(&known[i], within));
	for (size_t i = 0; i < n; i++) {
		const struct ban *k = find(&bans[i]);

		CHECK(k && same(&bans[i], k) && in_force(k) && k->expires, "no such ban ends");
		CHECK(!i || bans[i - 1].first.family < bans[i].first.family ||
			      (bans[i - 1].first.family == bans[i].first.family &&
			       (bans[i - 1].first.num < bans[i].first.num ||
				(bans[i - 1].first.num == bans[i].first.num && bans[i - 1].length < bans[i].length))),
		      "another order");
		touching -= k && (!within || touches(k, within));
	}
	CHECK(!touching, "%zu that end are missed", touching);
	free(bans);
}

static void all_of_them(struct state *s)
{
	struct ban *bans = NULL, last = { 0 };
	size_t n = 0, at = 0;
	uint64_t count = 0;

	qsort(known, known_n, sizeof(*known), by_place);
	CHECK(!state_bans(s, &bans, &n) && n == known_n, "%zu of %zu", n, known_n);
	for (size_t i = 0; i < n && i < known_n; i++)
		CHECK(find(&bans[i]) && same(&bans[i], find(&bans[i])), "ban %zu is another", i);
	free(bans);
	do {
		unsigned int most = 1 + (unsigned int)(ktap_random() % 50);

		if (!CHECK(!state_bans_page(s, &last, most, &bans, &n) && n <= most, "no page"))
			return;
		for (size_t i = 0; i < n; i++, at++) {
			CHECK(at < known_n && same(&bans[i], &known[at]), "ban %zu of a page is another", at);
			last = bans[i];
		}
		free(bans);
		if (n < most)
			break;
	} while (at <= known_n && !ktap_failed);
	CHECK(at == known_n, "%zu of %zu in pages", at, known_n);
	for (at = n = 0; at < known_n; at++)
		n += in_force(&known[at]);
	CHECK(!state_bans_count(s, now, &count) && count == n, "%llu in force, and not %zu", (unsigned long long)count,
	      n);
	CHECK(state_bans_any(s) == (known_n > 0), "any");
}

/* The next to end; those without an end are behind them. */
static void first_ones(struct state *s)
{
	unsigned int most = (unsigned int)(ktap_random() % 40);
	size_t n = 0, ending = 0, over = 0;
	struct ban *bans = NULL;
	int64_t least = 0;

	for (size_t i = 0; i < known_n; i++) {
		ending += known[i].expires != 0;
		over += !in_force(&known[i]);
		least = known[i].expires && (!least || known[i].expires < least) ? known[i].expires : least;
	}
	CHECK(state_bans_ending_any(s) == (ending > 0), "any that end");
	CHECK(state_bans_ending_fit(s, ending) && (!ending || !state_bans_ending_fit(s, ending - 1)), "%zu fit",
	      ending);
	CHECK(llabs(state_bans_next(s) - least) <= 1, "the next ends at %lld, not %lld", (long long)state_bans_next(s),
	      (long long)least);
	CHECK(!state_bans_first(s, now, most, &bans, &n) && n <= most, "%zu of %u", n, most);
	for (size_t i = 0; i < n; i++)
		CHECK(find(&bans[i]) && in_force(&bans[i]) &&
			      (!i || !bans[i].expires ||
			       (bans[i - 1].expires && bans[i - 1].expires <= bans[i].expires)),
		      "number %zu of the first", i);
	free(bans);
	/* Rows that have run out are among those that are looked at. */
	CHECK(over || n == (most < known_n ? most : known_n), "%zu of the first %u", n, most);
}

static void around(struct state *s)
{
	struct ban asked = some_ban(), is;
	const struct ban *widest = NULL;
	int err;

	for (size_t i = 0; i < known_n; i++) {
		const struct ban *k = &known[i];

		if (in_force(k) && k->first.family == asked.first.family && k->length < asked.length &&
		    k->first.num == (asked.first.num & ~addr_mask(k->first.family, k->length)) &&
		    (!widest || k->length < widest->length))
			widest = k;
	}
	err = state_ban_around(s, asked.first, asked.length, now, &is);
	CHECK(widest ? !err && same(&is, widest) : err_is(err, ENOENT),
	      "around it is another: %d, /%u to %lld, not /%u to %lld", err, err ? 0 : is.length,
	      err ? 0 : (long long)is.expires, widest ? widest->length : 0, widest ? (long long)widest->expires : 0);
}

static void expires(struct state *s)
{
	struct ban *bans = NULL;
	size_t n = 0, over = 0;

	for (size_t i = 0; i < known_n; i++)
		over += !in_force(&known[i]);
	CHECK(!state_bans_expire(s, now, &bans, &n) && n == over, "%zu have run out, and not %zu", n, over);
	for (size_t i = 0; i < n; i++) {
		struct ban *k = find(&bans[i]);

		if (CHECK(k && !in_force(k), "one has run out that has not"))
			*k = known[--known_n];
	}
	free(bans);
}

static void random_work(void)
{
	now = time(NULL);
	for (int round = 0; round < 4 && !ktap_failed; round++) {
		struct state *s;

		empty_directory();
		known_n = 0;
		s = opened(true);
		for (int step = 0; step < STEPS && s && !ktap_failed; step++) {
			struct ranges within = RANGES_EMPTY;
			struct ban is;

			for (int i = 0; i < 4 && known_n < MOST; i++) {
				struct ban ban = some_ban(), *k = find(&ban);
				bool which = false, put = ktap_random() % 2;

				CHECK(!(put ? state_ban_put : state_ban_new)(s, &ban, &which) &&
					      which == (put ? k != NULL : k == NULL),
				      "it says %d", which);
				if (!k)
					known[known_n++] = ban;
				else if (put)
					*k = ban;
			}
			for (int i = 0; i < 2; i++) {
				struct ban ban = some_ban(), *k = find(&ban);
				int err = state_ban_get(s, ban.first, ban.length, &is);

				CHECK(k ? !err && same(&is, k) : err_is(err, ENOENT), "another ban: %d", err);
				err = state_ban_drop(s, ban.first, ban.length);
				CHECK(k ? !err : err_is(err, ENOENT), "dropped: %d", err);
				if (k)
					*k = known[--known_n];
			}
			around(s);
			if (step % 5)
				continue;
			for (uint64_t i = ktap_random() % 6; i; i--) {
				struct ban part = some_ban();

				ENOUGH(!ranges_add_prefix(&within, part.first, part.length));
			}
			ENOUGH(!ranges_finish(&within));
			sets(s, step % 10 ? &within : NULL);
			ranges_free(&within);
			all_of_them(s);
			first_ones(s);
			if (step % 25 == 0)
				expires(s);
			if (step % 50)
				continue;
			CHECK(!state_commit(s), "no commit");
			state_close(s);
			s = opened(true);
		}
		if (!s)
			return;
		CHECK(!state_bans_clear(s) && !state_bans_any(s), "something is left");
		state_close(s);
	}
}

/* What a list's signature says of its age. */
static void signatures(void)
{
	const struct pending waits = { .kind = PENDING_LIST, .name = "a", .deadline = 4000000000 };
	const struct source from = { .list = "a", .path = "/lists/a", .stamp = "1" };
	struct ranges set;
	struct source *sources;
	struct state *s;
	uint64_t when = 1;
	size_t n = 1;

	empty_directory();
	s = opened(true);
	random_ranges(&set, 1, 5);
	CHECK(!put(s, "a", LIST_BAN, &set) && !put(s, "b", LIST_BAN, &set), "no lists");
	ranges_free(&set);
	CHECK(!state_signed_get(s, "a", &when) && !when, "it was signed at %llu", (unsigned long long)when);
	CHECK(!state_signed_put(s, "a", 1700000000) && !state_signed_get(s, "a", &when) && when == 1700000000,
	      "it was signed at %llu", (unsigned long long)when);
	CHECK(!state_signed_get(s, "b", &when) && !when && !state_signed_get(s, "none", &when) && !when,
	      "another was signed at %llu", (unsigned long long)when);
	CHECK(!state_sources(s, &sources, &n) && !n, "%zu files", n);
	CHECK(!state_signed_put(s, "a", UINT64_MAX) && !state_signed_get(s, "a", &when) && when == UINT64_MAX,
	      "it was signed at %llu", (unsigned long long)when);
	/* What comes back is as old as it was; beside another such, or what had no signature. */
	for (int was = 0; was < 2; was++) {
		ENOUGH(!state_source_put(s, &from) && (!was || !state_signed_put(s, "a", 1700000000)));
		ENOUGH(!state_pending_add(s, &waits) && !state_signed_put(s, "a", 1790000000));
		CHECK(!state_pending_undo(s, &waits) && !state_signed_get(s, "a", &when) &&
			      when == (was ? 1700000000 : 0),
		      "what came back was signed at %llu", (unsigned long long)when);
	}
	state_close(s);
}

/* Where one list came from, by its name; what is damaged of another's does not matter. */
static void source_of_one(void)
{
	struct source a = { .list = "a", .path = "/lists/a", .stamp = "1", .options = "enforce" }, is;
	struct source damaged = { .list = "b", .path = "of no root" }, *all;
	struct ranges set;
	struct state *s;
	size_t n;

	empty_directory();
	s = opened(true);
	random_ranges(&set, 1, 5);
	CHECK(!put(s, "a", LIST_BAN, &set) && !put(s, "b", LIST_BAN, &set), "no lists");
	ranges_free(&set);
	CHECK(!state_source_get(s, "a", &is) && !*is.path && !*is.list, "it came from %s", is.path);
	CHECK(!state_source_put(s, &a) && !state_signed_put(s, "b", 5), "nothing is put");
	CHECK(!state_source_get(s, "a", &is) && !strcmp(is.path, a.path) && !strcmp(is.stamp, a.stamp) &&
		      !strcmp(is.options, a.options) && !strcmp(is.list, "a"),
	      "it came from %s, '%s', '%s'", is.path, is.stamp, is.options);
	CHECK(!state_source_get(s, "b", &is) && !*is.path, "what is signed came from %s", is.path);
	CHECK(!state_commit(s) && source_is_loaded(&own_context, &a), "its file is not loaded");
	CHECK(!source_is_loaded(&own_context, &(struct source){ .list = "b" }), "no file is that of what has none");
	CHECK(!state_source_get(s, "none", &is) && !*is.path, "none came from %s", is.path);
	CHECK(!state_source_put(s, &damaged), "nothing is put");
	CHECK(err_is(state_sources(s, &all, &n), EUCLEAN) && !all, "the damaged one is not noticed");
	CHECK(!state_source_get(s, "a", &is) && !strcmp(is.path, a.path), "beside a damaged one: %s", is.path);
	CHECK(err_is(state_source_get(s, "b", &is), EUCLEAN) && !*is.path, "it is damaged: %s", is.path);
	state_close(s);
}

/* Put, dropped, fallen: by the ladder, and a second before. */
static void strikes(void)
{
	struct ladder ladder = { .seconds = { 60, 600 }, .n = 2 };
	struct strike strike = { .first = { 0xc0000201, 4 }, .length = 32, .strikes = 1, .ended = 1000000 }, is, *all;
	struct addr other = { 0xc0000202, 4 };
	struct state *s;
	size_t n = 1;
	int64_t falls;

	empty_directory();
	s = opened(true);
	CHECK(err_is(state_strike_get(s, strike.first, 32, &is), ENOENT) && !state_strikes(s, &all, &n) && !n,
	      "%zu without any", n);
	for (unsigned int strikes = 0; strikes <= 2; strikes++) {
		falls = strikes ? (int64_t)ladder_falls(&ladder, strikes) : STRIKE_SAID;
		strike.strikes = strikes;
		CHECK(!state_strike_put(s, &strike) && !state_strike_get(s, strike.first, 32, &is) &&
			      is.strikes == strikes && is.ended == 1000000 && is.length == 32 &&
			      is.first.num == strike.first.num && is.first.family == 4,
		      "%u strikes: %u", strikes, is.strikes);
		CHECK(err_is(state_strike_get(s, other, 32, &is), ENOENT) &&
			      err_is(state_strike_get(s, strike.first, 31, &is), ENOENT),
		      "another has them");
		CHECK(!state_strikes_fall(s, &ladder, 1000000 + falls - 1) &&
			      !state_strike_get(s, strike.first, 32, &is),
		      "%u strikes are forgotten a second too soon", strikes);
		CHECK(!state_strikes_fall(s, &ladder, 1000000 + falls) &&
			      err_is(state_strike_get(s, strike.first, 32, &is), ENOENT),
		      "%u strikes are not forgotten", strikes);
	}
	/* Written before the clock was set back: it counts from now on. */
	CHECK(!state_strike_put(s, &strike) && !state_strikes_fall(s, &ladder, 1000) &&
		      !state_strike_get(s, strike.first, 32, &is) && is.ended == 1000,
	      "it ended at %lld", (long long)is.ended);
	strike.first = other;
	CHECK(!state_strike_put(s, &strike) && !state_strikes(s, &all, &n) && n == 2, "%zu, not 2", n);
	CHECK(all[0].first.num == 0xc0000201 && all[1].first.num == 0xc0000202, "another order");
	free(all);
	CHECK(!state_strike_drop(s, other, 32) && !state_strikes(s, &all, &n) && n == 1 &&
		      all[0].first.num == 0xc0000201,
	      "%zu are left", n);
	free(all);
	CHECK(!state_strike_drop(s, other, 32) && !state_strikes_bound(s) && !state_strikes(s, &all, &n) && n == 1,
	      "%zu are left", n);
	free(all);
	state_close(s);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "random_work", random_work },
		{ "signatures", signatures },
		{ "source_of_one", source_of_one },
		{ "strikes", strikes },
	};

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
