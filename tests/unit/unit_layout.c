// SPDX-License-Identifier: GPL-2.0-only
/* Which layout the filter gets: the rate that is asked for is reached, with what was pinned, in as few bits as will do.
 */
#include <errno.h>
#include <math.h>

#include "bpf/filter.h"
#include "ktap.h"
#include "base/log.h"
#include "naive.h"
#include "filter/plan_sizes.h"
#include "filter/layout.h"

static double rate_of(const struct layout_plan *l)
{
	struct filter_shape shape = { 1e6 * l->bits_per_key, l->k, l->kind != LAYOUT_CLASSIC };

	return fpr_expected(shape, 1e6);
}

static void as_asked(void)
{
	struct settings s = SETTINGS_DEFAULT;
	struct layout_plan l = layout_choose(&s);

	CHECK(l.kind == LAYOUT_LANES && l.k == 8 && l.bits_per_key == 16, "by default %s, k = %u, %g bits a key",
	      layout_names[l.kind], l.k, l.bits_per_key);
	for (s.layout = 0; s.layout < LAYOUTS; s.layout++) {
		s.fpr = 0;
		l = layout_choose(&s);
		CHECK(l.kind == s.layout && l.bits_per_key == 16, "%s with 16 bits a key is %s with %g",
		      layout_names[s.layout], layout_names[l.kind], l.bits_per_key);
		for (s.fpr = 0.4; s.fpr > 1e-7; s.fpr *= 0.8) {
			for (s.k = 0; s.k <= CLASSIC_K_MAX; s.k++) {
				l = layout_choose(&s);
				if (!CHECK(l.kind == s.layout && fabs(l.fpr / s.fpr - 1) < 1e-6 &&
						   fabs(rate_of(&l) / l.fpr - 1) < 1e-9,
					   "%s, k = %u: %g, not %g", layout_names[s.layout], l.k, l.fpr, s.fpr) ||
				    !CHECK(l.k == (l.kind == LAYOUT_LANES    ? 8
						   : l.kind == LAYOUT_LANES2 ? 16
						   : s.k		     ? s.k
									     : l.k),
					   "%s, k = %u", layout_names[l.kind], l.k))
					return;
			}
		}
	}
}

/* No other k does with less, and none with as many bits reaches the rate. */
static void best_k(void)
{
	struct settings s = SETTINGS_DEFAULT;

	s.layout = LAYOUT_CLASSIC;
	for (s.fpr = 0.4; s.fpr > 1e-7; s.fpr *= 0.9) {
		struct layout_plan best, l;

		s.k = 0;
		best = layout_choose(&s);
		for (s.k = 1; s.k <= CLASSIC_K_MAX; s.k++) {
			l = layout_choose(&s);
			if (!CHECK(l.bits_per_key >= best.bits_per_key * 0.999999,
				   "%g: k = %u takes %g bits, %u takes %g", s.fpr, l.k, l.bits_per_key, best.k,
				   best.bits_per_key))
				return;
		}
	}
}

/* Open: lanes where they do, never more than a quarter above the least; and the least is the least. */
static void open_layout(void)
{
	double last[LAYOUTS] = { 0 };

	for (int exact = 0; exact < 2; exact++) {
		struct settings s = SETTINGS_DEFAULT;

		s.exact = exact;
		for (s.fpr = 0.4; s.fpr > 1e-7; s.fpr *= 0.9) {
			struct layout_plan l, least;
			struct settings pinned = s;

			s.layout = LAYOUT_AUTO;
			l = layout_choose(&s);
			least = layout_leanest(&s);
			last[l.kind] = s.fpr;
			for (pinned.layout = 0; pinned.layout < LAYOUTS; pinned.layout++) {
				double bits = layout_choose(&pinned).bits_per_key;

				if (!CHECK(least.bits_per_key <= bits * 1.000001 && l.bits_per_key <= bits * 1.250001,
					   "%g: %s with %g bits, leanest %g, but %s takes %g", s.fpr,
					   layout_names[l.kind], l.bits_per_key, least.bits_per_key,
					   layout_names[pinned.layout], bits))
					return;
			}
			CHECK(fabs(l.fpr / s.fpr - 1) < 1e-6 && fabs(least.fpr / s.fpr - 1) < 1e-6,
			      "asked for %g: %g, leanest %g", s.fpr, l.fpr, least.fpr);
			s.layout = LAYOUT_LANES;
			CHECK(layout_leanest(&s).kind == LAYOUT_LANES, "pinned to lanes, and the leanest is another");
		}
	}
	printf("# lanes down to %.2g, lanes2 down to %.2g, classic down to %.2g\n", last[LAYOUT_LANES],
	       last[LAYOUT_LANES2], last[LAYOUT_CLASSIC]);
	CHECK(last[LAYOUT_LANES] < 1e-4 && last[LAYOUT_LANES2] < 2e-7 && last[LAYOUT_CLASSIC] > 0.1, "another choice");
}

/* Where memory is short the leanest layout is tried, and only where the layout is open. */
static void short_of_memory(void)
{
	struct settings s = SETTINGS_DEFAULT;
	struct counts n = { .hosts = 1000000, .some24 = 10000 };
	struct generation g;

	s.exact = false;
	s.fpr = 0.001;
	CHECK(!plan_sizes(&g, &n, &s) && g.filter_layout == LAYOUT_LANES, "not lanes");
	s.memory_max = arrays_total(&g) - 1;
	CHECK(!plan_sizes(&g, &n, &s) && g.filter_layout == LAYOUT_CLASSIC && arrays_total(&g) <= s.memory_max,
	      "not classic, or too large");
	CHECK(fpr_expected(layout_shape(&g), 1100000) <= 0.001, "another rate");
	s.layout = LAYOUT_LANES;
	CHECK(err_is(plan_sizes(&g, &n, &s), E2BIG), "lanes are pinned");
	s.layout = LAYOUT_AUTO;
	s.memory_max = GATE4_BYTES + 1000000;
	CHECK(err_is(plan_sizes(&g, &n, &s), E2BIG), "a million keys in a megabyte");
}

/* Blocks of a number of keys: none for none, no fewer than the least, and no more than an index can name. */
static void sizes(void)
{
	static const struct layout_plan plans[] = {
		{ LAYOUT_LANES, 5, 16, 0.001 },
		{ LAYOUT_LANES2, 9, 14.5, 0.001 },
		{ LAYOUT_CLASSIC, 7, 9.25, 0.01 },
	};

	for (size_t i = 0; i < sizeof(plans) / sizeof(*plans); i++) {
		const struct layout_plan *plan = &plans[i];
		double most = BLOCKS_MAX * (double)(BLOCK_BYTES * 8) / plan->bits_per_key;
		struct generation g = { 0 };

		CHECK(!layout_size(&g, plan, 0) && !g.filter && !g.filter_blocks, "a filter of nothing");
		CHECK(!layout_size(&g, plan, 1) && g.filter == 1 && g.filter_blocks == 64 &&
			      g.filter_layout == plan->kind && g.filter_k == plan->k,
		      "%llu blocks for one key", g.filter_blocks);
		CHECK(g.lanes_blocks == (plan->kind == LAYOUT_CLASSIC ? 0 : g.filter_blocks), "%llu blocks of lanes",
		      g.lanes_blocks);
		for (double keys = 1e4; keys < 1e9; keys *= 7.3) {
			double blocks = ceil(keys * plan->bits_per_key / (BLOCK_BYTES * 8));

			CHECK(!layout_size(&g, plan, keys) && g.filter_blocks == (__u64)blocks &&
				      (double)g.capacity >= keys - 1 && (double)g.capacity < keys + BLOCK_BYTES * 8,
			      "%llu blocks and room for %llu keys of %.0f", g.filter_blocks, g.capacity, keys);
		}
		CHECK(!layout_size(&g, plan, most * 0.999999) && g.filter_blocks < BLOCKS_MAX, "the most is refused");
		g = (struct generation){ 0 };
		CHECK(err_is(layout_size(&g, plan, most * 1.000001), E2BIG) && !g.filter && !g.filter_blocks,
		      "%llu blocks", g.filter_blocks);
	}
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "the rate that was asked for, as it was pinned", as_asked },
		{ "the best k", best_k },
		{ "the layout left open", open_layout },
		{ "short of memory", short_of_memory },
		{ "blocks and room", sizes },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
