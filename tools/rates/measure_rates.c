// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the pictures of docs/bloom.md are drawn from: filters of every layout, filled and asked through bpf/filter.h as
 * the program in the kernel does it, and what the formulas foresee for them. One line a filter, separated by tabs:
 * picture, curve, x, the rate foreseen, the rate by the filter's own bits, how many were asked, how many said yes.
 *
 * The seed is fixed unless XDP_BLOOM_SEED says otherwise: the same pictures come out again.
 */
#include "bpf/filter.h"
#include "filter/formulas.h"
#include "ktap.h"
#include "filter/layout.h"
#include "naive.h"
#include "filter/measured_rate.h"

#define KEYS	  100000
#define QUESTIONS 10000000

static struct generation empty_filter(enum layout layout, unsigned int k, double bits)
{
	struct generation g = { .hash = seeds_draw(), .filter_layout = layout, .filter_k = k };
	void *filter;

	g.filter_blocks = (uint64_t)ceil(bits / (BLOCK_BYTES * 8));
	g.lanes_blocks = layout == LAYOUT_CLASSIC ? 0 : g.filter_blocks;
	ENOUGH(!posix_memalign(&filter, BLOCK_BYTES, g.filter_blocks * BLOCK_BYTES));
	memset(filter, 0, g.filter_blocks * BLOCK_BYTES);
	g.filter = (uintptr_t)filter;
	return g;
}

/* Keys are 0, 1, 2 and so on: what lists look like, and no help to a bad hash. The questions follow behind them. */
static void measure(const char *picture, double x, enum layout layout, unsigned int k, double bits, uint32_t keys)
{
	struct generation g = empty_filter(layout, k, bits);
	uint64_t yes = 0;
	struct rate rate;

	for (uint32_t key = 0; key < keys; key++)
		filter_set_fresh(&g, hash_ipv4(g.hash, key));
	for (uint32_t key = keys; key < keys + QUESTIONS; key++)
		yes += filter_test(&g, hash_ipv4(g.hash, key)) != 0;
	rate_measure(&g, &rate);
	printf("%s\t%s\t%g\t%.6e\t%.6e\t%d\t%llu\n", picture, layout_names[layout], x,
	       fpr_expected(layout_shape(&g), keys), rate.fpr, QUESTIONS, (unsigned long long)yes);
	free((void *)(uintptr_t)g.filter);
}

int main(void)
{
	setenv("XDP_BLOOM_SEED", "42", 0);
	ktap_seed();
	puts("# picture\tcurve\tx\tforeseen\tby its bits\tasked\tyes");
	for (int bits = 6; bits <= 40; bits += 2) {
		measure("bits", bits, LAYOUT_LANES, 8, KEYS * bits, KEYS);
		measure("bits", bits, LAYOUT_LANES2, 16, KEYS * bits, KEYS);
		measure("bits", bits, LAYOUT_CLASSIC, classic_k(bits), KEYS * bits, KEYS);
	}
	for (unsigned int k = 1; k <= CLASSIC_K_MAX; k++)
		measure("k", k, LAYOUT_CLASSIC, k, KEYS * 12, KEYS);
	for (int load = 20; load <= 200; load += 10) {
		measure("load", load, LAYOUT_LANES, 8, KEYS * 16, KEYS * load / 100);
		measure("load", load, LAYOUT_LANES2, 16, KEYS * 16, KEYS * load / 100);
		measure("load", load, LAYOUT_CLASSIC, classic_k(16), KEYS * 16, KEYS * load / 100);
	}
	return 0;
}
