/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What theory expects of a filter, by another way than user/filter/formulas.c, and how far one filter may be from it.
 *
 * Lanes: with n keys in B blocks a block holds c of them, binomially distributed with p = 1 / B. One of its lanes then
 * has a given bit set with u(c) = 1 - (63/64)^c, and all eight lanes say yes to a key that is not in the set with
 * u(c)^8: the expected rate is the mean of that over c. A filter is one draw: its own rate is the mean over its blocks
 * of the product over the lanes of the share of bits that are set, and varies around the expected one with the variance
 * of a block's rate over B, less what follows from c alone: the sum of all c is n in every filter. The second moment of
 * a lane's share is that two random bits are both set, the same one with 1/64:
 * u(c) / 64 + 63/64 (1 - 2 (63/64)^c + (62/64)^c).
 *
 * lanes2: its own rate is the square of that, with 2n keys.
 *
 * Classic: of m bits a share f = 1 - (1 - 1/m)^(kn) is set, with the variance (e^-l - (1 + l) e^-2l) / m, l = kn / m,
 * and its own rate is the k-th power of that share.
 */
#ifndef EXPECTED_H
#define EXPECTED_H

#include <math.h>

#include "bpf/abi.h"
#include "filter/arrays.h"

struct expected {
	double rate;	 /* of wrong yeses */
	double variance; /* of one filter's own rate around it */
};

static inline struct expected expect_lanes(double keys, double blocks)
{
	double mean = keys / blocks, first = 0, second = 0, with_c = 0;
	double from = floor(fmax(0, mean - 14 * sqrt(mean) - 20)), last = fmin(keys, mean + 14 * sqrt(mean) + 40);

	for (double c = from; c <= last; c++) {
		double weight = exp(lgamma(keys + 1) - lgamma(c + 1) - lgamma(keys - c + 1) - c * log(blocks) +
				    (keys - c) * log1p(-1 / blocks));
		double clear = pow(63.0 / 64, c), both = 1 - 2 * clear + pow(62.0 / 64, c);

		first += weight * pow(1 - clear, 8);
		with_c += weight * (c - mean) * pow(1 - clear, 8);
		second += weight * pow((1 - clear) / 64 + both * 63 / 64, 8);
	}
	return (struct expected){ first, (second - first * first - with_c * with_c / mean) / blocks };
}

static inline struct expected expect_classic(double keys, double bits, double k)
{
	double share = -expm1(k * keys * log1p(-1 / bits)), load = k * keys / bits;
	double variance = (exp(-load) - (1 + load) * exp(-2 * load)) / bits;

	return (struct expected){ pow(share, k) + k * (k - 1) / 2 * pow(share, k - 2) * variance,
				  pow(k * pow(share, k - 1), 2) * variance };
}

static inline struct expected expect(const struct generation *g, double keys)
{
	double blocks = (double)g->filter_blocks;
	struct expected one;

	if (g->filter_layout == LAYOUT_CLASSIC)
		return expect_classic(keys, blocks * BLOCK_BYTES * 8, (double)g->filter_k);
	one = expect_lanes(keys * (g->filter_layout == LAYOUT_LANES2 ? 2 : 1), blocks);
	if (g->filter_layout == LAYOUT_LANES)
		return one;
	return (struct expected){ one.rate * one.rate + one.variance, 4 * one.rate * one.rate * one.variance };
}

#endif
