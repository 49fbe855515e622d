// SPDX-License-Identifier: GPL-2.0-only
/* docs/bloom.md: what it works out by hand, and every number it gives, computed again. */
#include "formulas_exact.h"

#include "ktap.h"
#include "naive.h"
#include "filter/plan_sizes.h"

#define PAGE "docs/bloom.md"

static char page[1 << 16];

/* Its text with every run of blanks and line ends as one blank: numbers are looked for wherever a line is broken. */
static bool read_page(void)
{
	FILE *file = fopen(PAGE, "r");
	size_t n = 0;
	int c;

	if (!file)
		return false;
	while ((c = getc(file)) != EOF && n < sizeof(page) - 1) {
		if (c == '\n' || c == ' ')
			c = ' ';
		if (c != ' ' || !n || page[n - 1] != ' ')
			page[n++] = (char)c;
	}
	page[n] = '\0';
	fclose(file);
	return true;
}

__attribute__((format(printf, 1, 2))) static void says(const char *fmt, ...)
{
	char wanted[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(wanted, sizeof(wanted), fmt, args);
	va_end(args);
	CHECK(strstr(page, wanted), PAGE " does not say '%s'", wanted);
}

/* --- Ten bits, by hand -----------------------------------------------------------------------------------------------
 */

#define BITS 10
#define K    3

static void places(unsigned int key, unsigned int at[K])
{
	at[0] = key % 10;
	at[1] = key / 10 % 10;
	at[2] = (key / 100 + key / 10 % 10 + key % 10) % 10;
}

static bool has(const char *bits, unsigned int key)
{
	unsigned int at[K];

	places(key, at);
	return bits[at[0]] == '1' && bits[at[1]] == '1' && bits[at[2]] == '1';
}

static void by_hand(void)
{
	static const unsigned int keys[] = { 17, 81, 20 }, asked[] = { 17, 34, 28 };
	struct filter_shape shape = { BITS, K, false };
	char bits[BITS + 1] = "0000000000";
	unsigned int at[K], set = 0, wrong = 0, others = 0;
	struct estimate keys_by_bits;

	for (int i = 0; i < 3; i++) {
		places(keys[i], at);
		for (int j = 0; j < K; j++)
			bits[at[j]] = '1';
		says(" add %u -> %u %u %u %s ", keys[i], at[0], at[1], at[2], bits);
	}
	for (int i = 0; i < 3; i++) {
		bool there = asked[i] == 17;

		places(asked[i], at);
		says(" ask %u -> %u %u %u %s ", asked[i], at[0], at[1], at[2],
		     !has(bits, asked[i]) ? "no"
		     : there		  ? "yes"
					  : "yes, wrongly");
	}
	for (unsigned int i = 0; i < BITS; i++)
		set += bits[i] == '1';
	for (unsigned int host = 0; host < 256; host++) {
		if (host == 17 || host == 81 || host == 20)
			continue;
		others++;
		wrong += has(bits, host);
	}
	CHECK(set == 6, "%u bits are set", set);
	says("(6/10)^3 = %.3f", pow(set / 10.0, K));
	says("Of the %u other hosts, %u get a wrong yes, %.3f of them", others, wrong, (double)wrong / others);
	keys_by_bits = estimate_keys(shape, set);
	says("-m/k ln(1 - 6/10) = %.2f keys, give or take %.2f", keys_by_bits.value, keys_by_bits.error);
}

static void formulas_over_sizes(void)
{
	struct filter_shape lanes = { 16e6, 8, true };

	says("| %.5f | %.5f | %.5f |", classic_fpr(3, 10, K), classic_fpr(30, 100, K), classic_fpr(300, 1000, K));
	says("| %.5f | %.5f | %.5f |", classic_fpr_exact(3, 10, K), classic_fpr_exact(30, 100, K),
	     classic_fpr_exact(300, 1000, K));
	says("| %.5f | %.5f | %.5f |", classic_fpr_bound(3, 10, K), classic_fpr_bound(30, 100, K),
	     classic_fpr_bound(300, 1000, K));
	says("100 million keys give %.5f", classic_fpr(1e8, 1e9, 5));
	says("million keys it is give or take %.0f", estimate_keys(lanes, 16e6 * fill_expected(lanes, 1e6)).error);
}

/* --- Bits a key ------------------------------------------------------------------------------------------------------
 */

static void bits_and_rates(void)
{
	static const double rates[] = { 0.01, 0.001, 1e-6 };

	says("%.1f for a rate of 1 %%, and %.1f more for every tenth", classic_bits_ideal(0.01),
	     classic_bits_ideal(0.001) - classic_bits_ideal(0.01));
	for (int bits = 12; bits <= 32; bits += bits < 16 ? 4 : 8)
		says("| %d | %.2e | %.2e | %.2e |", bits, classic_fpr(1, bits, classic_k(bits)),
		     lanes_fpr(1e6, 1e6 * bits / 512), lanes2_fpr(1e6, 1e6 * bits / 512));
	for (int i = 0; i < 3; i++)
		says("| %g %% | %.1f | %.1f | %.1f |", rates[i] * 100, classic_bits(rates[i], 0), lanes_bits(rates[i]),
		     lanes2_bits(rates[i]));
	says("one block takes %.1f bits a key for it where two take %.1f", lanes_bits(1e-6), lanes2_bits(1e-6));
}

/* --- What the words say ----------------------------------------------------------------------------------------------
 */

/* Blocks with so many keys or fewer, where there are 32 a block on average. */
static double share_to(unsigned int keys, double mean)
{
	double sum = 0, share = exp(-mean);

	for (unsigned int c = 0; c <= keys; share *= mean / ++c)
		sum += share;
	return sum;
}

static void in_words(void)
{
	double half = 1 - pow(0.5, 24), mean = 512.0 / SETTINGS_DEFAULT.bits_per_key;
	double more = lanes_bits(1e-3) / classic_bits(1e-3, 0);

	/* Each place is clear with one half, in a filter with the best k. */
	CHECK(fabs(half / 0.5 - 2) < 1e-6 &&
		      fabs(fill_expected((struct filter_shape){ 1e6, 10, false }, 1e6 * M_LN2 / 10) - 0.5) < 1e-9,
	      "a no does not take two places");
	says("meets a clear bit after two places on average");
	says("%.0f keys a block on average, but some blocks get 20 and some get 45", mean);
	CHECK(share_to(20, mean) > 0.01 && share_to(44, mean) < 0.99, "hardly any block gets 20, or 45");
	CHECK(more > 1.05 && more < 1.15, "lanes take %.2f as many bits", more);
	says("One in a thousand is plenty for that, and lanes get there with one line and a tenth more bits");
	says("`tune --headroom`, %.0f %% by default", SETTINGS_DEFAULT.headroom * 100);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "ten bits and three keys by hand", by_hand },
		{ "three formulas, three sizes", formulas_over_sizes },
		{ "bits a key and rates", bits_and_rates },
		{ "what the words say", in_words },
	};

	if (!read_page()) {
		puts("TAP version 13\n1..0 # SKIP " PAGE " is not there: not run from the top directory");
		return KTAP_SKIP;
	}
	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
