// SPDX-License-Identifier: GPL-2.0-only
/* Numbers that a generation can have. What is in an image is a stranger's word until it has been here. */
#include <stddef.h>

#include "filter/arrays.h"
#include "bpf/filter.h"
#include "filter/formulas.h"
#include "image/image.h"
#include "filter/plan.h"
#include "filter/layout.h"
#include "filter/roster_table.h"

static bool is_switch(__u64 value)
{
	return value <= 1;
}

static __u64 mask64(__u64 length)
{
	return length >= 64 ? ~0ULL : length ? ~0ULL << (64 - length) : 0;
}

static const char *rungs_fault(const struct generation *g)
{
	if (g->rungs > RUNGS_MAX)
		return "it has too many rungs";
	for (__u64 i = 0; i < g->rungs; i++) {
		const struct rung *rung = &g->rung[i];

		if (rung->length > 128 || (i && rung->length >= g->rung[i - 1].length) ||
		    rung->mask_hi != mask64(rung->length) ||
		    rung->mask_lo != (rung->length > 64 ? mask64(rung->length - 64) : 0) ||
		    rung->salt != salt_for(rung->salt, rung->length))
			return "its rungs are none";
	}
	return NULL;
}

static const char *filter_fault(const struct generation *g)
{
	__u64 blocks = g->filter_layout == LAYOUT_CLASSIC ? 0 : g->filter_blocks;

	if (g->filter != (g->filter_blocks > 0) || g->filter_blocks > BLOCKS_MAX ||
	    ((g->keys4 || g->rungs) && !g->filter))
		return "its filter has no size";
	if (g->filter_layout >= LAYOUTS || g->lanes_blocks != blocks ||
	    (g->filter && g->filter_layout == LAYOUT_LANES && g->filter_k != FILTER_LANES) ||
	    (g->filter && g->filter_layout == LAYOUT_LANES2 && g->filter_k != 2 * FILTER_LANES) ||
	    (g->filter && (!g->filter_k || g->filter_k > CLASSIC_K_MAX)))
		return "its filter's layout is none";
	return NULL;
}

/* A multiplier that is even forgets bits of the key. */
static bool are_seeds(const struct hash_seeds *s)
{
	return s->mul1 & s->mul2 & s->mul3 & 1;
}

/* roster4_vacant() finds something in any bucket: nearly at once under seeds that were drawn. */
static bool has_vacant(const struct generation *g, __u64 at)
{
	__u32 addr = 0;

	while (addr < 1u << 16 && is_bucket_of(g, at, addr))
		addr++;
	return addr < 1u << 16;
}

static const char *roster_fault(const struct generation *g)
{
	struct roster_choice zero;

	if (g->roster4 != (g->roster4_buckets > 0) || g->roster6 != (g->roster6_buckets > 0) ||
	    g->roster4_buckets > 2 * BLOCKS_MAX || g->roster6_buckets > BLOCKS_MAX)
		return "its roster has no size";
	if (g->roster6 && !g->rungs)
		return "its roster holds IPv6, and nobody asks it";
	if (!g->roster4)
		return g->minorities ? "its labels have no roster" : NULL;
	if (g->roster4_buckets < ROSTER_BUCKETS_MIN)
		return "its roster has no size";
	zero = choose4(g, 0);
	return has_vacant(g, zero.first) && has_vacant(g, zero.second) ? NULL : "its seeds are none";
}

const char *image_fault(const struct generation *g)
{
	const char *fault;

	if (g->version != GENERATION_VERSION)
		return "it is of another version";
	for (enum array a = 0; a < ARRAYS; a++)
		if (!is_switch(*generation_member((struct generation *)g, array_kinds[a].member)))
			return "its arrays are none";
	if (!are_seeds(&g->hash) || !are_seeds(&g->tag) || !(g->gate6_mul & 1))
		return "its seeds are none";
	fault = rungs_fault(g);
	if (fault)
		return fault;
	if (g->gate6 != (g->gate6_log2 > 0) || (g->gate6 && !g->rungs) ||
	    (g->gate6 && (g->gate6_log2 < GATE6_LOG2_MIN || g->gate6_log2 > GATE6_LOG2_MAX)))
		return "its IPv6 gate has no size";
	if ((g->gate4_labels && !g->gate4) || g->gate4_label >= LABELS)
		return "its IPv4 gate does not fit its labels";
	fault = filter_fault(g);
	if (fault)
		return fault;
	if (g->keys4 > 1ULL << 32 || g->keys6 > 1ULL << 32 || g->all24 > 1ULL << 24 || g->minorities > 1ULL << 32 ||
	    (g->all24 && !g->gate4) || (g->keys6 && !g->rungs))
		return "it cannot hold as many as it says";
	if (!is_switch(g->shadows) || (g->shadows && !g->roster4 && !g->roster6 && (g->keys4 || g->keys6)))
		return "its shadow lists have no roster";
	if (g->no_flat)
		return "it wants maps that there are not";
	return roster_fault(g);
}
