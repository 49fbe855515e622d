/* SPDX-License-Identifier: GPL-2.0-only */
/* Sets into arrays. */
#ifndef FILTER_BUILD_H
#define FILTER_BUILD_H

struct generation;
struct owned;

/* New secret seeds, and the rungs' salts. 0 or -errno. */
int build_seeds(struct generation *g);

/*
 * Fills zeroed arrays; the members of g that stand for maps are their addresses. Returns -EAGAIN where a key found no
 * place in the roster: other seeds, or more buckets, and zeroed arrays.
 */
int build_arrays(const struct generation *g, const struct owned *owned);

#endif
