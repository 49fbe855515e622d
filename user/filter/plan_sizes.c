// SPDX-License-Identifier: GPL-2.0-only
#include "filter/plan_sizes.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "filter/arrays.h"
#include "filter/layout.h"
#include "base/log.h"
#include "sets/owned.h"
#include "filter/roster_table.h"

/*
 * The gate is 4 MiB of which each packet reads another byte: a filter of few hosts stays in the caches, so that hosts
 * alone are better off without it. Where no roster follows it keeps what the filter is wrong about to a few /24, while
 * nearly all /24 are clear; with more of them its branch is poorly predicted (docs/design.md has the measurements).
 */
#define GATE4_WORTH 0.015
/* Without a gate every prefix is hosts: only where that adds no more than an eighth. */
#define EXPAND_WORTH 0.125

/* The IPv6 gate has eight bytes for each /32: four let many strangers in, sixteen are slower outside the cache. */
#define GATE6_PLACES_PER_NET 8
#define GATE6_NETS_MAX	     ((1ULL << GATE6_LOG2_MAX) / GATE6_PLACES_PER_NET)

/* A rung more costs every IPv6 packet behind the gate a look-up; half as many keys again cost only memory. */
#define RUNG_WORTH 1.5
#define RUNG_SLACK 4096

/*
 * Random-walk insertion into two choices of 6 (or 7) slots finds room well beyond these shares. What they leave free
 * keeps all but a few keys in their first bucket: a second look is a branch that cannot be predicted.
 */
#define ROSTER4_LOAD 0.80
#define ROSTER6_LOAD 0.90
/*
 * Ten codes fill up as far with as many in their first bucket. With fewer buckets than this so many addresses would
 * share one that more than a sixth of them had no second: a smaller set keeps addresses, unless codes take less all the
 * same.
 */
#define CODES4_LOAD	   0.90
#define CODES4_BUCKETS_MIN 120000

/*
 * rungs[r][i]: what the prefixes of lengths[0] to lengths[i] cost with r + 1 rungs, the longest of them lengths[i], and
 * how far the others reach.
 */
struct rung_costs {
	unsigned int lengths[129], n;
	struct {
		double keys;
		unsigned int others;
	} rungs[RUNGS_MAX][129];
};

/* The longest rung is lengths[i]. It takes the prefixes down to lengths[j]; those before are for one rung less. */
static void cost_rungs(struct rung_costs *c, const uint64_t histogram[129], unsigned int i)
{
	double keys = 0;

	for (unsigned int r = 0; r < RUNGS_MAX; r++)
		c->rungs[r][i].keys = INFINITY;
	for (unsigned int j = i; j > 0; j--) {
		keys += (double)histogram[c->lengths[j]] * exp2(c->lengths[i] - c->lengths[j]);
		for (unsigned int r = 1; r < RUNGS_MAX; r++) {
			double with_others = c->rungs[r - 1][j - 1].keys + keys;

			if (with_others < c->rungs[r][i].keys) {
				c->rungs[r][i].keys = with_others;
				c->rungs[r][i].others = j - 1;
			}
		}
	}
	c->rungs[0][i].keys = keys + (double)histogram[c->lengths[0]] * exp2(c->lengths[i] - c->lengths[0]);
}

/* The fewest that need at most half as many keys again as the best number of them. */
static unsigned int count_rungs(const struct rung_costs *c)
{
	double least = INFINITY;
	unsigned int rungs = 0;

	for (unsigned int r = 0; r < RUNGS_MAX; r++)
		least = fmin(least, c->rungs[r][c->n - 1].keys);
	while (c->rungs[rungs++][c->n - 1].keys > least * RUNG_WORTH + RUNG_SLACK)
		;
	return rungs;
}

unsigned int plan_rungs(const uint64_t histogram[129], unsigned int lengths[], double *keys)
{
	struct rung_costs c = { .n = 0 };
	unsigned int rungs;

	for (unsigned int length = 0; length <= 128; length++)
		if (histogram[length])
			c.lengths[c.n++] = length;
	if (!c.n)
		return 0;
	for (unsigned int i = 0; i < c.n; i++)
		cost_rungs(&c, histogram, i);
	rungs = count_rungs(&c);
	if (keys)
		*keys = c.rungs[rungs - 1][c.n - 1].keys;
	for (unsigned int r = rungs, i = c.n - 1; r-- > 0; i = c.rungs[r][i].others)
		lengths[r] = c.lengths[i];
	return rungs;
}

static void note_gate_label(struct counts *n, uint8_t label)
{
	if (n->all24 && n->label != label)
		n->labels_differ = true;
	n->label = label;
}

static void count_ipv4(struct counts *n, const struct owned *owned)
{
	struct net24_walk walk = { 0 };

	while (owned_next_net24(owned, &walk)) {
		if (walk.banned < 256) {
			n->some24++;
			n->hosts += walk.banned;
			continue;
		}
		if (walk.run) {
			note_gate_label(n, owned->label4[walk.from]);
		} else {
			uint8_t major = owned_majority24(owned, &walk);

			note_gate_label(n, major);
			for (size_t i = walk.from; i < walk.until; i++) {
				struct range4 part = owned_clip24(owned, i, walk.first);

				n->minorities += owned->label4[i] == major ? 0 : part.hi - part.lo + 1;
			}
		}
		n->all24 += walk.last - walk.first + 1;
	}
}

static void count_ipv6(struct counts *n, const struct owned *owned)
{
	bool seen[129] = { false };
	ip6 net32 = 0;

	for (size_t i = 0; i < owned->n6; i++) {
		for (struct cut6 cut = { .lo = owned->v6[i].lo, .hi = owned->v6[i].hi }; range6_next_prefix(&cut);) {
			n->v6[cut.length]++;
			if (cut.first >> 96 != net32)
				memset(seen, 0, sizeof(seen));
			if (cut.length < 32) {
				n->nets32 += exp2(32 - cut.length);
				n->lengths32 += exp2(32 - cut.length);
			} else {
				n->nets32 += !n->nets32 || cut.first >> 96 != net32;
				n->lengths32 += !seen[cut.length];
			}
			seen[cut.length] = true;
			net32 = cut.first >> 96;
		}
	}
}

static uint64_t roster_buckets(uint64_t keys, double headroom, unsigned int slots, double load)
{
	uint64_t buckets = (uint64_t)ceil((double)keys * (1 + headroom) / (slots * load));

	return buckets > ROSTER_BUCKETS_MIN ? buckets : ROSTER_BUCKETS_MIN;
}

static __u64 mask64(__u64 length)
{
	return length >= 64 ? ~0ULL : length ? ~0ULL << (64 - length) : 0;
}

struct rung rung_of(__u64 length)
{
	return (struct rung){ length, mask64(length), length > 64 ? mask64(length - 64) : 0, 0 };
}

static void plan_ipv6(struct generation *g, const struct counts *n, double *keys)
{
	unsigned int lengths[RUNGS_MAX];

	g->rungs = plan_rungs(n->v6, lengths, keys);
	/* The longest first: it decides the account. */
	for (unsigned int i = 0; i < g->rungs; i++)
		g->rung[i] = rung_of(lengths[g->rungs - 1 - i]);
	for (unsigned int i = 0; i <= 128; i++)
		g->prefixes6 += n->v6[i];
	if (!g->rungs || n->nets32 > GATE6_NETS_MAX)
		return;
	g->gate6_log2 = GATE6_LOG2_MIN;
	while (1ULL << g->gate6_log2 < n->nets32 * GATE6_PLACES_PER_NET)
		g->gate6_log2++;
	g->gate6 = 1;
}

void plan_count(struct counts *n, const struct owned *owned)
{
	memset(n, 0, sizeof(*n));
	count_ipv4(n, owned);
	count_ipv6(n, owned);
}

/* Hosts alone are better off without the gate: then /24s are hosts, too. */
static void plan_ipv4(struct generation *g, const struct counts *n, const struct settings *settings)
{
	bool needed = !settings->exact && (double)n->some24 <= GATE4_WORTH * (1 << 24);

	g->gate4 = n->all24 || n->some24;
	if (!needed && (double)n->all24 * 256 <= EXPAND_WORTH * (double)n->hosts)
		g->gate4 = 0;
	g->all24 = g->gate4 ? n->all24 : 0;
	g->keys4 = n->hosts + (n->all24 - g->all24) * 256;
	/* Where labels are off and lists differ, it is unknown whose drop it is. */
	g->gate4_label = settings->labels || !(n->labels_differ || n->minorities) ? n->label : LABEL_LIVE;
	g->gate4_labels = g->gate4 && settings->labels && n->labels_differ;
	if (g->gate4 && settings->labels && settings->exact)
		g->minorities = n->minorities;
}

static void shape_codes4(struct generation *g, __u64 buckets)
{
	g->roster4_buckets = codes4_shape(buckets);
	g->version = generation_version(g);
}

static void plan_roster4(struct generation *g, double headroom)
{
	__u64 keys = g->keys4 + g->minorities, codes = roster_buckets(keys, headroom, CODES4_SLOTS, CODES4_LOAD);

	g->roster4_buckets = roster_buckets(keys, headroom, ROSTER4_SLOTS, ROSTER4_LOAD);
	if (codes < CODES4_BUCKETS_MIN)
		codes = CODES4_BUCKETS_MIN;
	g->capacity4 = (__u64)((double)g->roster4_buckets * ROSTER4_SLOTS * ROSTER4_LOAD);
	/* Where a gate comes first few are asked, and these have a way that asks addresses alone. */
	if (g->gate4 || codes >= g->roster4_buckets)
		return;
	shape_codes4(g, codes);
	g->capacity4 = (__u64)((double)codes * CODES4_SLOTS * CODES4_LOAD);
}

void plan_more_buckets4(struct generation *g)
{
	if (keeps_codes4(g))
		shape_codes4(g, buckets4(g) + buckets4(g) / 8);
	else
		g->roster4_buckets += g->roster4_buckets / 8;
}

/* The least of each is more than a few keys need, and counts as room. */
static void plan_rosters(struct generation *g, double headroom)
{
	g->roster4 = g->keys4 + g->minorities > 0;
	g->roster6 = g->keys6 > 0;
	if (g->roster4)
		plan_roster4(g, headroom);
	if (g->roster6)
		g->roster6_buckets = roster_buckets(g->keys6, headroom, ROSTER6_SLOTS, ROSTER6_LOAD);
	g->capacity6 = (__u64)((double)g->roster6_buckets * ROSTER6_SLOTS * ROSTER6_LOAD);
}

/* The layout that was chosen, or the leanest where that one would take more than the limit. */
static int plan_filter(struct generation *g, const struct settings *settings)
{
	double keys = (double)(g->keys4 + g->keys6) * (1 + settings->headroom);
	struct settings sized = *settings;
	struct layout_plan layout;
	int err;

	if (settings->lines.n && settings_auto(settings))
		sized.bits_per_key = line_times_bits(&settings->lines, keys, (double)arrays_rosters(g));
	layout = layout_choose(&sized);
	err = layout_size(g, &layout, keys);

	if (!err && settings->memory_max && arrays_total(g) > settings->memory_max) {
		layout = layout_leanest(&sized);
		err = layout_size(g, &layout, keys);
	}
	if (!err && settings->memory_max && arrays_total(g) > settings->memory_max)
		err = because(-E2BIG, "this set needs %llu bytes in the kernel; the limit is %llu",
			      (unsigned long long)arrays_total(g), (unsigned long long)settings->memory_max);
	return err;
}

int plan_sizes(struct generation *g, const struct counts *n, const struct settings *settings)
{
	double keys6 = 0;

	memset(g, 0, sizeof(*g));
	g->version = GENERATION_VERSION;
	g->samples = settings->samples > 0;
	g->embedded = settings->embedded;
	g->inner = settings->inner;
	plan_ipv6(g, n, &keys6);
	if (keys6 > 4e9)
		return because(-E2BIG, "the IPv6 prefixes need %.3g keys; the most is 4e9", keys6);
	g->keys6 = (__u64)keys6;
	plan_ipv4(g, n, settings);
	if (settings->exact)
		plan_rosters(g, settings->headroom);
	return plan_filter(g, settings);
}

int plan_generation(struct generation *g, const struct owned *owned, const struct settings *settings)
{
	struct counts n;

	plan_count(&n, owned);
	return plan_sizes(g, &n, settings);
}
