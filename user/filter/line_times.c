// SPDX-License-Identifier: GPL-2.0-only
#include "filter/line_times.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/abi.h"
#include "filter/formulas.h"

/* A branch that was foreseen wrongly. */
#define BRANCH_NS 13.0
/* Packets come in bursts, and what several of them wait for is waited for at once. */
#define SHARE 0.7

/* What a machine may say. */
#define NS_LEAST   0.3
#define SIZES_FEW  4	/* with fewer, nothing is known of what does not fit into a cache near the CPU */
#define NOISE_MOST 1.5	/* the second shortest round over the shortest */
#define DIP_MOST   0.75 /* more memory is never faster, but for noise */

/* Sizes that are looked at. With fewer bits nothing was faster, however it was measured. */
#define BITS_LEAST 10.0
#define BITS_STEP  0.25

/* Another size is worth so much of the time. */
#define WORTH 0.95

struct line_times line_times_usual(void)
{
	return (struct line_times){ .n = LINE_SIZES, .ns = { 9, 10, 11, 14, 24, 43 } };
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

bool line_times_judge(struct line_times *times, const line_rounds ns[], unsigned int n)
{
	struct line_times t = { .n = n, .measured = true, .kept = times->kept };
	double most = 0;

	*times = line_times_usual();
	times->kept = t.kept;
	if (n < SIZES_FEW || n > LINE_SIZES)
		return false;
	for (unsigned int i = 0; i < n; i++) {
		line_rounds round;

		memcpy(round, ns[i], sizeof(round));
		qsort(round, LINE_ROUNDS, sizeof(*round), by_size);
		if (!(round[0] >= NS_LEAST && round[0] <= LINE_NS_MOST && round[0] >= most * DIP_MOST &&
		      round[1] <= round[0] * NOISE_MOST))
			return false;
		most = fmax(most, round[0]);
		t.ns[i] = most;
	}
	*times = t;
	return true;
}

/* Between the sizes by their logarithm; beyond the last, each doubling adds FURTHER of what the one before did. */
#define FURTHER 0.75
double line_ns(const struct line_times *t, double bytes)
{
	double at = log2(bytes / (double)LINE_SIZE(0)), last = t->n - 1;
	unsigned int i;

	if (!(at > 0))
		return t->ns[0];
	if (at >= last)
		return t->ns[t->n - 1] +
		       (t->ns[t->n - 1] - t->ns[t->n - 2]) * FURTHER / (1 - FURTHER) * (1 - pow(FURTHER, at - last));
	i = (unsigned int)at;
	return t->ns[i] + (t->ns[i + 1] - t->ns[i]) * (at - i);
}

/* Four lanes, a branch, four more, a branch, and the roster with its own. */
double kept_ns(const struct line_times *t, double keys, double bits_per_key, double roster_bytes)
{
	double blocks = BLOCK_BYTES * 8, some = blocks / bits_per_key * 1e4;

	return line_ns(t, keys * bits_per_key / 8) * SHARE + lanes_fpr_half(some, 1e4) * BRANCH_NS +
	       lanes_fpr(some, 1e4) * (line_ns(t, roster_bytes) * SHARE + BRANCH_NS);
}

bool line_times_matter(double keys)
{
	return keys * BITS_USUAL / 8 > (double)LINE_SIZE(0);
}

double line_times_bits(const struct line_times *t, double keys, double roster_bytes)
{
	double kept = t->kept > 0 ? t->kept : BITS_USUAL, best = kept;
	double least = kept_ns(t, keys, kept, roster_bytes) * WORTH;

	if (!line_times_matter(2 * keys))
		return BITS_USUAL;
	if (!line_times_matter(keys))
		return kept;
	for (int step = 0; step <= (int)((BITS_USUAL - BITS_LEAST) / BITS_STEP); step++) {
		double bits = BITS_USUAL - step * BITS_STEP, ns = kept_ns(t, keys, bits, roster_bytes);

		if (ns < least) {
			least = ns;
			best = bits;
		}
	}
	return best;
}

double line_times_round(double bits_per_key)
{
	return fmin(fmax(round(bits_per_key / BITS_STEP) * BITS_STEP, BITS_LEAST), BITS_USUAL);
}
