// SPDX-License-Identifier: GPL-2.0-only
#include "filter/layout.h"

#include <errno.h>
#include <math.h>

#include "bpf/filter.h"
#include "filter/arrays.h"
#include "base/log.h"

#define FILTER_BLOCKS_MIN 64 /* a page: less saves nothing */

/* For rates, which hardly depend on it. */
#define MANY 1e6

static double bits_for(enum layout kind, unsigned int k, double fpr)
{
	switch (kind) {
	case LAYOUT_CLASSIC:
		return classic_bits(fpr, k);
	case LAYOUT_LANES2:
		return lanes2_bits(fpr);
	default:
		return lanes_bits(fpr);
	}
}

/* For a rate, or with bits a key. */
static struct layout_plan pinned(enum layout kind, unsigned int k, double fpr, double bits_per_key)
{
	struct layout_plan l = { .kind = kind, .k = k };
	struct filter_shape shape;

	if (kind != LAYOUT_CLASSIC)
		l.k = kind == LAYOUT_LANES ? FILTER_LANES : 2 * FILTER_LANES;
	l.bits_per_key = fpr > 0 ? bits_for(kind, l.k, fpr) : bits_per_key;
	if (!l.k)
		l.k = classic_k(l.bits_per_key);
	shape = (struct filter_shape){ .bits = MANY * l.bits_per_key, .k = l.k, .lanes = kind != LAYOUT_CLASSIC };
	l.fpr = fpr_expected(shape, MANY);
	return l;
}

/* Where the layout is open, bits a key are those of lanes: the others are to reach the same rate. */
static struct layout_plan candidate(enum layout kind, const struct settings *s)
{
	struct layout_plan lanes = pinned(LAYOUT_LANES, 0, s->fpr, s->bits_per_key);

	return kind == LAYOUT_LANES ? lanes : pinned(kind, 0, lanes.fpr, 0);
}

struct layout_plan layout_leanest(const struct settings *s)
{
	struct layout_plan best, other;

	if (s->layout != LAYOUT_AUTO)
		return pinned(s->layout, s->k, s->fpr, s->bits_per_key);
	best = candidate(LAYOUT_LANES, s);
	for (enum layout kind = LAYOUT_LANES2; kind < LAYOUTS; kind++) {
		other = candidate(kind, s);
		if (other.bits_per_key < best.bits_per_key)
			best = other;
	}
	return best;
}

/* Layouts stand in the order of their speed; a slower one must save that share of the memory. */
#define WORTH 1.25

struct layout_plan layout_choose(const struct settings *s)
{
	struct layout_plan least = layout_leanest(s), l;

	for (enum layout kind = LAYOUT_LANES; s->layout == LAYOUT_AUTO && kind < least.kind; kind++) {
		l = candidate(kind, s);
		if (l.bits_per_key <= WORTH * least.bits_per_key)
			return l;
	}
	return least;
}

int layout_size(struct generation *g, const struct layout_plan *layout, double keys)
{
	double blocks = ceil(keys * layout->bits_per_key / (BLOCK_BYTES * 8));

	if (blocks > BLOCKS_MAX)
		return because(-E2BIG, "the filter needs %.3g blocks; the most is %llu", blocks, BLOCKS_MAX);
	if (!(blocks > 0))
		return 0;
	g->filter = 1;
	g->filter_blocks = blocks > FILTER_BLOCKS_MIN ? (__u64)blocks : FILTER_BLOCKS_MIN;
	g->filter_layout = layout->kind;
	g->filter_k = layout->k;
	g->lanes_blocks = layout->kind == LAYOUT_CLASSIC ? 0 : g->filter_blocks;
	g->capacity = (__u64)((double)g->filter_blocks * BLOCK_BYTES * 8 / layout->bits_per_key);
	return 0;
}

double layout_bits(const struct generation *g)
{
	return g->capacity ? (double)g->filter_blocks * BLOCK_BYTES * 8 / (double)g->capacity : 0;
}

struct sizing layout_sizing(const struct generation *g, const struct settings *settings)
{
	double keys = (double)g->capacity, rosters = (double)arrays_rosters(g);

	if (!settings->lines.n || !settings_auto(settings) || !g->capacity || g->filter_layout != LAYOUT_LANES)
		return (struct sizing){ .by_cost = false };
	return (struct sizing){ .by_cost = true,
				.measured = settings->lines.measured,
				.ns = kept_ns(&settings->lines, keys, layout_bits(g), rosters),
				.ns_usual = kept_ns(&settings->lines, keys, BITS_USUAL, rosters),
				.bits_per_key = layout_bits(g) };
}

struct filter_shape layout_shape(const struct generation *g)
{
	return (struct filter_shape){ .bits = (double)g->filter_blocks * BLOCK_BYTES * 8,
				      .k = (double)g->filter_k,
				      .lanes = g->lanes_blocks != 0 };
}
