// SPDX-License-Identifier: GPL-2.0-only
#include "filter/keys.h"

int keys_ipv6(const struct generation *g, const struct owned *owned,
	      int (*each)(void *arg, unsigned int rung, ip6 first, size_t entry), void *arg)
{
	int err = 0;

	for (size_t i = 0; i < owned->n6 && !err; i++) {
		struct cut6 cut = { .lo = owned->v6[i].lo, .hi = owned->v6[i].hi };

		while (!err && range6_next_prefix(&cut)) {
			unsigned int rung = (unsigned int)g->rungs - 1;
			__u64 pieces;
			ip6 step;

			while (g->rung[rung].length < cut.length)
				rung--;
			pieces = 1ULL << (g->rung[rung].length - cut.length);
			/* A rung of length 0 has one piece, and no step. */
			step = g->rung[rung].length ? (ip6)1 << (128 - g->rung[rung].length) : 0;
			for (__u64 p = 0; p < pieces && !err; p++)
				err = each(arg, rung, cut.first + p * step, i);
		}
	}
	return err;
}
