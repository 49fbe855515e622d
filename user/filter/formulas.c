// SPDX-License-Identifier: GPL-2.0-only
#include "filter/formulas.h"

#include <math.h>

#include "bpf/abi.h"
#include "bpf/filter.h"

#define LANE_BITS  64.0
#define BLOCK_BITS (FILTER_LANES * LANE_BITS)
#define NEGLIGIBLE 1e-30
#define BITS_MOST  1024.0 /* a key: no use needs more */

double classic_fpr(double keys, double bits, unsigned int k)
{
	return pow(-expm1(-(double)k * keys / bits), k);
}

unsigned int classic_k(double bits)
{
	double low = floor(bits * M_LN2);

	if (low < 1)
		return 1;
	if (low >= CLASSIC_K_MAX)
		return CLASSIC_K_MAX;
	return (unsigned int)low +
	       (classic_fpr(1, bits, (unsigned int)low + 1) < classic_fpr(1, bits, (unsigned int)low));
}

double classic_bits(double fpr, unsigned int k)
{
	double best = INFINITY;

	if (k)
		return -(double)k / log1p(-pow(fpr, 1.0 / k));
	for (k = 1; k <= CLASSIC_K_MAX; k++)
		best = fmin(best, classic_bits(fpr, k));
	return best;
}

/* So many lanes of a block of so many keys say yes. */
static double block_fpr(double keys, double lanes)
{
	return pow(-expm1(keys * log1p(-1 / LANE_BITS)), lanes);
}

/*
 * The mean of block_fpr() over the keys in a block. Weights start at 1 for the likeliest number, follow from each other
 * and are divided by their sum: no factorial, and no exponential that vanishes.
 */
static double lanes_yes(double keys, double blocks, double lanes)
{
	double mean = keys / blocks, likeliest = floor(mean), weights = 0, sum = 0;

	if (keys <= 0)
		return 0;
	for (double c = likeliest, weight = 1; weight > NEGLIGIBLE;) {
		weights += weight;
		sum += weight * block_fpr(c, lanes);
		weight *= mean / ++c;
	}
	for (double c = likeliest, weight = c / mean; c > 0 && weight >= NEGLIGIBLE; weight *= c / mean) {
		weights += weight;
		sum += weight * block_fpr(--c, lanes);
	}
	return sum / weights;
}

double lanes_fpr(double keys, double blocks)
{
	return lanes_yes(keys, blocks, FILTER_LANES);
}

double lanes_fpr_half(double keys, double blocks)
{
	return lanes_yes(keys, blocks, FILTER_LANES / 2.0);
}

double lanes2_fpr(double keys, double blocks)
{
	return pow(lanes_fpr(2 * keys, blocks), 2);
}

static double bits_for(double fpr, double (*rate)(double keys, double blocks))
{
	double low = 1, high = BITS_MOST;

	/* By then no number is between them. */
	for (int i = 0; i < 62; i++) {
		double bits = (low + high) / 2;

		*(rate(BLOCK_BITS, bits) > fpr ? &low : &high) = bits;
	}
	return high;
}

double lanes_bits(double fpr)
{
	return bits_for(fpr, lanes_fpr);
}

double lanes2_bits(double fpr)
{
	return bits_for(fpr, lanes2_fpr);
}

double fpr_expected(struct filter_shape shape, double keys)
{
	double blocks = shape.k / FILTER_LANES;

	if (!shape.lanes)
		return classic_fpr(keys, shape.bits, (unsigned int)shape.k);
	return pow(lanes_fpr(keys * blocks, shape.bits / BLOCK_BITS), blocks);
}

double fill_expected(struct filter_shape shape, double keys)
{
	return -expm1(-shape.k * keys / shape.bits);
}

/* --- Back from the bits to the keys ------------------------------------------------------------------------------- */

/* Hashes for each bit of the array, by which all of this is counted: a bit stays clear with e^-load. */
static double load_of(struct filter_shape shape, double set)
{
	return -log1p(-set / shape.bits);
}

/*
 * The covariance of the logarithms of two filters' shares of clear bits, times the number of bits, where `load` is that
 * of the keys they have in common. If the hashes of each bit were Poisson, it would be e^load - 1, from the bit itself.
 * That the number of hashes is known subtracts `load`. In lanes, bits of two lanes of a block see the same keys, which
 * adds e^(load / 64) - 1 for each of the 448 in other lanes, and eight times as much is known.
 */
static double spread(struct filter_shape shape, double load)
{
	if (!shape.lanes)
		return expm1(load) - load;
	return expm1(load) + (BLOCK_BITS - LANE_BITS) * expm1(load / LANE_BITS) - FILTER_LANES * load;
}

static struct estimate from_load(struct filter_shape shape, double load, double variance)
{
	if (isinf(load))
		return (struct estimate){ INFINITY, INFINITY };
	return (struct estimate){ load * shape.bits / shape.k, sqrt(fmax(variance, 0) * shape.bits) / shape.k };
}

struct estimate estimate_keys(struct filter_shape shape, double set)
{
	double load = load_of(shape, set);

	return from_load(shape, load, spread(shape, load));
}

/*
 * |A and B| = |A| + |B| - |A or B|, and the variance of that sum: A and the union have A in common, A and B have what
 * we look for.
 */
struct estimate estimate_intersection(struct filter_shape shape, double set_a, double set_b, double set_or)
{
	double a = load_of(shape, set_a), b = load_of(shape, set_b), any = load_of(shape, set_or), both = a + b - any;

	if (isinf(any))
		return from_load(shape, INFINITY, 0);
	both = fmax(both, 0);
	return from_load(shape, both,
			 spread(shape, any) + 2 * spread(shape, both) - spread(shape, a) - spread(shape, b));
}

/* --- The detector ------------------------------------------------------------------------------------------------- */

double cell_shared(double attackers, double cells)
{
	return -expm1(attackers * log1p(-1 / cells));
}

/*
 * With even service of 1 the waiting time is above x with C e^(-rate x), where load (e^rate - 1) = rate > 0 and
 * C = (1 - load) / (load e^rate - 1). A packet that waits for more than all that is allowed but itself finds the cell
 * hot.
 */
double cell_hot(double load, double burst)
{
	double low = 0, high = 1;

	if (load <= 0)
		return 0;
	if (load >= 1)
		return 1;
	while (load * expm1(high) < high)
		high *= 2;
	for (int i = 0; i < 100; i++) {
		double rate = (low + high) / 2;

		*(load * expm1(rate) < rate ? &low : &high) = rate;
	}
	return fmin(1, (1 - load) / (load * exp(high) - 1) * exp(-high * fmax(burst - 1, 0)));
}

/* Linear counting: a cell is a bit of a filter with one hash. */
struct estimate sources_of(double moved, double cells)
{
	return estimate_keys((struct filter_shape){ cells, 1, false }, moved);
}

double cells_for(double pps, double limit)
{
	return ceil(pps / limit / CELL_LOAD_MOST);
}

/* The mean of what is above the places of a bucket, where its suspects are Poisson. */
double suspects_lost(double suspects, double buckets)
{
	double mean = suspects / buckets, chance = exp(-mean), held = 0, rest = 1;

	if (suspects <= 0)
		return 0;
	for (unsigned int n = 0; n < SUSPECTS_OF_BUCKET; n++) {
		held += n * chance;
		rest -= chance;
		chance *= mean / (n + 1);
	}
	return fmax(0, 1 - (held + SUSPECTS_OF_BUCKET * rest) / mean);
}

double suspects_fit(double lost, double buckets)
{
	double low = 0, high = 1e6 * buckets;

	for (int i = 0; i < 100; i++) {
		double suspects = (low + high) / 2;

		*(suspects_lost(suspects, buckets) > lost ? &high : &low) = suspects;
	}
	return low;
}

/* The share depends on the suspects of a bucket alone. */
double suspects_buckets(double lost, double suspects)
{
	return ceil(suspects / suspects_fit(lost, 1));
}
