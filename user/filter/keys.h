/* SPDX-License-Identifier: GPL-2.0-only */
/* Which keys a set comes to in a generation: the one walk for filling, checking and editing arrays. */
#ifndef FILTER_KEYS_H
#define FILTER_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/hash.h"
#include "sets/owned.h"

/* Called for each /24 and host. What is not 0 ends the walk. */
struct keys_ipv4_calls {
	/* filter: the host is asked of the filter; otherwise the roster holds it for its label alone */
	int (*host)(void *arg, __u32 addr, __u8 label, bool filter);
	int (*net24)(void *arg, __u32 net24, enum gate4 state, __u8 label);
};

inline_always int keys_each_host(struct range4 range, __u8 label, bool filter, const struct keys_ipv4_calls *calls,
				 void *arg)
{
	int err = 0;

	for (__u64 addr = range.lo; addr <= range.hi && !err; addr++)
		err = calls->host(arg, (__u32)addr, label, filter);
	return err;
}

/* Inline, so that constant calls are inlined, too. */
inline_always int keys_ipv4(const struct generation *g, const struct owned *owned, const struct keys_ipv4_calls *calls,
			    void *arg)
{
	struct net24_walk walk = { 0 };
	int err = 0;

	for (size_t i = 0; i < owned->n4 && !g->gate4 && !err; i++)
		err = keys_each_host(owned->v4[i], owned->label4[i], true, calls, arg);
	while (g->gate4 && !err && owned_next_net24(owned, &walk)) {
		bool whole = walk.run || walk.banned == 256, minorities = !walk.run && whole && g->minorities;
		__u8 major = walk.run ? owned->label4[walk.from] : whole ? owned_majority24(owned, &walk) : 0;

		for (__u32 net = walk.first; net <= walk.last && !err; net++)
			err = calls->net24(arg, net, minorities ? GATE4_MIXED : whole ? GATE4_ALL : GATE4_SOME, major);
		for (size_t i = walk.from; i < walk.until && (!whole || minorities) && !err; i++)
			if (!whole || owned->label4[i] != major)
				err = keys_each_host(owned_clip24(owned, i, walk.first), owned->label4[i], !whole,
						     calls, arg);
	}
	return err;
}

/* Of the key that a rung has for this address, masked to its length. */
inline_always __u64 key6_hash(const struct generation *g, unsigned int rung, ip6 first)
{
	return hash_ipv6(g->hash, g->rung[rung].salt, (__u64)(first >> 64), (__u64)first);
}

/* Every IPv6 key: each prefix cut into pieces of the next rung's length. */
int keys_ipv6(const struct generation *g, const struct owned *owned,
	      int (*each)(void *arg, unsigned int rung, ip6 first, size_t entry), void *arg);

#endif
