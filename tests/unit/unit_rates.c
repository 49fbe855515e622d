// SPDX-License-Identifier: GPL-2.0-only
/*
 * Predicted against measured rates: every layout, from 6 to 40 bits a key and with k from 1 to 24, over keys of several
 * shapes and every real list in the folder that XDP_BLOOM_LISTS names, twenty seeds each. XDP_BLOOM_RATES=full asks for
 * the whole grid (make rates, minutes); otherwise it is a part of it (seconds).
 *
 * Of each cell of the grid three things are asked, each as a probability that chance alone is as far off:
 *
 *   own    the mean over the seeds of the filters' own rates, as their bits have it, against what is expected: normal
 *   spread their squared distances from it, in units of the expected variance: chi-square with twenty degrees
 *   yes    how many of all questions get a yes: Poisson where few are expected, else normal, with the variance of the
 *	    filters' own rates added
 *
 * With N such probabilities none may be below ALPHA / N (Bonferroni): all of a right program's runs but one in
 * 1 / ALPHA pass. And all of them together must be spread evenly from 0 to 1: chi-square over ten classes.
 *
 * Where a filter's own rate varies by more than NARROW (few blocks, and so few keys in them that rates live on the
 * blocks that hold most), or hardly at all because its keys' bits meet less than MEETINGS times, it is no longer
 * normal, and only the third is asked. (With 0.6 of them in the mean, chi-square refuses one run in 200.)
 */
#include <dirent.h>

#include "expected.h"
#include "bpf/filter.h"
#include "filter/formulas.h"
#include "ktap.h"
#include "filter/layout.h"
#include "naive.h"
#include "filter/measured_rate.h"
#include "sets/reader.h"

#define SEEDS  20
#define ALPHA  1e-4
#define NARROW 0.04
#define FEW    500 /* yeses: below, Poisson */

#define MEETINGS 25

static bool full;

/* --- Keys ------------------------------------------------------------------------------------------------------------
 */

struct keys {
	char name[64];
	int family;
	size_t n, others;
	ip6 *key, *other; /* in the filter; of the same kind, and not in it */
};

static void keys_take(struct keys *k, size_t n, size_t others)
{
	k->n = n;
	k->others = others;
	k->key = calloc(n ? n : 1, sizeof(*k->key));
	k->other = calloc(others, sizeof(*k->other));
	ENOUGH(k->key && k->other);
}

static void keys_drop(struct keys *k)
{
	free(k->key);
	free(k->other);
}

static uint64_t hash_of(const struct generation *g, int family, ip6 key)
{
	return family == 4 ? hash_ipv4(g->hash, (uint32_t)key)
			   : hash_ipv6(g->hash, g->rung[0].salt, (uint64_t)(key >> 64), (uint64_t)key);
}

/* Odd multipliers are permutations: no key comes twice. */
static ip6 synthetic(unsigned int shape, uint32_t start, uint32_t i)
{
	uint32_t x = start + i;

	switch (shape) {
	case 0:
		x = (x ^ x >> 16) * 0x7feb352d;
		x = (x ^ x >> 15) * 0x846ca68b;
		return x ^ x >> 16;
	case 1:
		return x;
	default:
		return x << 8 | x >> 24;
	}
}

static void keys_synthetic(struct keys *k, unsigned int shape, size_t n, size_t others)
{
	static const char *const names[] = { "random", "sequential", "one a /24" };
	uint32_t start = (uint32_t)ktap_random();

	snprintf(k->name, sizeof(k->name), "%s", names[shape]);
	k->family = 4;
	keys_take(k, n, others);
	for (size_t i = 0; i < n + others; i++)
		*(i < n ? &k->key[i] : &k->other[i - n]) = synthetic(shape, start, (uint32_t)i);
}

static int compare_ip6(const void *a, const void *b)
{
	ip6 x = *(const ip6 *)a, y = *(const ip6 *)b;

	return x < y ? -1 : x > y;
}

/* The first address of each range; asked for are those behind, in or between the ranges. */
static bool keys_from_list(struct keys *k, const char *path, int family, size_t others)
{
	struct reader_options options = { .skip_bad = true };
	struct ranges set = RANGES_EMPTY;
	struct reader_report report;
	char error[READER_TEXT_MAX];
	size_t n = 0;

	if (!reader_read(path, &options, &set, &report, error))
		n = family == 4 ? set.n4 : set.n6;
	snprintf(k->name, sizeof(k->name), "%.50s, IPv%d", strrchr(path, '/') + 1, family);
	k->family = family;
	keys_take(k, n, others);
	for (size_t i = 0; i < n; i++)
		k->key[i] = family == 4 ? set.v4[i].lo : set.v6[i].lo;
	for (size_t asked = 0, i = 0; asked < others && n; i++) {
		ip6 step = 1 + i / n, at = k->key[i % n] + (family == 4 ? step : step << 64);

		/* Behind the next key they would be that one's neighbours. */
		if (i % n + 1 < n && at >= k->key[i % n + 1])
			at = k->key[i % n] + (family == 4 ? 0x80000000 + step : step << 32);
		if (family == 4)
			at = (uint32_t)at;
		if (!bsearch(&at, k->key, n, sizeof(at), compare_ip6))
			k->other[asked++] = at;
	}
	ranges_free(&set);
	return n > 0;
}

/* --- Probabilities ---------------------------------------------------------------------------------------------------
 */

#define CLASSES 10

static struct {
	size_t n;
	double least;
	char where[160];
	size_t classes[CLASSES];
} tail;

static void note(const struct keys *keys, const struct generation *g, const char *what, double chance, double expected,
		 double measured)
{
	tail.n++;
	tail.classes[chance < 1 ? (size_t)(chance * CLASSES) : CLASSES - 1]++;
	if (tail.n > 1 && chance >= tail.least)
		return;
	tail.least = chance;
	snprintf(tail.where, sizeof(tail.where), "%s, %s, k = %llu, %.2f bits a key, %s: expected %.5g, measured %.5g",
		 keys->name, layout_names[g->filter_layout], g->filter_k,
		 (double)g->filter_blocks * 512 / (double)keys->n, what, expected, measured);
}

static double two_sided(double z)
{
	return erfc(fabs(z) / M_SQRT2);
}

/* Wilson and Hilferty: the cube root of chi-square is nearly normal. */
static double chi_square(double x, double degrees)
{
	double v = 2 / (9 * degrees), z = (cbrt(x / degrees) - (1 - v)) / sqrt(v);

	return two_sided(z);
}

/* Twice the smaller tail; the count itself by half, so that chance has no step there. */
static double poisson(double count, double mean)
{
	double below = 0, at = 0;

	for (double i = 0; i <= count; i++) {
		below += at;
		at = exp(i * log(mean) - mean - lgamma(i + 1));
	}
	below += at / 2;
	return fmax(2 * fmin(below, 1 - below), 0);
}

/* Of a filter's own rate. */
static bool is_normal(const struct generation *g, const struct expected *expected, double keys)
{
	double bits = keys * (double)g->filter_k, all = (double)g->filter_blocks * BLOCK_BYTES * 8;

	return sqrt(expected->variance) <= NARROW * expected->rate && bits * bits / 2 / all >= MEETINGS;
}

/* --- Cells -----------------------------------------------------------------------------------------------------------
 */

static void cell(const struct keys *keys, enum layout layout, unsigned int k, double bits_per_key)
{
	double n = (double)keys->n, asked = (double)keys->others * SEEDS, yes = 0, sum = 0, squares = 0, spread, mean;
	struct layout_plan plan = { .kind = layout, .k = k, .bits_per_key = bits_per_key };
	struct generation g = { .rungs = 1, .rung[0].length = 128 }; /* keys have both halves */
	struct expected expected;
	double planned;

	ENOUGH(!layout_size(&g, &plan, n));
	memory_take(&g);
	expected = expect(&g, n);
	planned = fpr_expected(layout_shape(&g), n);
	for (unsigned int seed = 0; seed < SEEDS; seed++) {
		struct rate rate;
		size_t lost = 0;

		seeds_set(&g);
		memory_clear(&g);
		for (size_t i = 0; i < keys->n; i++)
			filter_set_fresh(&g, hash_of(&g, keys->family, keys->key[i]));
		for (size_t i = 0; i < keys->n; i++)
			lost += !filter_test(&g, hash_of(&g, keys->family, keys->key[i]));
		CHECK(!lost, "%s: %zu keys were lost", keys->name, lost);
		for (size_t i = 0; i < keys->others; i++)
			yes += filter_test(&g, hash_of(&g, keys->family, keys->other[i]));
		rate_measure(&g, &rate);
		sum += rate.fpr;
		squares += pow(rate.fpr - expected.rate, 2);
	}
	/* What the planner goes by is the same but for what few blocks, or bits, make of it. */
	CHECK(fabs(planned - expected.rate) <= expected.rate * 20 / (double)g.filter_blocks,
	      "%s, k = %u, %.0f keys in %llu blocks: planned %.6g, expected %.6g", layout_names[layout], k, n,
	      g.filter_blocks, planned, expected.rate);
	spread = sqrt(expected.variance);
	mean = asked * expected.rate;
	if (is_normal(&g, &expected, n)) {
		note(keys, &g, "own", two_sided((sum / SEEDS - expected.rate) / spread * sqrt(SEEDS)), expected.rate,
		     sum / SEEDS);
		note(keys, &g, "spread", chi_square(squares / expected.variance, SEEDS), expected.variance,
		     squares / SEEDS);
	}
	if (mean >= FEW)
		note(keys, &g, "yes",
		     two_sided((yes - mean) /
			       sqrt(mean * (1 - expected.rate) + expected.variance * asked * (double)keys->others)),
		     mean, yes);
	else if (mean > 1)
		note(keys, &g, "yes", poisson(yes, mean), mean, yes);
	else
		CHECK(poisson(yes, mean + 1e-12) > ALPHA / 10000, "%s: %g yeses where %g are expected", keys->name, yes,
		      mean);
	memory_release(&g);
}

static void cells(const struct keys *keys)
{
	static const double all_bits[] = { 6, 8, 10, 12, 16, 20, 24, 32, 40 }, some_bits[] = { 6, 10, 16, 40 };
	static const unsigned int some_k[] = { 1, 2, 3, 7, 11, 24 };
	size_t n = full ? sizeof(all_bits) / sizeof(*all_bits) : sizeof(some_bits) / sizeof(*some_bits);
	size_t ks = full ? CLASSIC_K_MAX : sizeof(some_k) / sizeof(*some_k);

	for (size_t i = 0; i < n; i++) {
		double bits = full ? all_bits[i] : some_bits[i];

		cell(keys, LAYOUT_LANES, FILTER_LANES, bits);
		cell(keys, LAYOUT_LANES2, 2 * FILTER_LANES, bits);
		for (unsigned int k = 0; k < ks; k++)
			cell(keys, LAYOUT_CLASSIC, full ? k + 1 : some_k[k], bits);
	}
}

static void made_up(void)
{
	for (unsigned int shape = 0; shape < 3; shape++) {
		struct keys keys;

		keys_synthetic(&keys, shape, full ? 30000 : 10000, full ? 30000 : 10000);
		cells(&keys);
		keys_drop(&keys);
		/* So few keys that what two of them share by the way their probes are made would show. */
		keys_synthetic(&keys, shape, 200, full ? 100000 : 10000);
		cells(&keys);
		keys_drop(&keys);
	}
}

static void real_lists(void)
{
	const char *folder = getenv("XDP_BLOOM_LISTS");
	DIR *dir = folder ? opendir(folder) : NULL;
	struct dirent *entry;
	unsigned int lists = 0;

	if (!dir)
		return ktap_skip("XDP_BLOOM_LISTS names no folder of real lists");
	while ((entry = readdir(dir))) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (entry->d_name[0] == '.' || strstr(entry->d_name, "README"))
			continue;
		for (int family = 4; family <= 6; family += 2) {
			struct keys keys;

			if (keys_from_list(&keys, path, family, full ? 20000 : 10000)) {
				cells(&keys);
				lists++;
				printf("# %s: %zu keys\n", keys.name, keys.n);
			}
			keys_drop(&keys);
		}
	}
	closedir(dir);
	printf("# %u lists\n", lists);
}

static void nothing_by_chance(void)
{
	double mean = (double)tail.n / CLASSES, even = 0, evenly;

	for (unsigned int c = 0; c < CLASSES; c++)
		even += pow((double)tail.classes[c] - mean, 2) / mean;
	evenly = chi_square(even, CLASSES - 1);
	printf("# %zu probabilities, %u seeds each; the least is %.3g (%s); refused is what is below %.3g\n", tail.n,
	       SEEDS, tail.least, tail.where, ALPHA / (double)tail.n);
	printf("# of ten classes from 0 to 1:");
	for (unsigned int c = 0; c < CLASSES; c++)
		printf(" %zu", tail.classes[c]);
	printf("; so uneven by chance: %.3g\n", evenly);
	CHECK(tail.n && tail.least * (double)tail.n >= ALPHA, "chance is hardly that far off: %s", tail.where);
	CHECK(evenly >= ALPHA, "the probabilities are not spread evenly");
}

/* --- A rule of thumb -------------------------------------------------------------------------------------------------
 */

/* The fewest bits a key that measure at that rate, over all k, between two sizes that differ by a hundredth. */
static double bits_measured(const struct keys *keys, double rate)
{
	double best = INFINITY, middle = -log2(rate);

	for (unsigned int k = (unsigned int)middle - 1; k <= (unsigned int)middle + 2; k++) {
		/* In theory 1.44 times log2(1 / rate): either end is far beyond what may be measured. */
		double low = middle * 1.3, high = middle * 1.6;

		while (high - low > 0.01) {
			struct layout_plan plan = { LAYOUT_CLASSIC, k, (low + high) / 2, 0 };
			struct generation g = { 0 };
			struct rate measured;

			ENOUGH(!layout_size(&g, &plan, (double)keys->n));
			memory_take(&g);
			seeds_set(&g);
			for (size_t i = 0; i < keys->n; i++)
				filter_set_fresh(&g, hash_of(&g, keys->family, keys->key[i]));
			rate_measure(&g, &measured);
			*(measured.fpr > rate ? &low : &high) = plan.bits_per_key;
			memory_release(&g);
		}
		best = fmin(best, high);
	}
	return best;
}

/* 1 % takes 9.6 bits a key, and a tenth of the rate 4.8 more. */
static void rule_of_thumb(void)
{
	double rate = 0.01, last = 0, bits;
	struct keys keys;

	keys_synthetic(&keys, 0, 200000, 1);
	for (; rate > 5e-5; rate /= 10, last = bits) {
		bits = bits_measured(&keys, rate);
		printf("# %g %%: %.2f bits a key, measured", rate * 100, bits);
		printf(last > 0 ? ", %+.2f\n" : "\n", bits - last);
		CHECK(last > 0 ? fabs(bits - last - 4.8) < 0.05 : fabs(bits - 9.6) < 0.05,
		      "%g %% takes %.2f bits a key", rate * 100, bits);
	}
	keys_drop(&keys);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "made-up keys", made_up },
		{ "real lists", real_lists },
		{ "no distance that chance does not explain", nothing_by_chance },
		{ "1 % takes 9.6 bits a key, a tenth of the rate 4.8 more", rule_of_thumb },
	};
	const char *grid = getenv("XDP_BLOOM_RATES");

	full = grid && !strcmp(grid, "full");
	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
