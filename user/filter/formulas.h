/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The mathematics of the filter: numbers in, numbers out. A rate (fpr) is that of yeses to keys that are not in the
 * filter; bits means bits a key where there is no number of keys beside it. docs/bloom.md explains them one by one.
 */
#ifndef FILTER_FORMULAS_H
#define FILTER_FORMULAS_H

#include <stdbool.h>

#define CLASSIC_K_MAX 24

/* --- Classic: k bits of a key anywhere in the array --------------------------------------------------------------- */

/* (1 - e^(-k keys / bits))^k: a little less than the truth in small filters, the truth in large ones. */
double classic_fpr(double keys, double bits, unsigned int k);

/* The best k: the better of the whole numbers around bits ln 2, or log2(1 / fpr). */
unsigned int classic_k(double bits);

/* Bits a key for a rate: the fewest with this k, or with any whole k (0). */
double classic_bits(double fpr, unsigned int k);

/* --- Lanes: one bit in each of the eight words of a block --------------------------------------------------------- */

/* The mean over blocks: how many keys one holds is binomial, and as good as Poisson where there are many blocks. */
double lanes_fpr(double keys, double blocks);
/* The same of the first four lanes, after which most are settled. */
double lanes_fpr_half(double keys, double blocks);

/* The fewest bits a key that reach a rate. */
double lanes_bits(double fpr);

/* Eight bits in each of two blocks: both must say yes, and each holds twice as many. */
double lanes2_fpr(double keys, double blocks);
double lanes2_bits(double fpr);

/* --- Whatever the layout ------------------------------------------------------------------------------------------ */

struct filter_shape {
	double bits, k;
	bool lanes; /* of one or of two blocks, told apart by k: 8 or 16 */
};

double fpr_expected(struct filter_shape shape, double keys);
/* The share of bits that so many keys set, on average. */
double fill_expected(struct filter_shape shape, double keys);

/* --- Back from the bits to the keys ------------------------------------------------------------------------------- */

/* A number and its standard error; both infinite where the filter is too full to say. */
struct estimate {
	double value, error;
};

/* How many keys there are, given how many bits are set. */
struct estimate estimate_keys(struct filter_shape shape, double set);

/*
 * Of two filters of one shape and one seed, the keys that are in both, from the bits that are set in each and in their
 * OR. The keys in any of them are estimate_keys() of the OR.
 */
struct estimate estimate_intersection(struct filter_shape shape, double set_a, double set_b, double set_or);

/* --- The detector: cells of the sketch, and places of suspects ---------------------------------------------------- */

/* An honest source shares its cell with one or more of so many attackers. */
double cell_shared(double attackers, double cells);

/*
 * A packet finds its cell hot though nobody is above the limit: the cell's packets come at random, `load` of the limit
 * on average, and so many at once are allowed. The waiting time of a queue of even service (M/D/1), by the exponential
 * that it tends to: with a burst below five, some hundredths off.
 */
double cell_hot(double load, double burst);

/* Distinct sources that charged cells, from how many cells moved; infinite where all did. */
struct estimate sources_of(double moved, double cells);

/* Cells that are busier than that are hot by chance too often: so many cells have it at so many packets. */
#define CELL_LOAD_MOST 0.7
double cells_for(double pps, double limit);

/* The share of so many suspects that find no place, where each may have one of the places of one bucket. */
double suspects_lost(double suspects, double buckets);
/* As many as there may be for that share; and the buckets that so many suspects need for it. */
double suspects_fit(double lost, double buckets);
double suspects_buckets(double lost, double suspects);

#endif
