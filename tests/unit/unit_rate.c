// SPDX-License-Identifier: GPL-2.0-only
/* The rate that a filter's bits tell: against counting bit by bit, against asking it, and against the plan. */
#include "bpf/filter.h"
#include "filter/formulas.h"
#include "ktap.h"
#include "naive.h"
#include "filter/measured_rate.h"

struct shape {
	enum layout layout;
	__u64 k;
};

static const struct shape lanes = { LAYOUT_LANES, FILTER_LANES };

static void fill(struct generation *g, struct shape shape, __u64 blocks, __u64 keys)
{
	memset(g, 0, sizeof(*g));
	g->filter_blocks = blocks;
	g->lanes_blocks = shape.layout == LAYOUT_CLASSIC ? 0 : blocks;
	g->filter_layout = shape.layout;
	g->filter_k = shape.k;
	g->filter = 1;
	memory_take(g);
	seeds_set(g);
	for (__u64 i = 0; i < keys; i++)
		filter_set_fresh(g, hash_ipv4(g->hash, (__u32)i));
}

static double plan(struct shape shape, double keys, double blocks)
{
	if (shape.layout == LAYOUT_CLASSIC)
		return classic_fpr(keys, blocks * BLOCK_BYTES * 8, (unsigned int)shape.k);
	return shape.layout == LAYOUT_LANES2 ? lanes2_fpr(keys, blocks) : lanes_fpr(keys, blocks);
}

/* Of addresses that were never put in, how many get a yes? */
static double ask(const struct generation *g, __u32 from, __u32 n)
{
	double yes = 0;

	for (__u32 addr = from; addr < from + n; addr++)
		yes += filter_test(g, hash_ipv4(g->hash, addr));
	return yes;
}

static double bits_one_by_one(const struct generation *g)
{
	const unsigned char *bytes = (const unsigned char *)g->filter;
	double set = 0;

	for (__u64 bit = 0; bit < g->filter_blocks * BLOCK_BYTES * 8; bit++)
		set += bytes[bit / 8] >> bit % 8 & 1;
	return set / ((double)g->filter_blocks * BLOCK_BYTES * 8);
}

#define ASKED 400000

static void agree(struct shape shape, double bits_per_key)
{
	__u64 blocks = 64 + ktap_random() % 4000, keys = (__u64)((double)blocks * 512 / bits_per_key);
	double yes, planned, bound, bits;
	struct generation g;
	struct rate rate;

	fill(&g, shape, blocks, keys);
	rate_measure(&g, &rate);
	yes = ask(&g, 0x80000000, ASKED);
	bits = bits_one_by_one(&g);
	planned = plan(shape, (double)keys, (double)blocks);
	bound = binomial_bound(ASKED, rate.fpr);
	CHECK(fabs(rate.fill - bits) < 1e-12, "a fill of %g, but bit by bit %g", rate.fill, bits);
	CHECK(fabs(yes - ASKED * rate.fpr) <= bound,
	      "layout %d, k %llu, %g bits a key: %.0f yes, %.1f +- %.1f expected", shape.layout, shape.k, bits_per_key,
	      yes, ASKED * rate.fpr, bound);
	CHECK(fabs(rate.fpr - planned) <= (SIGMAS + 1) * rate.error,
	      "layout %d, k %llu: a rate of %g, planned %g, error %g", shape.layout, shape.k, rate.fpr, planned,
	      rate.error);
	CHECK(!rate_passed(&rate, planned), "%g bits a key: beyond what is planned for as many", bits_per_key);
	CHECK(!rate.sampled, "a small filter was sampled");
	memory_release(&g);
}

static void agrees_with_asking(void)
{
	static const double bits_per_key[] = { 4, 6, 8, 10, 12, 16, 24 };
	static const struct shape shapes[] = { { LAYOUT_LANES, FILTER_LANES }, { LAYOUT_LANES2, 2 * FILTER_LANES },
					       { LAYOUT_CLASSIC, 1 },	       { LAYOUT_CLASSIC, 4 },
					       { LAYOUT_CLASSIC, 7 },	       { LAYOUT_CLASSIC, CLASSIC_K_MAX } };

	for (size_t i = 0; i < sizeof(bits_per_key) / sizeof(*bits_per_key); i++)
		for (size_t s = 0; s < sizeof(shapes) / sizeof(*shapes); s++)
			agree(shapes[s], bits_per_key[i]);
}

static void overfull(void)
{
	struct generation g;
	struct rate rate;
	double planned = lanes_fpr(32000, 1000);

	fill(&g, lanes, 1000, 32000 * 6 / 5);
	rate_measure(&g, &rate);
	CHECK(rate_passed(&rate, planned), "a fifth too many keys: %g, planned %g, error %g", rate.fpr, planned,
	      rate.error);
	CHECK(!rate_passed(&rate, 0), "the rate asked for is unknown, and the measured one beyond it");
	memory_release(&g);
}

static void ends(void)
{
	struct generation g;
	struct rate rate;

	memset(&g, 0, sizeof(g));
	rate_measure(&g, &rate);
	CHECK(rate.fill == 0 && rate.fpr == 0 && rate.error == 0, "no filter: %g, %g, %g", rate.fill, rate.fpr,
	      rate.error);
	fill(&g, lanes, 64, 0);
	rate_measure(&g, &rate);
	CHECK(rate.fill == 0 && rate.fpr == 0 && rate.error == 0, "empty: %g, %g, %g", rate.fill, rate.fpr, rate.error);
	memset((void *)g.filter, 0xff, 64 * BLOCK_BYTES);
	rate_measure(&g, &rate);
	CHECK(rate.fill == 1 && rate.fpr == 1 && rate.error == 0, "full: %g, %g, %g", rate.fill, rate.fpr, rate.error);
	memory_release(&g);
}

/* Beyond four million blocks only some are read: every pattern of blocks is measured within its stated error. */
static void large_is_sampled(void)
{
	__u64 blocks = (1ULL << 22) + 12345 + ktap_random() % 1000000;
	double planned = lanes_fpr(3e6, (double)blocks);
	struct generation g;
	struct rate rate;

	fill(&g, lanes, blocks, 3000000);
	rate_measure(&g, &rate);
	CHECK(rate.sampled, "%llu blocks were all read", blocks);
	CHECK(fabs(rate.fpr - planned) <= (SIGMAS + 1) * rate.error, "a rate of %g, planned %g, error %g", rate.fpr,
	      planned, rate.error);
	CHECK(fabs(rate.fill - 3e6 / (double)blocks / 64) < 0.01 * rate.fill, "a fill of %g", rate.fill);
	memory_release(&g);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "agrees with asking", agrees_with_asking },
		{ "overfull", overfull },
		{ "ends", ends },
		{ "large is sampled", large_is_sampled },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
