// SPDX-License-Identifier: GPL-2.0-only
/*
 * The filter's size by what a packet costs: machines that are made up, against trying every size; what is measured, and
 * what is not believed of it.
 */
#include <math.h>
#include <string.h>

#include "bpf/abi.h"
#include "filter/arrays.h"
#include "filter/layout.h"
#include "filter/measured_rate.h"
#include "filter/plan_sizes.h"
#include "ktap.h"

/* From 256 KiB to 8 MiB. */
static const struct line_times machines[] = {
	{ .n = 6, .ns = { 30, 60, 80, 90, 95, 100 } }, /* caches too small for any of it */
	{ .n = 6, .ns = { 5, 5, 5, 6, 30, 50 } },      /* 2 MiB beside the CPU */
	{ .n = 6, .ns = { 8, 8, 8, 8, 8, 8 } },	       /* as if all were one cache */
	{ .n = 6, .ns = { 4, 4, 60, 60, 60, 60 } },    /* a step */
	{ .n = 4, .ns = { 10, 20, 40, 80 } },	       /* only little was measured */
};

#define MACHINES (sizeof(machines) / sizeof(*machines))

static double rosters(double keys)
{
	return keys * 53 / 8;
}

static void every_size(void)
{
	for (size_t m = 0; m < MACHINES; m++)
		for (double keys = 1000; keys < 3e8; keys *= 1.3) {
			double bits = line_times_bits(&machines[m], keys, rosters(keys)), least = INFINITY;
			double ns = kept_ns(&machines[m], keys, bits, rosters(keys));

			for (double b = 10; b <= BITS_USUAL; b += 0.01)
				least = fmin(least, kept_ns(&machines[m], keys, b, rosters(keys)));
			if (!CHECK(bits >= 10 && bits <= BITS_USUAL, "machine %zu, %.0f keys: %g bits a key", m, keys,
				   bits) ||
			    !CHECK(!line_times_matter(keys) || ns * 0.94 <= least,
				   "machine %zu, %.0f keys: %g ns with %g bits a key, and %g is the least", m, keys, ns,
				   bits, least))
				return;
			CHECK(line_times_matter(keys) || bits == BITS_USUAL, "machine %zu, %.0f keys: %g bits a key", m,
			      keys, bits);
			CHECK(m != 2 || bits == BITS_USUAL, "all memory is as fast, and %.0f keys have %g bits", keys,
			      bits);
		}
	/* Where a smaller filter fits into what is near, it is smaller. */
	CHECK(line_times_bits(&machines[3], 3e5, rosters(3e5)) < BITS_USUAL, "a step");
}

/* From one rotation to the next no size comes and goes, whatever few keys do. */
static void steady(void)
{
	for (int i = 0; i < 3000; i++) {
		struct line_times t = { .n = LINE_SIZES };
		double keys = exp2(16 + (double)(ktap_random() % 1200) / 100), ns = 2 + (double)(ktap_random() % 30);
		double more = keys * (1 + (double)(ktap_random() % 200) / 1e4), bits;

		for (unsigned int size = 0; size < LINE_SIZES; size++) {
			t.ns[size] = ns;
			ns *= 1 + (double)(ktap_random() % 150) / 100;
		}
		t.kept = line_times_bits(&t, keys, rosters(keys));
		bits = line_times_bits(&t, keys, rosters(keys));
		CHECK(bits == t.kept, "%.0f keys: %g bits a key, then %g", keys, t.kept, bits);
		t.kept = line_times_bits(&t, more, rosters(more));
		for (int turn = 0; turn < 4; turn++) {
			double of = turn & 1 ? more : keys;

			bits = line_times_bits(&t, of, rosters(of));
			CHECK(bits == t.kept || !turn, "%.0f and %.0f keys: %g bits a key, then %g", keys, more, t.kept,
			      bits);
			t.kept = bits;
		}
	}
}

static void interpolated(void)
{
	const struct line_times *t = &machines[1];
	double last = 0;

	for (unsigned int i = 0; i < t->n; i++)
		CHECK(fabs(line_ns(t, (double)LINE_SIZE(i)) - t->ns[i]) < 1e-9, "size %u: %g ns", i,
		      line_ns(t, (double)LINE_SIZE(i)));
	for (double bytes = 0; bytes < 1e12; bytes = bytes * 1.1 + 64) {
		double ns = line_ns(t, bytes);

		CHECK(ns >= last && ns <= 110, "%g bytes: %g ns, after %g", bytes, ns, last);
		last = ns;
	}
}

static void measure(line_rounds ns[LINE_SIZES], const double *times)
{
	for (int i = 0; i < LINE_SIZES; i++)
		for (int round = 0; round < LINE_ROUNDS; round++)
			ns[i][round] = times[i] * (1 + 0.1 * ((round * 3 + i) % LINE_ROUNDS));
}

static void judged(void)
{
	struct line_times usual = line_times_usual(), t = { .kept = 9 };
	line_rounds ns[LINE_SIZES];

	measure(ns, machines[1].ns);
	CHECK(line_times_judge(&t, (const line_rounds *)ns, LINE_SIZES) && t.measured && t.n == LINE_SIZES &&
		      !memcmp(t.ns, machines[1].ns, sizeof(t.ns)) && t.kept == 9,
	      "what was measured is not believed");
	CHECK(line_times_judge(&t, (const line_rounds *)ns, 4) && t.n == 4, "four sizes");
	/* A round that others disturbed, or one size that is a little faster than the one before. */
	ns[3][2] = 1e9;
	ns[1][1] = ns[1][2] = ns[1][3] = 4.9;
	CHECK(line_times_judge(&t, (const line_rounds *)ns, LINE_SIZES) && t.ns[1] >= t.ns[0], "a little noise");

	for (int i = 0; i < LINE_SIZES; i++) {
		static const double absurd[] = { 0, -1, -1e12, 1e12, 2001, 0.2, NAN, INFINITY };

		for (size_t a = 0; a < sizeof(absurd) / sizeof(*absurd); a++) {
			measure(ns, machines[1].ns);
			for (int round = 0; round < LINE_ROUNDS; round++)
				ns[i][round] = absurd[a];
			CHECK(!line_times_judge(&t, (const line_rounds *)ns, LINE_SIZES) && !t.measured &&
				      !memcmp(t.ns, usual.ns, sizeof(t.ns)) && t.n == usual.n && t.kept == 9,
			      "%g ns are believed", absurd[a]);
		}
		/* A clock that jumped back in one round, and rounds of which no two agree. */
		measure(ns, machines[1].ns);
		ns[i][1] = -3;
		CHECK(!line_times_judge(&t, (const line_rounds *)ns, LINE_SIZES), "a negative time is believed");
		for (int round = 0; round < LINE_ROUNDS; round++)
			ns[i][round] = machines[1].ns[i] * (1 + round);
		CHECK(!line_times_judge(&t, (const line_rounds *)ns, LINE_SIZES), "noise is believed");
	}
	measure(ns, machines[1].ns);
	for (int round = 0; round < LINE_ROUNDS; round++)
		ns[5][round] = 20;
	CHECK(!line_times_judge(&t, (const line_rounds *)ns, LINE_SIZES), "more memory is twice as fast");
	for (unsigned int n = 0; n < 4; n++)
		CHECK(!line_times_judge(&t, (const line_rounds *)ns, n) && t.n == usual.n, "%u sizes are enough", n);
	CHECK(!line_times_judge(&t, (const line_rounds *)ns, LINE_SIZES + 1), "a size too many");
}

/* Of this machine, whatever it is: the judge has the last word. */
static void measured_here(void)
{
	struct line_times t = { 0 };
	line_rounds ns[LINE_SIZES];
	unsigned int n = line_probe(ns);

	CHECK(n <= LINE_SIZES, "%u sizes", n);
	line_times_judge(&t, (const line_rounds *)ns, n);
	CHECK(t.n > 1 && t.ns[0] > 0 && t.ns[t.n - 1] <= LINE_NS_MOST, "%u sizes, %g to %g ns", t.n, t.ns[0],
	      t.ns[t.n - 1]);
	CHECK(line_machine() == line_machine() && (double)line_machine() < LINE_MACHINES, "another machine");
	printf("# %u sizes%s\n", n, t.measured ? "" : ", not believed");
}

/* Whoever sets something gets it; the rate that a filter was sized for is what it is held to. */
static void planned(void)
{
	struct settings open = SETTINGS_DEFAULT, s;
	struct counts n = { .hosts = 1000000, .some24 = 950000 };
	struct generation usual, g;

	CHECK(!plan_sizes(&usual, &n, &open), "no plan");
	open.lines = machines[1];
	CHECK(!plan_sizes(&g, &n, &open) && g.filter_blocks < usual.filter_blocks &&
		      g.roster4_buckets == usual.roster4_buckets,
	      "%llu blocks", (unsigned long long)g.filter_blocks);
	CHECK(fabs(layout_bits(&g) - line_times_bits(&open.lines, 1.1e6, (double)arrays_rosters(&g))) < 1e-3,
	      "%g bits a key", layout_bits(&g));
	CHECK(fabs(rate_asked(&open, &g) / lanes_fpr((double)g.capacity, (double)g.filter_blocks) - 1) < 1e-9,
	      "held to %g", rate_asked(&open, &g));
	CHECK(layout_sizing(&g, &open).by_cost && layout_sizing(&g, &open).ns < layout_sizing(&g, &open).ns_usual,
	      "why");
	/* As a rotation finds it. */
	open.lines.kept = line_times_round(layout_bits(&g));
	usual = g;
	CHECK(!plan_sizes(&g, &n, &open) && g.filter_blocks == usual.filter_blocks, "%llu blocks, then %llu",
	      (unsigned long long)usual.filter_blocks, (unsigned long long)g.filter_blocks);

	for (int what = 0; what < 5; what++) {
		s = open;
		s.fpr = what == 0 ? 0.0003 : 0;
		s.exact = what != 1;
		s.layout = what == 2 ? LAYOUT_CLASSIC : what == 3 ? LAYOUT_LANES2 : LAYOUT_AUTO;
		s.bits_per_key = what == 4 ? 12 : BITS_USUAL;
		CHECK(!plan_sizes(&g, &n, &s) && !layout_sizing(&g, &s).by_cost, "%d: by cost", what);
		s.lines.n = 0;
		CHECK(!plan_sizes(&usual, &n, &s) && g.filter_blocks == usual.filter_blocks,
		      "%d: %llu blocks, not %llu", what, (unsigned long long)g.filter_blocks,
		      (unsigned long long)usual.filter_blocks);
	}
	/* Few have what they always had. */
	n = (struct counts){ .hosts = 50000, .some24 = 50000 };
	CHECK(!plan_sizes(&g, &n, &open) && fabs(layout_bits(&g) - BITS_USUAL) < 1e-2, "50,000: %g bits a key",
	      layout_bits(&g));
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "the best of every size, in machines that are made up", every_size },
		{ "no size comes and goes", steady },
		{ "between the sizes, and beyond", interpolated },
		{ "what was measured is believed, or not", judged },
		{ "this machine is measured", measured_here },
		{ "in a plan, where nothing else was asked for", planned },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
