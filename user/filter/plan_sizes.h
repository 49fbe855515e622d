/* SPDX-License-Identifier: GPL-2.0-only */
/* Sizes before bits: what a set needs, which stages it is worth having, and how much memory that takes. */
#ifndef FILTER_PLAN_SIZES_H
#define FILTER_PLAN_SIZES_H

#include <stdbool.h>
#include <stdint.h>

#include "filter/settings.h"

struct generation;
struct owned;

/* Enough that no bucket is both choices of every small address (roster4_vacant). */
#define ROSTER_BUCKETS_MIN 128

/* The sizes of a set. */
struct counts {
	uint64_t some24;     /* /24s that the gate would send on */
	uint64_t all24;	     /* /24s that it would ban */
	uint64_t hosts;	     /* in those that it sends on */
	uint64_t minorities; /* hosts of mixed /24s that need their own label */
	bool labels_differ;  /* among the banned /24s */
	uint8_t label;
	uint64_t v6[129]; /* prefixes by length */
	double nets32;	  /* /32s that they lie in, or cover */
	double lengths32; /* in how many lengths, summed over these */
};

void plan_count(struct counts *n, const struct owned *owned);

/*
 * Fills in every size and rung of g, nothing else. The members that stand for maps are 1 where there will be one.
 * Returns 0, or -E2BIG with the reason recorded when a limit is passed.
 */
int plan_sizes(struct generation *g, const struct counts *n, const struct settings *settings);
int plan_generation(struct generation *g, const struct owned *owned, const struct settings *settings);

/*
 * The cheapest rungs for a histogram of prefix lengths 0 to 128: fills lengths with 1 to RUNGS_MAX of them, ascending,
 * and returns how many. keys, if asked for, is the number of keys that they take.
 */
unsigned int plan_rungs(const uint64_t histogram[129], unsigned int lengths[], double *keys);

/* An eighth more, where keys found no place. */
void plan_more_buckets4(struct generation *g);

/* The masks of a rung, without its salt. */
struct rung rung_of(__u64 length);

#endif
