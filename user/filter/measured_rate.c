// SPDX-License-Identifier: GPL-2.0-only
#include "filter/measured_rate.h"

#include <math.h>
#include <string.h>

#include "bpf/filter.h"
#include "filter/layout.h"

/* Up to so many blocks (256 MB) all are read. Keys are spread by a hash, so in larger filters every n-th is enough. */
#define BLOCKS_READ (1ULL << 22)

/* A good filter exceeds this once in a billion measurements. */
#define SIGMAS 6

/* Sums over blocks: set bits, and the chance that a key which picks this block gets a yes. */
struct sums {
	double blocks, bits, bits_squared, yes, yes_squared;
};

static void add(struct sums *s, unsigned int bits, double yes)
{
	s->blocks++;
	s->bits += bits;
	s->bits_squared += (double)bits * bits;
	s->yes += yes;
	s->yes_squared += yes * yes;
}

static void sum(struct sums *s, const __u64 *filter, __u64 blocks, __u64 step)
{
	for (__u64 b = 0; b < blocks; b += step) {
		const __u64 *block = filter + b * FILTER_LANES;
		unsigned int bits = 0;
		double yes = 1;

		for (int i = 0; i < FILTER_LANES; i++) {
			unsigned int set = (unsigned int)__builtin_popcountll(block[i]);

			bits += set;
			yes *= set / 64.0;
		}
		add(s, bits, yes);
	}
}

/* Of n numbers, given their sum and that of their squares: the mean, and its standard error. */
static struct estimate mean_of(double all, double squares, double n)
{
	double mean = all / n, variance = squares / n - mean * mean;

	return (struct estimate){ mean, sqrt((variance > 0 ? variance : 0) / n) };
}

/* The rate of k that must all say yes. */
static struct estimate all_of(struct estimate one, double k)
{
	return (struct estimate){ pow(one.value, k), k * pow(one.value, k - 1) * one.error };
}

void rate_measure(const struct generation *g, struct rate *rate)
{
	__u64 step = (g->filter_blocks + BLOCKS_READ - 1) / BLOCKS_READ;
	double bits = BLOCK_BYTES * 8;
	struct sums s = { 0 };
	struct estimate fpr;

	memset(rate, 0, sizeof(*rate));
	if (!g->filter_blocks)
		return;
	sum(&s, (const __u64 *)g->filter, g->filter_blocks, step);
	/* Classic: k bits anywhere. Lanes: one block, or two that are independent. */
	if (g->filter_layout == LAYOUT_CLASSIC)
		fpr = all_of(mean_of(s.bits / bits, s.bits_squared / bits / bits, s.blocks), (double)g->filter_k);
	else
		fpr = all_of(mean_of(s.yes, s.yes_squared, s.blocks), g->filter_layout == LAYOUT_LANES2 ? 2 : 1);
	rate->fill = s.bits / (s.blocks * bits);
	rate->fpr = fpr.value;
	rate->error = fpr.error;
	rate->sampled = step > 1;
}

double rate_rungs(const struct generation *g)
{
	const __u8 *gate = (const __u8 *)g->gate6;
	double open = 0, asked = 0;

	for (__u64 i = 0; gate && i < 1ULL << g->gate6_log2; i++) {
		open += gate[i] != 0;
		asked += __builtin_popcount(gate[i]);
	}
	return open > 0 ? asked / open : (double)g->rungs;
}

double rate_verdict(const struct generation *g, double fpr, int family, double rungs)
{
	if (g->roster4 || g->roster6)
		return 0;
	if (family == 4)
		return g->keys4 ? fpr : 0;
	return g->keys6 ? -expm1(rungs * log1p(-fpr)) : 0;
}

double rate_asked(const struct settings *settings, const struct generation *g)
{
	if (!settings_auto(settings) || !g->capacity)
		return layout_choose(settings).fpr;
	return fpr_expected(layout_shape(g), (double)g->capacity);
}

bool rate_passed(const struct rate *rate, double asked)
{
	return asked > 0 && rate->fpr > asked + SIGMAS * rate->error;
}
