/* SPDX-License-Identifier: GPL-2.0-only */
/* Sets into arrays. */
#ifndef FILTER_BUILD_H
#define FILTER_BUILD_H

#include <stdbool.h>

struct generation;
struct owned;

/* New secret seeds, and the rungs' salts. 0 or -errno. */
int build_seeds(struct generation *g);

/*
 * Fills zeroed arrays; the members of g that stand for maps are their addresses. Returns -EAGAIN where a key found no
 * place in the roster: other seeds, or more buckets, and zeroed arrays.
 */
int build_arrays(const struct generation *g, const struct owned *owned);

/* What is not given is the default: new seeds, and memory of our own. */
struct build_how {
	bool given_seeds; /* they stay, and the IPv6 roster keeps its size */
	/* Zeroed arrays for a planned generation, whose members become their addresses; and their release. */
	int (*take)(void *arg, struct generation *g);
	void (*release)(void *arg);
	/* A last check of what was built. -EAGAIN: try other seeds. */
	int (*judge)(void *arg, const struct generation *g);
	void *arg;
};

/* Seeds and arrays for a plan: tries other seeds, then more buckets, until every key has a place. */
int build_until_placed(struct generation *g, const struct owned *owned, const struct build_how *how);

#endif
