/* SPDX-License-Identifier: GPL-2.0-only */
/* How the filter lays its bits: which layout, how many bits a key it takes for a rate, and k. */
#ifndef FILTER_LAYOUT_H
#define FILTER_LAYOUT_H

#include "bpf/abi.h"
#include "filter/settings.h"

/* An index is 32 bits of hash times a count. */
#define BLOCKS_MAX (1ULL << 31)

struct layout_plan {
	enum layout kind;
	unsigned int k;
	double bits_per_key;
	double fpr;
};

/* What the settings fix; where they leave it open, the layout that is worth most for the rate. */
struct layout_plan layout_choose(const struct settings *settings);
/* The one with the fewest bits for the same rate. */
struct layout_plan layout_leanest(const struct settings *settings);

/* Into a plan, for so many keys; 0 or -E2BIG with the reason recorded. */
int layout_size(struct generation *g, const struct layout_plan *layout, double keys);

/* The bits a key that a generation was sized with, once its headroom is used up; 0: it has no filter. */
double layout_bits(const struct generation *g);

/* Why a filter has its size. */
struct sizing {
	bool by_cost;			   /* by what a packet waits for that is kept; what follows is 0 otherwise */
	bool measured;			   /* by times of this machine's memory, not of a usual one's */
	double ns, ns_usual, bits_per_key; /* with these bits a key, and with the usual ones */
};
struct sizing layout_sizing(const struct generation *g, const struct settings *settings);

/* A generation's, for the formulas. */
struct filter_shape layout_shape(const struct generation *g);

#endif
