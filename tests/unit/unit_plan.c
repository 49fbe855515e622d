// SPDX-License-Identifier: GPL-2.0-only
/* Sizes: the rungs against every subset there is, and what a plan must hold. */
#include <errno.h>

#include "ktap.h"
#include "base/log.h"
#include "naive.h"
#include "filter/forecast.h"
#include "filter/plan_sizes.h"
#include "filter/layout.h"
#include "filter/measured_rate.h"
#include "filter/roster_table.h"

#define ROUNDS 500

/* --- Rungs -----------------------------------------------------------------------------------------------------------
 */

/* How many keys a histogram takes on these rungs; infinite where a prefix finds none. */
static double keys_on(const uint64_t histogram[129], const unsigned int lengths[], unsigned int rungs)
{
	double keys = 0;

	for (unsigned int length = 0; length <= 128; length++) {
		double pieces = INFINITY;

		if (!histogram[length])
			continue;
		for (unsigned int r = 0; r < rungs; r++)
			if (lengths[r] >= length)
				pieces = fmin(pieces, exp2(lengths[r] - length));
		keys += (double)histogram[length] * pieces;
	}
	return keys;
}

static bool same(double a, double b)
{
	return a == b || fabs(a - b) <= 1e-12 * fabs(b);
}

static bool rungs_by_brute_force(const uint64_t histogram[129])
{
	unsigned int present[129], n = 0, lengths[RUNGS_MAX], rungs, fewest = 0;
	double best[RUNGS_MAX + 1], least = INFINITY, keys;

	for (unsigned int i = 0; i <= 128; i++)
		if (histogram[i])
			present[n++] = i;
	for (unsigned int r = 0; r <= RUNGS_MAX; r++)
		best[r] = INFINITY;
	for (unsigned int subset = 1; subset < 1u << n; subset++) {
		unsigned int r = (unsigned int)__builtin_popcount(subset), chosen[16], k = 0;

		if (r > RUNGS_MAX)
			continue;
		for (unsigned int i = 0; i < n; i++)
			if (subset & 1u << i)
				chosen[k++] = present[i];
		best[r] = fmin(best[r], keys_on(histogram, chosen, r));
	}
	for (unsigned int r = 1; r <= RUNGS_MAX; r++)
		least = fmin(least, best[r]);
	/* As few as cost no more than half as many keys again, or a few thousand. */
	while (fewest < RUNGS_MAX && (!fewest || best[fewest] > least * 1.5 + 4096))
		fewest++;

	rungs = plan_rungs(histogram, lengths, &keys);
	if (!CHECK(rungs == (n ? fewest : 0), "%u rungs, not %u", rungs, fewest) || !n)
		return !ktap_failed;
	for (unsigned int r = 1; r < rungs; r++)
		if (!CHECK(lengths[r - 1] < lengths[r] && lengths[r] <= 128, "rung %u is /%u, the one before /%u", r,
			   lengths[r], lengths[r - 1]))
			return false;
	return CHECK(same(keys, keys_on(histogram, lengths, rungs)), "%.17g keys, but its rungs take %.17g", keys,
		     keys_on(histogram, lengths, rungs)) &&
	       CHECK(same(keys, best[rungs]), "%.17g keys on %u rungs; %.17g would do", keys, rungs, best[rungs]);
}

static void rungs_against_subsets(void)
{
	unsigned int used[RUNGS_MAX + 1] = { 0 };

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t histogram[129] = { 0 };
		unsigned int lengths = (unsigned int)(ktap_random() % 12), first, spread, out[RUNGS_MAX];

		/* Close together, so that it is not always clear; counts of all sizes. */
		spread = 12 + (unsigned int)(ktap_random() % 117);
		first = (unsigned int)(ktap_random() % (129 - (spread < 129 ? spread : 129) + 1));
		for (unsigned int i = 0; i < lengths; i++) {
			unsigned int length = first + (unsigned int)(ktap_random() % spread);

			histogram[length <= 128 ? length : 128] = 1 + (ktap_random() >> (30 + ktap_random() % 34));
		}
		used[plan_rungs(histogram, out, NULL)]++;
		if (!rungs_by_brute_force(histogram)) {
			for (unsigned int i = 0; i <= 128; i++)
				if (histogram[i])
					printf("# /%u: %" PRIu64 "\n", i, histogram[i]);
			return;
		}
	}
	for (unsigned int r = 0; r <= RUNGS_MAX; r++)
		printf("# %u histograms took %u rungs\n", used[r], r);
}

static void rungs_of_all_lengths(void)
{
	uint64_t histogram[129];
	unsigned int lengths[RUNGS_MAX], rungs;
	double keys;

	for (unsigned int i = 0; i <= 128; i++)
		histogram[i] = 1;
	rungs = plan_rungs(histogram, lengths, &keys);
	CHECK(rungs >= 1 && rungs <= RUNGS_MAX && lengths[rungs - 1] == 128 &&
		      same(keys, keys_on(histogram, lengths, rungs)),
	      "%u rungs, %.17g keys", rungs, keys);
}

/* --- Whole plans -----------------------------------------------------------------------------------------------------
 */

static void add(struct ranges *set, const char *prefix)
{
	struct addr first;
	unsigned int length;

	ENOUGH(!prefix_parse(prefix, strlen(prefix), &first, &length) && !ranges_add_prefix(set, first, length));
}

/* Settles the set as one account, plans it, and frees both. */
static int plan_set(struct generation *g, struct ranges *set, const struct settings *settings)
{
	struct ranges none = RANGES_EMPTY;
	struct account account = { set, 5 };
	struct owned owned;
	int err;

	ENOUGH(!ranges_finish(set) && !owned_settle(&owned, &account, 1, &none));
	err = plan_generation(g, &owned, settings);
	owned_free(&owned);
	ranges_free(set);
	*set = RANGES_EMPTY;
	return err;
}

static void nothing_unneeded(void)
{
	struct settings settings = SETTINGS_DEFAULT, inexact = settings;
	struct ranges set = RANGES_EMPTY;
	struct generation g = { 0 };

	inexact.exact = false;
	CHECK(!plan_set(&g, &set, &settings) && !arrays_total(&g), "an empty set takes %" PRIu64 " bytes",
	      arrays_total(&g));
	CHECK(!g.rungs && !g.keys4 && !g.keys6 && !g.filter && !g.roster4 && !g.roster6, "an empty set has keys");

	add(&set, "192.0.2.1");
	CHECK(!plan_set(&g, &set, &settings) && g.keys4 == 1 && !g.gate4 && g.filter && g.roster4, "one host");
	CHECK(!g.rungs && !g.gate6 && !g.gate6_log2 && !g.roster6 && !g.keys6 && !g.gate4_labels, "one host, and IPv6");

	add(&set, "192.0.2.1");
	CHECK(!plan_set(&g, &set, &inexact) && g.gate4 && g.filter && !g.roster4 && !g.roster4_buckets,
	      "one host, no roster");

	add(&set, "192.0.2.0/24");
	add(&set, "10.0.0.0/8");
	CHECK(!plan_set(&g, &set, &settings) && g.gate4 && !g.filter && !g.roster4 && !g.keys4 && g.all24 == 65537 &&
		      g.gate4_label == 5 && arrays_total(&g) == GATE4_BYTES,
	      "only whole /24s: %" PRIu64 " bytes", arrays_total(&g));

	add(&set, "2001:db8::/32");
	add(&set, "2001:db9::/48");
	CHECK(!plan_set(&g, &set, &settings) && !g.gate4 && !g.roster4 && !g.keys4 && g.gate6 && g.roster6 && g.filter,
	      "only IPv6");
	CHECK(g.rungs == 2 && g.rung[1].length == 32 && g.rung[1].mask_hi == 0xffffffff00000000ULL &&
		      !g.rung[1].mask_lo && g.rung[0].length == 48 && g.rung[0].mask_hi == 0xffffffffffff0000ULL &&
		      !g.rung[0].mask_lo,
	      "%llu rungs", g.rungs);
	CHECK(g.prefixes6 == 2 && g.keys6 == 2, "%llu prefixes, %llu keys", g.prefixes6, g.keys6);

	/* Too wide to be spread over a gate. */
	add(&set, "8000::/1");
	add(&set, "2001:db8::1");
	CHECK(!plan_set(&g, &set, &settings) && !g.gate6 && !g.gate6_log2 && g.rungs == 2, "a gate under a /1");
	CHECK(g.rung[1].mask_hi == 1ULL << 63 && !g.rung[1].mask_lo && g.rung[0].mask_hi == ~0ULL &&
		      g.rung[0].mask_lo == ~0ULL,
	      "the masks of /1 and /128");

	add(&set, "::/0");
	CHECK(!plan_set(&g, &set, &settings) && g.rungs == 1 && !g.rung[0].length && !g.rung[0].mask_hi && !g.gate6 &&
		      g.keys6 == 1,
	      "::/0");
}

/* The sizes of known sets: /24s, hosts of them, prefixes by length, and the /32s that those lie in or cover. */
static void counted(void)
{
	static const struct {
		const char *prefixes; /* of two accounts, with a comma before the second's */
		uint64_t some24, all24, hosts, minorities;
		double nets32, lengths32;
	} known[] = {
		{ "10.0.0.0/24,", 0, 1, 0, 0, 0, 0 },
		{ "10.0.0.0/22,", 0, 4, 0, 0, 0, 0 },
		{ "10.0.0.1/32,", 1, 0, 1, 0, 0, 0 },
		{ "10.0.0.1/32 10.0.0.4/31 10.0.1.7/32,", 2, 0, 4, 0, 0, 0 },
		{ "10.0.0.0/25,10.0.0.128/26 10.0.0.192/26", 0, 1, 0, 128, 0, 0 },
		{ "10.0.0.0/25 10.0.0.128/26,10.0.0.192/26", 0, 1, 0, 64, 0, 0 },
		{ "2001:db8::1/128,", 0, 0, 0, 0, 1, 1 },
		{ "2001:db8::1/128 2001:db8:1::/48,", 0, 0, 0, 0, 1, 2 },
		{ "2001:db8:1::/48 2001:db8:2::/48 2001:db9::/48,", 0, 0, 0, 0, 2, 2 },
		{ "2001:db8::/32,", 0, 0, 0, 0, 1, 1 },
		{ "2001:db8::/31,", 0, 0, 0, 0, 2, 2 },
		{ "2000::/16 2001:db8::/32,", 0, 0, 0, 0, 65537, 65537 },
		{ "2000::/16,2001:db8::/32 2001:db9:1::/48", 0, 0, 0, 0, 65538, 65538 },
		{ "::/32 0:1::/48,", 0, 0, 0, 0, 2, 2 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct ranges sets[2] = { RANGES_EMPTY, RANGES_EMPTY };
		struct account accounts[2] = { { &sets[0], 1 }, { &sets[1], 2 } };
		char text[100], *rest = text, *prefix;
		uint64_t v6[129] = { 0 };
		struct counts n = { 0 };
		struct owned owned;

		snprintf(text, sizeof(text), "%s", known[i].prefixes);
		for (int a = 0; a < 2; a++) {
			char *words = strsep(&rest, ",");

			while ((prefix = strsep(&words, " "))) {
				if (!*prefix)
					continue;
				add(&sets[a], prefix);
				if (strchr(prefix, ':'))
					v6[atoi(strchr(prefix, '/') + 1)]++;
			}
			ENOUGH(!ranges_finish(&sets[a]));
		}
		ENOUGH(!owned_settle(&owned, accounts, 2, &RANGES_EMPTY));
		plan_count(&n, &owned);
		CHECK(n.some24 == known[i].some24 && n.all24 == known[i].all24 && n.hosts == known[i].hosts &&
			      n.minorities == known[i].minorities && n.nets32 == known[i].nets32 &&
			      n.lengths32 == known[i].lengths32,
		      "%s: some %" PRIu64 ", all %" PRIu64 ", hosts %" PRIu64 ", minorities %" PRIu64 ", %g and %g",
		      known[i].prefixes, n.some24, n.all24, n.hosts, n.minorities, n.nets32, n.lengths32);
		CHECK(!memcmp(n.v6, v6, sizeof(v6)), "%s: prefixes by length", known[i].prefixes);
		owned_free(&owned);
		ranges_free(&sets[0]);
		ranges_free(&sets[1]);
	}
}

static void room(void)
{
	for (int round = 0; round < 200; round++) {
		struct settings settings = SETTINGS_DEFAULT;
		struct ranges set = RANGES_EMPTY;
		uint64_t bytes = 0;
		struct generation g = { 0 };
		struct filter_shape shape;
		double filled;

		settings.headroom = (double)(ktap_random() % 100) / 50;
		settings.bits_per_key = 8 + (double)(ktap_random() % 17);
		settings.layout = (enum layout)(ktap_random() % (LAYOUTS + 1));
		settings.exact = ktap_random() & 1;
		if (ktap_random() & 1)
			settings.fpr = exp2(-2 - (double)(ktap_random() % 20));
		if (ktap_random() & 1)
			settings.k = 4 + (unsigned int)(ktap_random() % 21);
		for (uint64_t n = ktap_random() % 3000; n; n--) {
			uint64_t r = ktap_random();

			if (r & 1)
				ENOUGH(!ranges_add4(&set, (uint32_t)(r >> 32), (uint32_t)(r >> 32) | (r >> 1 & 15)));
			else
				ENOUGH(!ranges_add6(&set, (ip6)r << 64, (ip6)r << 64 | (r >> 1 & 1)));
		}
		if (!CHECK(!plan_set(&g, &set, &settings), "no plan"))
			return;
		for (enum array a = 0; a < ARRAYS; a++)
			bytes += array_bytes(&g, a);
		CHECK(bytes == arrays_total(&g), "the parts are not the total");
		filled = (double)(g.keys4 + g.keys6) * (1 + settings.headroom);
		CHECK(!filled || fpr_expected(layout_shape(&g), filled) <= layout_choose(&settings).fpr * 1.000001,
		      "%.0f keys in %llu blocks: %g, not %g", filled, g.filter_blocks,
		      fpr_expected(layout_shape(&g), filled), layout_choose(&settings).fpr);
		shape = layout_shape(&g);
		shape.bits -= 512 + filled / 100;
		CHECK(g.filter_blocks <= 64 || fpr_expected(shape, filled) > layout_choose(&settings).fpr,
		      "%.0f keys would do with less than %llu blocks", filled, g.filter_blocks);
		CHECK(settings.layout == LAYOUT_AUTO || !filled || g.filter_layout == settings.layout,
		      "%llu is another layout", g.filter_layout);
		if (!settings.exact)
			continue;
		CHECK((double)(buckets4(&g) * slots4(&g)) >= (double)g.keys4 * (1 + settings.headroom),
		      "roster of IPv4");
		CHECK((double)g.roster6_buckets * ROSTER6_SLOTS >= (double)g.keys6 * (1 + settings.headroom),
		      "roster of IPv6");
		CHECK(!g.gate6_log2 || (g.gate6_log2 >= GATE6_LOG2_MIN && g.gate6_log2 <= GATE6_LOG2_MAX),
		      "gate of IPv6");
	}
}

/* A limit of exactly what it takes will do, one byte less will not. */
static void memory_limit(void)
{
	struct settings settings = SETTINGS_DEFAULT;
	struct ranges set = RANGES_EMPTY;
	struct generation g = { 0 };
	int err;
	char needs[32];

	add(&set, "192.0.2.1");
	add(&set, "2001:db8::/37");
	CHECK(!plan_set(&g, &set, &settings), "no plan");
	settings.memory_max = arrays_total(&g);
	add(&set, "192.0.2.1");
	add(&set, "2001:db8::/37");
	CHECK(!plan_set(&g, &set, &settings), "refused at %" PRIu64 " bytes", settings.memory_max);
	snprintf(needs, sizeof(needs), "%" PRIu64, settings.memory_max--);
	add(&set, "192.0.2.1");
	add(&set, "2001:db8::/37");
	err = plan_set(&g, &set, &settings);
	CHECK(err_is(err, E2BIG), "not refused");
	CHECK(strstr(reason(err), needs), "the reason does not say %s: %s", needs, reason(err));
}

/* Where nearly every /24 has hosts its gate goes; not where whole /24s would become too many hosts. */
static void no_gate(void)
{
	const uint32_t nets = (1u << 22) + 1000;
	struct settings settings = SETTINGS_DEFAULT;
	struct ranges set = RANGES_EMPTY;
	struct generation g = { 0 };

	for (uint32_t i = 0; i < nets; i++)
		ENOUGH(!ranges_add_host(&set, i << 8 | (i & 255)));
	add(&set, "200.0.0.0/16");
	CHECK(!plan_set(&g, &set, &settings) && !g.gate4 && !g.gate4_labels && !g.all24 && g.keys4 == nets + 65536 &&
		      g.roster4,
	      "%llu keys, gate %llu", g.keys4, g.gate4);
	for (uint32_t i = 0; i < nets; i++)
		ENOUGH(!ranges_add_host(&set, i << 8 | (i & 255)));
	add(&set, "192.0.0.0/8");
	CHECK(!plan_set(&g, &set, &settings) && g.gate4 && g.all24 == 65536 && g.keys4 == nets, "%llu keys, gate %llu",
	      g.keys4, g.gate4);
}

static void too_many_keys(void)
{
	struct settings settings = SETTINGS_DEFAULT;
	struct ranges set = RANGES_EMPTY;
	struct generation g = { 0 };
	int err;

	/* What is between random addresses has prefixes of all lengths, and thousands of each. */
	ENOUGH(!ranges_add6(&set, 0, ~(ip6)0));
	CHECK(!plan_set(&g, &set, &settings) && g.keys6 == 1, "all but nothing");
	ENOUGH(!ranges_add6(&set, 1, ~(ip6)0 - 1));
	CHECK(!plan_set(&g, &set, &settings) && g.rungs == RUNGS_MAX && g.prefixes6 == 254, "%llu rungs, %llu prefixes",
	      g.rungs, g.prefixes6);
	for (ip6 i = 0; i < 30000; i++)
		ENOUGH(!ranges_add6(&set, (i << 110) + (ip6)ktap_random() + 2,
				    ((i + 1) << 110) - (ip6)ktap_random() - 2));
	err = plan_set(&g, &set, &settings);
	CHECK(err_is(err, E2BIG) && strstr(reason(err), "keys"), "not refused: %.3g keys", (double)g.keys6);
}

/* How many keys fit into a memory: that many do, and one more does not; where not even one does, that is said. */
static void most_keys(void)
{
	static const uint64_t memories[] = { 16 << 10, 1 << 20, (4 << 20) + (64 << 10), 64 << 20, 3ULL << 30 };
	struct settings settings = SETTINGS_DEFAULT;
	struct plan_goals goals = { .headroom = -1 };
	double keys, same;
	int err;

	for (size_t i = 0; i < 2 * sizeof(memories) / sizeof(*memories); i++) {
		struct forecast f;

		settings.exact = i % 2;
		goals.memory = memories[i / 2];
		err = forecast_keys(&keys, &settings, &goals);
		if (!CHECK(!err && keys >= 1, "%llu bytes: %s", (unsigned long long)goals.memory, reason(err)))
			continue;
		for (int more = 0; more < 2; more++) {
			struct counts n = forecast_counts(keys + more);
			struct plan_goals others = { .headroom = -1, .fpr = 0.001 };

			settings.memory_max = goals.memory;
			others.memory = 0;
			err = forecast_solve(&f, &n, &settings, &others);
			CHECK(more || (!err && f.bytes.total <= goals.memory), "%.0f keys need %llu of %llu bytes",
			      keys, (unsigned long long)f.bytes.total, (unsigned long long)goals.memory);
			settings.memory_max = SETTINGS_DEFAULT.memory_max;
		}
	}
	/* The limit that is in force is not asked. */
	goals.memory = 64 << 20;
	settings.memory_max = 1;
	CHECK(!forecast_keys(&keys, &settings, &goals), "one byte is the limit");
	settings.memory_max = SETTINGS_DEFAULT.memory_max;
	CHECK(!forecast_keys(&same, &settings, &goals) && same == keys, "%.0f keys, not %.0f", same, keys);
	settings = SETTINGS_DEFAULT;
	goals.memory = 1;
	err = forecast_keys(&keys, &settings, &goals);
	CHECK(err_is(err, E2BIG) && strstr(reason(err), "one key alone needs"), "%s", reason(err));
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "rungs against every subset of lengths", rungs_against_subsets },
		{ "rungs for all 129 lengths", rungs_of_all_lengths },
		{ "no array that the set does not need", nothing_unneeded },
		{ "the sizes of known sets", counted },
		{ "as many bits and slots as were asked for", room },
		{ "the limit on memory, to the byte", memory_limit },
		{ "no IPv4 gate where it would settle too little", no_gate },
		{ "too many IPv6 keys are refused", too_many_keys },
		{ "the most keys for a memory", most_keys },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
