// SPDX-License-Identifier: GPL-2.0-only
#include "keys.h"

#include "owned.h"

/* Calls `each` for every host of the range. */
static int each_host(struct range4 range, __u8 label, bool filter,
		     int (*each)(void *arg, __u32 addr, __u8 label, bool filter), void *arg)
{
	int err = 0;

	for (__u64 addr = range.lo; addr <= range.hi && !err; addr++)
		err = each(arg, (__u32)addr, label, filter);
	return err;
}

int keys_ipv4(const struct generation *g, const struct owned *owned, const struct keys_ipv4_calls *calls, void *arg)
{
	struct net24_walk walk = { 0 };
	int err = 0;

	while (!err && owned_next_net24(owned, &walk)) {
		if (g->gate4 && walk.run) {
			for (__u32 net = walk.first; net <= walk.last && !err; net++)
				err = calls->net24(arg, net, GATE4_ALL, owned->label4[walk.from]);
		} else if (!g->gate4 && walk.run) {
			err = each_host((struct range4){ walk.first << 8, walk.last << 8 | 255 },
					owned->label4[walk.from], true, calls->host, arg);
		} else {
			bool whole = g->gate4 && walk.banned == 256, minorities = whole && g->minorities;
			__u8 major = whole ? owned_majority24(owned, &walk) : 0;

			if (g->gate4)
				err = calls->net24(arg, walk.first,
						   minorities ? GATE4_MIXED
						   : whole    ? GATE4_ALL
							      : GATE4_SOME,
						   major);
			for (size_t i = walk.from; i < walk.until && !err; i++)
				if (!whole || (minorities && owned->label4[i] != major))
					err = each_host(owned_clip24(owned, i, walk.first), owned->label4[i], !whole,
							calls->host, arg);
		}
	}
	return err;
}

int keys_ipv6(const struct generation *g, const struct owned *owned,
	      int (*each)(void *arg, unsigned int rung, ip6 first, size_t entry), void *arg)
{
	int err = 0;

	for (size_t i = 0; i < owned->n6 && !err; i++) {
		ip6 lo = owned->v6[i].lo, first;
		unsigned int length;
		bool done = false;

		while (!err && range6_next_prefix(&lo, owned->v6[i].hi, &done, &first, &length)) {
			unsigned int rung = (unsigned int)g->rungs - 1;
			__u64 pieces;
			ip6 step;

			while (g->rung[rung].length < length)
				rung--;
			pieces = 1ULL << (g->rung[rung].length - length);
			/* A rung of length 0 has one piece, and no step. */
			step = g->rung[rung].length ? (ip6)1 << (128 - g->rung[rung].length) : 0;
			for (__u64 p = 0; p < pieces && !err; p++)
				err = each(arg, rung, first + p * step, i);
		}
	}
	return err;
}
