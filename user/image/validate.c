// SPDX-License-Identifier: GPL-2.0-only
/* Numbers that a generation can have. An image may come from a stranger: nothing in it is used before it is checked. */
#include "filter/arrays.h"
#include "bpf/filter.h"
#include "image/validate.h"
#include "filter/plan_sizes.h"
#include "filter/layout.h"
#include "filter/roster_table.h"

/* Of all 64 bits that the member is in: in the other half there is what no image says, so that is 0. */
#define LIMIT(member, least, most, text)                                       \
	{                                                                      \
		offsetof(struct generation, member) / 8 * 8, least, most, text \
	}

static const struct {
	unsigned int member;
	__u64 least, most;
	const char *text;
} limits[] = {
	LIMIT(version, GENERATION_VERSION, GENERATION_CODES, "it is of another version"),
	LIMIT(gate4, 0, 1, "its arrays are none"),
	LIMIT(gate4_labels, 0, 1, "its arrays are none"),
	LIMIT(gate6, 0, 1, "its arrays are none"),
	LIMIT(filter, 0, 1, "its arrays are none"),
	LIMIT(roster4, 0, 1, "its arrays are none"),
	LIMIT(roster6, 0, 1, "its arrays are none"),
	LIMIT(rungs, 0, RUNGS_MAX, "it has too many rungs"),
	LIMIT(gate6_log2, 0, GATE6_LOG2_MAX, "its IPv6 gate has no size"),
	LIMIT(gate4_label, 0, LABELS - 1, "its IPv4 gate does not fit its labels"),
	LIMIT(filter_blocks, 0, BLOCKS_MAX, "its filter has no size"),
	LIMIT(filter_layout, 0, LAYOUTS - 1, "its filter's layout is none"),
	LIMIT(roster6_buckets, 0, BLOCKS_MAX, "its roster has no size"),
	LIMIT(keys4, 0, 1ULL << 32, "it cannot hold as many as it says"),
	LIMIT(keys6, 0, 1ULL << 32, "it cannot hold as many as it says"),
	LIMIT(all24, 0, 1ULL << 24, "it cannot hold as many as it says"),
	LIMIT(minorities, 0, UINT32_MAX, "it cannot hold as many as it says"),
	LIMIT(stale, 0, UINT32_MAX, "it cannot hold as many as it says"),
	LIMIT(shadows, 0, 1, "its shadow lists have no roster"),
	LIMIT(no_flat, 0, 0, "it wants maps that there are not"),
};

static const char *rungs_fault(const struct generation *g)
{
	for (__u64 i = 0; i < g->rungs; i++) {
		const struct rung *rung = &g->rung[i], right = rung_of(rung->length);

		if (rung->length > 128 || (i && rung->length >= g->rung[i - 1].length) ||
		    rung->mask_hi != right.mask_hi || rung->mask_lo != right.mask_lo ||
		    rung->salt != salt_for(rung->salt, rung->length))
			return "its rungs are none";
	}
	return NULL;
}

static bool fits_layout(const struct generation *g)
{
	switch (g->filter_layout) {
	case LAYOUT_LANES:
		return g->filter_k == FILTER_LANES;
	case LAYOUT_LANES2:
		return g->filter_k == 2 * FILTER_LANES;
	default:
		return g->filter_k && g->filter_k <= CLASSIC_K_MAX;
	}
}

/* A multiplier that is even forgets bits of the key. */
static bool are_seeds(const struct hash_seeds *s)
{
	return s->mul1 & s->mul2 & s->mul3 & 1;
}

/*
 * roster4_vacant() finds something in any bucket: nearly at once under seeds that were drawn. One of codes has fewer
 * addresses than are tried.
 */
static bool has_vacant(const struct generation *g, __u64 at)
{
	__u32 addr = 0;

	while (addr < 1u << 16 && is_bucket_of(g, at, addr))
		addr++;
	return addr < 1u << 16;
}

static bool are_roster_seeds(const struct generation *g)
{
	struct roster_choice zero = choose4(g, 0);

	return has_vacant(g, zero.first) && has_vacant(g, zero.second);
}

static bool is_roster4_size(const struct generation *g)
{
	__u64 shape = g->roster4_buckets, buckets = buckets4(g);

	if (!keeps_codes4(g))
		return buckets <= 2 * BLOCKS_MAX && (!g->roster4 || buckets >= ROSTER_BUCKETS_MIN);
	return g->roster4 && buckets && shape == codes4_shape(buckets);
}

/* What one number says of another; each is within its limits. */
static const char *relations_fault(const struct generation *g)
{
	const struct {
		bool wrong;
		const char *text;
	} relations[] = {
		{ !are_seeds(&g->hash) || !are_seeds(&g->tag) || !(g->gate6_mul & 1), "its seeds are none" },
		{ g->gate6 != (g->gate6_log2 > 0) || (g->gate6 && (!g->rungs || g->gate6_log2 < GATE6_LOG2_MIN)),
		  "its IPv6 gate has no size" },
		{ g->gate4_labels && !g->gate4, "its IPv4 gate does not fit its labels" },
		{ g->filter != (g->filter_blocks > 0) || ((g->keys4 || g->rungs) && !g->filter),
		  "its filter has no size" },
		{ g->lanes_blocks != (g->filter_layout == LAYOUT_CLASSIC ? 0 : g->filter_blocks) ||
			  (g->filter && !fits_layout(g)),
		  "its filter's layout is none" },
		{ (g->all24 && !g->gate4) || (g->keys6 && !g->rungs), "it cannot hold as many as it says" },
		{ g->shadows && !g->roster4 && !g->roster6 && (g->keys4 || g->keys6),
		  "its shadow lists have no roster" },
		{ g->roster4 != (g->roster4_buckets > 0) || g->roster6 != (g->roster6_buckets > 0) ||
			  !is_roster4_size(g),
		  "its roster has no size" },
		{ g->roster6 && !g->rungs, "its roster holds IPv6, and nothing asks it" },
		{ g->version != generation_version(g), "it is of another version" },
		{ g->minorities && (!g->roster4 || keeps_codes4(g)), "its labels have no roster" },
	};

	for (size_t i = 0; i < sizeof(relations) / sizeof(relations[0]); i++)
		if (relations[i].wrong)
			return relations[i].text;
	return NULL;
}

const char *image_fault(const struct generation *g)
{
	const char *fault;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		__u64 value = *generation_member((struct generation *)g, limits[i].member);

		if (value < limits[i].least || value > limits[i].most)
			return limits[i].text;
	}
	fault = rungs_fault(g);
	if (!fault)
		fault = relations_fault(g);
	if (!fault && g->roster4 && !are_roster_seeds(g))
		fault = "its seeds are none";
	return fault;
}
