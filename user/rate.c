// SPDX-License-Identifier: GPL-2.0-only
#include "rate.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "filter.h"
#include "formulas.h"
#include "kernel.h"
#include "plan.h"

/* Up to so many blocks (256 MB) all are read. Keys are spread by a hash, so beyond that every so-manieth will do. */
#define BLOCKS_READ (1ULL << 22)

/* A right filter passes this once in a billion looks. */
#define SIGMAS 6

/* Sums over blocks: set bits, and the chance of a yes from a key that picks this block. */
struct sums {
	double blocks, bits, yes, yes_squared;
};

static void add(struct sums *s, unsigned int bits, double yes)
{
	s->blocks++;
	s->bits += bits;
	s->yes += yes;
	s->yes_squared += yes * yes;
}

/* Lanes: a key picks a block, and one bit in each of its words. */
static void sum_lanes(struct sums *s, const __u64 *filter, __u64 blocks, __u64 step)
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

void rate_measure(const struct generation *g, struct rate *rate)
{
	__u64 step = (g->filter_blocks + BLOCKS_READ - 1) / BLOCKS_READ;
	struct sums s = { 0 };
	double mean, variance;

	memset(rate, 0, sizeof(*rate));
	if (!g->filter_blocks)
		return;
	sum_lanes(&s, (const __u64 *)g->filter, g->filter_blocks, step);
	mean = s.yes / s.blocks;
	variance = s.yes_squared / s.blocks - mean * mean;
	rate->fill = s.bits / (s.blocks * BLOCK_BYTES * 8);
	rate->fpr = mean;
	rate->error = sqrt((variance > 0 ? variance : 0) / s.blocks);
	rate->sampled = step > 1;
}

double rate_asked(const struct settings *settings)
{
	return lanes_fpr(1e6, 1e6 * settings->bits_per_key / (BLOCK_BYTES * 8));
}

bool rate_passed(const struct rate *rate, double asked)
{
	return asked > 0 && rate->fpr > asked + SIGMAS * rate->error;
}

int rate_due(const struct settings *settings)
{
	struct candidate c;
	struct rate rate;
	int err = kernel_open_live(&c, false);

	if (err)
		return err == -ENOENT ? 0 : err;
	rate_measure(&c.g, &rate);
	kernel_release(&c);
	return rate_passed(&rate, rate_asked(settings));
}
