// SPDX-License-Identifier: GPL-2.0-only
#include "filter/plan_sizes.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "filter/arrays.h"
#include "filter/layout.h"
#include "base/log.h"
#include "sets/owned.h"
#include "bpf/roster.h"

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

unsigned int plan_rungs(const uint64_t histogram[129], unsigned int lengths[], double *keys)
{
	/* best[r][i]: keys of the prefixes up to present[i], the last of r + 1 rungs being present[i] */
	double best[RUNGS_MAX][129];
	unsigned char from[RUNGS_MAX][129];
	unsigned int present[129], n = 0, rungs;

	for (unsigned int i = 0; i <= 128; i++)
		if (histogram[i])
			present[n++] = i;
	if (!n)
		return 0;
	for (unsigned int i = 0; i < n; i++) {
		double cost = 0;

		/* cost is that of the rung present[i] for everything from present[j] on. */
		for (unsigned int r = 1; r < RUNGS_MAX; r++)
			best[r][i] = INFINITY;
		for (unsigned int j = i + 1; j-- > 0;) {
			cost += (double)histogram[present[j]] * exp2(present[i] - present[j]);
			if (j == 0)
				best[0][i] = cost;
			for (unsigned int r = 1; r < RUNGS_MAX && j > 0; r++) {
				if (best[r - 1][j - 1] + cost < best[r][i]) {
					best[r][i] = best[r - 1][j - 1] + cost;
					from[r][i] = (unsigned char)(j - 1);
				}
			}
		}
	}
	rungs = RUNGS_MAX;
	for (unsigned int r = RUNGS_MAX; r-- > 0;)
		if (best[r][n - 1] <= best[rungs - 1][n - 1])
			rungs = r + 1;
	for (unsigned int r = 0; r < rungs; r++) {
		if (best[r][n - 1] <= best[rungs - 1][n - 1] * RUNG_WORTH + RUNG_SLACK) {
			rungs = r + 1;
			break;
		}
	}
	if (keys)
		*keys = best[rungs - 1][n - 1];
	for (unsigned int r = rungs, i = n - 1; r-- > 0; i = r ? from[r][i] : i)
		lengths[r] = present[i];
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

int plan_sizes(struct generation *g, const struct counts *n, const struct settings *settings)
{
	struct layout_plan layout = layout_choose(settings);
	double keys6 = 0, keys;
	int err;

	memset(g, 0, sizeof(*g));
	g->version = GENERATION_VERSION;
	g->samples = settings->samples > 0;
	plan_ipv6(g, n, &keys6);
	if (keys6 > 4e9)
		return because(-E2BIG, "the IPv6 prefixes need %.3g keys; the most is 4e9", keys6);
	g->keys6 = (__u64)keys6;
	g->keys4 = n->hosts;
	g->all24 = n->all24;
	/* Where labels are off and lists differ, it is unknown whose drop it is. */
	g->gate4_label = settings->labels || !(n->labels_differ || n->minorities) ? n->label : LABEL_LIVE;
	g->gate4 = n->all24 || n->some24;
	if ((settings->exact || (double)n->some24 > GATE4_WORTH * (1 << 24)) &&
	    (double)n->all24 * 256 <= EXPAND_WORTH * (double)n->hosts) {
		g->gate4 = 0;
		g->keys4 += n->all24 * 256;
		g->all24 = 0;
	}
	g->gate4_labels = g->gate4 && settings->labels && n->labels_differ;

	if (g->gate4 && settings->labels && settings->exact)
		g->minorities = n->minorities;
	if (settings->exact && g->keys4 + g->minorities) {
		g->roster4_buckets =
			roster_buckets(g->keys4 + g->minorities, settings->headroom, ROSTER4_SLOTS, ROSTER4_LOAD);
		g->roster4 = 1;
	}
	if (settings->exact && g->keys6) {
		g->roster6_buckets = roster_buckets(g->keys6, settings->headroom, ROSTER6_SLOTS, ROSTER6_LOAD);
		g->roster6 = 1;
	}
	/* The least of each is more than a few keys need, and counts as room. */
	g->capacity4 = (__u64)((double)g->roster4_buckets * ROSTER4_SLOTS * ROSTER4_LOAD);
	g->capacity6 = (__u64)((double)g->roster6_buckets * ROSTER6_SLOTS * ROSTER6_LOAD);
	keys = (double)(g->keys4 + g->keys6) * (1 + settings->headroom);
	err = layout_size(g, &layout, keys);
	if (!err && settings->memory_max && arrays_total(g) > settings->memory_max) {
		layout = layout_leanest(settings);
		err = layout_size(g, &layout, keys);
	}
	if (err)
		return err;
	if (settings->memory_max && arrays_total(g) > settings->memory_max)
		return because(-E2BIG, "this set needs %llu bytes in the kernel; the limit is %llu",
			       (unsigned long long)arrays_total(g), (unsigned long long)settings->memory_max);
	return 0;
}

int plan_generation(struct generation *g, const struct owned *owned, const struct settings *settings)
{
	struct counts n;

	plan_count(&n, owned);
	return plan_sizes(g, &n, settings);
}
