/* SPDX-License-Identifier: GPL-2.0-only */
/* What the formulas of filter/formulas.h come near: exact forms, bounds and ideals, which only tests need. */
#ifndef FORMULAS_EXACT_H
#define FORMULAS_EXACT_H

#include <math.h>

#include "filter/formulas.h"

/*
 * The mean of (i / bits)^k over the number i of set bits, which is distributed as Stirling numbers of the second kind
 * say (Bose et al. 2008). NAN beyond CLASSIC_EXACT_MAX bits: it takes k * keys * bits steps.
 */
#define CLASSIC_EXACT_MAX 4096

/*
 * Probabilities instead of Stirling numbers, by the same recursion: with one more hash, i bits stay set where it met
 * one of them. All terms are positive, so nothing is lost to rounding.
 */
static inline double classic_fpr_exact(unsigned int keys, unsigned int bits, unsigned int k)
{
	double chance[CLASSIC_EXACT_MAX + 1] = { 1 }, fpr = 0;

	if (!bits || bits > CLASSIC_EXACT_MAX)
		return NAN;
	for (unsigned long hashes = 0; hashes < (unsigned long)keys * k; hashes++) {
		unsigned long most = hashes + 1 < bits ? hashes + 1 : bits;

		for (unsigned long i = most; i > 0; i--)
			chance[i] = (chance[i] * (double)i + chance[i - 1] * (double)(bits - i + 1)) / bits;
		chance[0] = 0;
	}
	for (unsigned int i = 0; i <= bits; i++)
		fpr += chance[i] * pow((double)i / bits, k);
	return fpr;
}

/* Never less than the truth: (1 - e^(-k (keys + 1/2) / (bits - 1)))^k (Goel and Gupta 2010). */
static inline double classic_fpr_bound(double keys, double bits, unsigned int k)
{
	return bits > 1 ? classic_fpr(keys + 0.5, bits - 1, k) : 1;
}

/* The best k, and the bits a key for a rate with it, as real numbers. */
static inline double classic_k_ideal(double bits)
{
	return bits * M_LN2;
}

static inline double classic_bits_ideal(double fpr)
{
	return -log2(fpr) / M_LN2;
}

/* As lanes_fpr(), but over the binomial distribution. */
static inline double lanes_fpr_exact(double keys, double blocks)
{
	double likeliest = floor(keys / blocks), weights = 0, sum = 0;

	if (blocks <= 1)
		return pow(-expm1(keys * log1p(-1 / 64.0)), 8);
	for (double c = likeliest, weight = 1; weight > 1e-30; c++) {
		weights += weight;
		sum += weight * pow(-expm1(c * log1p(-1 / 64.0)), 8);
		weight *= (keys - c) / (c + 1) / (blocks - 1);
	}
	for (double c = likeliest, weight = 1; c > 0 && weight > 1e-30;) {
		weight *= c * (blocks - 1) / (keys - c + 1);
		weights += weight;
		sum += weight * pow(-expm1(--c * log1p(-1 / 64.0)), 8);
	}
	return sum / weights;
}

#endif
