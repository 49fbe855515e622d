// SPDX-License-Identifier: GPL-2.0-only
/*
 * The formulas: against counting every outcome there is, against exact fractions in another language, against other
 * ways to sum, against figures that are known, and the estimates against filters filled at random.
 */
#include "filter/formulas.h"

#include <float.h>

#include "bpf/filter.h"
#include "formulas_exact.h"
#include "ktap.h"
#include "naive.h"

static bool close_to(double a, double b, double relative)
{
	return a == b || fabs(a - b) <= relative * fabs(b);
}

/* --- Classic ---------------------------------------------------------------------------------------------------------
 */

#define OUTCOMES_MAX (1u << 20)

/* Every way that k hashes of n keys and of a question can fall on m bits, one by one: how many of them say yes. */
static double by_every_outcome(unsigned int n, unsigned int m, unsigned int k, double outcomes)
{
	unsigned int at[16] = { 0 }, hashes = k * (n + 1), turned;
	uint64_t yes = 0, all = 0;

	do {
		unsigned int set = 0, asked = 0;

		for (unsigned int i = 0; i < k; i++)
			asked |= 1u << at[i];
		for (unsigned int i = k; i < hashes; i++)
			set |= 1u << at[i];
		yes += (asked & ~set) == 0;
		all++;
		for (turned = 0; turned < hashes && ++at[turned] == m; turned++)
			at[turned] = 0;
	} while (turned < hashes);
	return CHECK((double)all == outcomes, "%.0f outcomes, not %.0f", (double)all, outcomes)
		       ? (double)yes / (double)all
		       : NAN;
}

/* The same where they are too many to go through: counted by which bits they set, in whole numbers. */
static double by_every_pattern(unsigned int n, unsigned int m, unsigned int k)
{
	uint64_t ways[256] = { 1 }, next[256];
	double yes = 0;

	for (unsigned int hash = 0; hash < k * n; hash++) {
		memset(next, 0, sizeof(next));
		for (unsigned int set = 0; set < 1u << m; set++)
			for (unsigned int bit = 0; bit < m; bit++)
				next[set | 1u << bit] += ways[set];
		memcpy(ways, next, sizeof(ways));
	}
	for (unsigned int set = 0; set < 1u << m; set++)
		yes += (double)ways[set] * pow(__builtin_popcount(set), k);
	return yes / pow(m, k * (n + 1));
}

static void every_outcome(void)
{
	unsigned int one_by_one = 0;

	for (unsigned int m = 1; m <= 8; m++)
		for (unsigned int n = 0; n <= 4; n++)
			for (unsigned int k = 1; k <= 3; k++) {
				double exact = classic_fpr_exact(n, m, k), outcomes = pow(m, k * (n + 1));
				double counted = by_every_pattern(n, m, k);

				if (outcomes <= OUTCOMES_MAX) {
					double each = by_every_outcome(n, m, k, outcomes);

					one_by_one++;
					if (!CHECK(close_to(counted, each, 1e-12),
						   "%u keys, %u bits, k = %u: %.15g, %.15g", n, m, k, counted, each))
						return;
				}
				if (!CHECK(close_to(exact, counted, 1e-12),
					   "%u keys, %u bits, k = %u: %.15g, not %.15g", n, m, k, exact, counted))
					return;
			}
	printf("# 120 shapes, %u of them outcome by outcome\n", one_by_one);
}

/* What everybody uses is a little less than the truth, the bound a little more, and in large filters all three agree.
 */
static void bounds(void)
{
	for (unsigned int m = 8; m <= CLASSIC_EXACT_MAX; m *= 2)
		for (unsigned int k = 1; k <= CLASSIC_K_MAX; k += 1 + k / 4)
			for (unsigned int n = 1; n <= m / 4 && (uint64_t)n * k * m < 1u << 24; n *= 3) {
				double usual = classic_fpr(n, m, k), exact = classic_fpr_exact(n, m, k);
				double bound = classic_fpr_bound(n, m, k);

				if (!CHECK(usual <= exact && exact <= bound,
					   "%u keys, %u bits, k = %u: %.12g <= %.12g <= %.12g", n, m, k, usual, exact,
					   bound))
					return;
			}
	CHECK(close_to(classic_fpr(400, 4096, 7), classic_fpr_exact(400, 4096, 7), 0.02) &&
		      close_to(classic_fpr_bound(400, 4096, 7), classic_fpr_exact(400, 4096, 7), 0.02),
	      "they differ in 4096 bits");
	CHECK(isnan(classic_fpr_exact(1, CLASSIC_EXACT_MAX + 1, 1)) && isnan(classic_fpr_exact(1, 0, 1)),
	      "the exact form beyond its limits");
}

/* What textbooks say. */
static void known_figures(void)
{
	double rate = classic_fpr(1e8, 1e9, 5), one = classic_bits_ideal(0.01), tenth = classic_bits_ideal(0.001) - one;

	CHECK(fabs(rate - 0.00943) < 0.000005, "a billion bits, five hashes, 100 million keys: %.6f", rate);
	CHECK(fabs(pow(1 - round(exp(-0.5) * 1000) / 1000, 5) - 0.00937) < 0.000005, "with e^-0.5 rounded to 0.607");
	CHECK(fabs(one - 9.6) < 0.05 && fabs(tenth - 4.8) < 0.05, "1 %%: %.3f bits, a tenth of it %.3f more", one,
	      tenth);
	CHECK(fabs(classic_bits(0.01, 0) - 9.6) < 0.05 &&
		      fabs(classic_bits(0.001, 0) - classic_bits(0.01, 0) - 4.8) < 0.05,
	      "the same with whole numbers of hashes: %.3f and %.3f", classic_bits(0.01, 0), classic_bits(0.001, 0));
	CHECK(classic_k(9.6) == 7 && fabs(classic_k_ideal(9.6) - 6.65) < 0.01, "the best k at 9.6 bits: %u, %.2f",
	      classic_k(9.6), classic_k_ideal(9.6));
	/* Three keys with k = 3 in ten bits, as docs/bloom.md counts them by hand. */
	CHECK(fabs(classic_fpr(3, 10, 3) - 0.2090) < 5e-5, "ten bits: %.4f", classic_fpr(3, 10, 3));
}

/* No other whole k does better, and the fewest bits that reach a rate do, and no fewer. */
static void best_of_all(void)
{
	for (double bits = 0.5; bits < 60; bits *= 1.01) {
		unsigned int k = classic_k(bits);

		for (unsigned int other = 1; other <= CLASSIC_K_MAX; other++)
			if (!CHECK(classic_fpr(1, bits, k) <= classic_fpr(1, bits, other),
				   "%.2f bits a key: k = %u, but %u is better", bits, k, other))
				return;
	}
	for (double rate = 0.5; rate > 1e-9; rate *= 0.7) {
		double bits = classic_bits(rate, 0);

		for (unsigned int k = 1; k <= CLASSIC_K_MAX; k++)
			if (!CHECK(close_to(classic_fpr(1, classic_bits(rate, k), k), rate, 1e-9) &&
					   bits <= classic_bits(rate, k),
				   "%.3g with k = %u: %.4f bits, %.4f in all", rate, k, classic_bits(rate, k), bits))
				return;
		if (!CHECK(close_to(classic_fpr(1, bits, classic_k(bits)), rate, 1e-9) &&
				   bits >= classic_bits_ideal(rate) * (1 - 1e-12) &&
				   bits <= classic_bits_ideal(rate) * 1.1,
			   "%.3g: %.4f bits, ideally %.4f", rate, bits, classic_bits_ideal(rate)))
			return;
	}
}

/* --- Lanes -----------------------------------------------------------------------------------------------------------
 */

/* The same mean over a Poisson distribution, but summed by the binomial theorem: sum over j of (-1)^j C(8,j)
 * e^-m(1-q^j). */
/* What its terms, some of which are 70, cancel of each other: on x86 long double has 64 bits, on 32-bit arm no more
 * than double; and with 113 bits musl's expl() is exp(). */
static volatile double unity = 1;
#define CANCELLED (100 * (expl(unity) == exp(unity) ? DBL_EPSILON : (double)LDBL_EPSILON))

static double rate_by_theorem(double mean)
{
	static const int choose[] = { 1, -8, 28, -56, 70, -56, 28, -8, 1 };
	long double sum = 0, clear = 1;

	for (int j = 0; j <= 8; j++, clear *= 63.0L / 64)
		sum += choose[j] * expl(-(long double)mean * (1 - clear));
	return (double)sum;
}

static void lanes_rate(void)
{
	CHECK(lanes_fpr(0, 64) == 0 && lanes_fpr_exact(0, 64) == 0, "an empty filter says yes to %g", lanes_fpr(0, 64));
	for (double mean = 4; mean < 5000; mean *= 1.13) {
		double rate = lanes_fpr(mean * 1000, 1000), wanted = rate_by_theorem(mean);

		if (!CHECK(fabs(rate - wanted) <= 1e-9 * wanted + CANCELLED, "%.1f keys a block: %.12e, not %.12e",
			   mean, rate, wanted))
			return;
		/* Poisson stands in for the binomial distribution: off by less than one part in as many as there are
		 * blocks. */
		if (!CHECK(close_to(lanes_fpr_exact(mean * 1e5, 1e5), rate, 28e-5), "%.1f keys a block: exactly %.12e",
			   mean, lanes_fpr_exact(mean * 1e5, 1e5)))
			return;
		if (!CHECK(close_to(lanes2_fpr(mean * 500, 1000), wanted * wanted, 1e-8 + 2 * CANCELLED / wanted),
			   "%.1f keys a block, two blocks a key: %.12e", mean, lanes2_fpr(mean * 500, 1000)))
			return;
	}
	CHECK(close_to(fpr_expected((struct filter_shape){ 64000, 8, true }, 4000), lanes_fpr(4000, 125), 1e-12) &&
		      close_to(fpr_expected((struct filter_shape){ 64000, 16, true }, 4000), lanes2_fpr(4000, 125),
			       1e-12) &&
		      close_to(fpr_expected((struct filter_shape){ 64000, 7, false }, 4000),
			       classic_fpr(4000, 64000, 7), 1e-12),
	      "the rate by shape");
	CHECK(fabs(lanes_fpr(1e6, 1e6 / 32) - 9.09e-4) < 0.01e-4 &&
		      fabs(lanes2_fpr(1e6, 1e6 / 16) - 8.26e-7) < 0.01e-7 &&
		      fabs(lanes_fpr(1e6, 1e6 / 16) - 1.69e-5) < 0.01e-5,
	      "at 16 bits a key %.3e; at 32, %.3e from two blocks and %.3e from one", lanes_fpr(1e6, 1e6 / 32),
	      lanes2_fpr(1e6, 1e6 / 16), lanes_fpr(1e6, 1e6 / 16));
}

/* The fewest bits a key that reach a rate: those do, and one in a hundred less does not. */
static void bits_for_a_rate(void)
{
	/* The number before it does not. */
	for (double rate = 0.99; rate > 1e-9; rate *= 0.9) {
		double bits = lanes_bits(rate);

		if (!CHECK(lanes_fpr(512, bits) <= rate && lanes_fpr(512, nextafter(bits, 0)) > rate,
			   "%.17g bits a key for %.3e", bits, rate))
			return;
	}
	for (double rate = 0.1; rate > 1e-9; rate *= 0.7) {
		double bits = lanes_bits(rate), bits2 = lanes2_bits(rate);

		if (!CHECK(rate_by_theorem(512 / bits) <= rate * 1.000001 + CANCELLED &&
				   rate_by_theorem(512 / bits / 0.99) > rate - CANCELLED,
			   "%.3f bits a key: %.4e, not %.4e", bits, rate_by_theorem(512 / bits), rate) ||
		    !CHECK(close_to(lanes2_fpr(1e6, 1e6 * bits2 / 512), rate, 1e-6),
			   "%.3f bits a key of two blocks: %.4e, not %.4e", bits2, lanes2_fpr(1e6, 1e6 * bits2 / 512),
			   rate))
			return;
	}
}

/* --- Another language ------------------------------------------------------------------------------------------------
 */

static void exact_fractions(void)
{
	FILE *peer = popen("cd tests/unit 2>/dev/null || cd unit 2>/dev/null; exec python3 formulas.py", "r");
	char name[16];
	unsigned int n, m, k, lines = 0;
	double value;

	ENOUGH(peer);
	while (fscanf(peer, "%15s %u %u %u %lf", name, &n, &m, &k, &value) == 5) {
		double ours = *name == 'c' ? classic_fpr_exact(n, m, k) : lanes_fpr_exact(n, m);

		lines++;
		if (!CHECK(close_to(ours, value, 1e-11), "%s(%u, %u, %u): %.15g, not %.15g", name, n, m, k, ours,
			   value))
			break;
	}
	if (pclose(peer) == 127 << 8)
		return ktap_skip("python3 is not installed");
	printf("# %u lines\n", lines);
	CHECK(ktap_failed || lines > 200, "formulas.py gave %u lines", lines);
}

/* --- Estimates -------------------------------------------------------------------------------------------------------
 */

#define BLOCKS 64
#define WORDS  (BLOCKS * FILTER_LANES)
#define ROUNDS 300

static void put(__u64 *filter, struct filter_shape shape)
{
	__u64 *block = filter;

	for (unsigned int i = 0; i < shape.k; i++) {
		uint64_t r = ktap_random();

		if (!shape.lanes)
			filter[r % WORDS] |= 1ULL << (r >> 58);
		else if (i % FILTER_LANES == 0)
			block = filter + (r >> 32) % BLOCKS * FILTER_LANES;
		if (shape.lanes)
			block[i % FILTER_LANES] |= 1ULL << (r & 63);
	}
}

static double bits_set(const __u64 *filter)
{
	uint64_t set = 0;

	for (unsigned int i = 0; i < WORDS; i++)
		set += (unsigned int)__builtin_popcountll(filter[i]);
	return (double)set;
}

/* How far estimates lie from the truth, in their own standard errors. */
struct score {
	double sum, squares;
};

static void note_score(struct score *s, struct estimate e, double truth)
{
	double off = (e.value - truth) / e.error;

	s->sum += off;
	s->squares += off * off;
}

/* Five standard deviations: 0 on average, to 1 / sqrt(rounds); the square 1, to sqrt(2 / rounds). */
static bool judge(const char *what, struct filter_shape shape, unsigned int keys, struct score s)
{
	double mean = s.sum / ROUNDS, square = s.squares / ROUNDS;

	printf("# %s, %s, k = %.0f, %u keys: off by %+.3f errors, squared %.3f\n", what,
	       shape.lanes ? "lanes" : "classic", shape.k, keys, mean, square);
	return CHECK(fabs(mean) <= SIGMAS / sqrt(ROUNDS), "%s: on average off by %.2f errors", what, mean) &&
	       CHECK(fabs(square - 1) <= SIGMAS * sqrt(2.0 / ROUNDS), "%s: off by %.2f times the error, squared", what,
		     square);
}

static void estimates(void)
{
	static const struct filter_shape shapes[] = {
		{ WORDS * 64, 8, true },
		{ WORDS * 64, 16, true },
		{ WORDS * 64, 7, false },
		{ WORDS * 64, 1, false },
	};
	static const unsigned int keys[] = { 1024, 4096 };

	for (size_t i = 0; i < 4; i++)
		for (size_t j = 0; j < 2; j++) {
			struct score size = { 0 }, any = { 0 }, both = { 0 };
			unsigned int n = keys[j], common = n / 3;
			struct filter_shape shape = shapes[i];

			for (unsigned int round = 0; round < ROUNDS; round++) {
				static __u64 a[WORDS], b[WORDS], either[WORDS];

				memset(a, 0, sizeof(a));
				for (unsigned int key = 0; key < common; key++)
					put(a, shape);
				memcpy(b, a, sizeof(b));
				for (unsigned int key = common; key < n; key++)
					put(a, shape);
				for (unsigned int key = common; key < n / 2; key++)
					put(b, shape);
				for (unsigned int w = 0; w < WORDS; w++)
					either[w] = a[w] | b[w];
				note_score(&size, estimate_keys(shape, bits_set(a)), n);
				note_score(&any, estimate_keys(shape, bits_set(either)), n + n / 2 - common);
				note_score(&both,
					   estimate_intersection(shape, bits_set(a), bits_set(b), bits_set(either)),
					   common);
			}
			if (!judge("keys", shape, n, size) || !judge("union", shape, n, any) ||
			    !judge("intersection", shape, n, both))
				return;
		}
}

static void estimates_at_the_edges(void)
{
	struct filter_shape shape = { 512, 8, true };
	struct estimate full = estimate_keys(shape, 512), none = estimate_keys(shape, 0);
	struct estimate apart = estimate_intersection(shape, 8, 8, 16), same = estimate_intersection(shape, 8, 8, 8);

	CHECK(isinf(full.value) && isinf(full.error), "a full filter holds %g +- %g", full.value, full.error);
	CHECK(isinf(estimate_intersection(shape, 300, 300, 512).value), "what two filters share that fill each other");
	CHECK(none.value == 0 && none.error == 0, "an empty filter holds %g +- %g", none.value, none.error);
	CHECK(apart.value >= 0 && apart.value < 0.1, "two filters apart share %g", apart.value);
	CHECK(close_to(same.value, estimate_keys(shape, 8).value, 1e-12) &&
		      close_to(same.error, estimate_keys(shape, 8).error, 1e-6),
	      "a filter shares %g +- %g with itself", same.value, same.error);
	CHECK(close_to(estimate_keys(shape, 512 * fill_expected(shape, 30)).value, 30, 1e-12), "there and back");
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "the exact rate against every outcome there is", every_outcome },
		{ "the usual form and the bound on either side of it", bounds },
		{ "figures that are known", known_figures },
		{ "no other k and no fewer bits do", best_of_all },
		{ "the rate of lanes by the binomial theorem", lanes_rate },
		{ "bits a key for a rate, in lanes", bits_for_a_rate },
		{ "against fractions in another language", exact_fractions },
		{ "estimates against filters filled at random", estimates },
		{ "estimates at the edges", estimates_at_the_edges },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
