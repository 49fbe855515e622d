/* SPDX-License-Identifier: GPL-2.0-only */
/* Sets into arrays, and the proof that they are in. */
#ifndef BUILD_H
#define BUILD_H

struct generation;
struct owned;
struct ranges;

/* New secret seeds, and the rungs' salts. 0 or -errno. */
int build_seeds(struct generation *g);

/*
 * Fills zeroed arrays; the members of g that stand for maps are their addresses. Returns -EAGAIN where a key found no
 * place in the roster: other seeds, or more buckets, and zeroed arrays.
 */
int build_arrays(const struct generation *g, const struct owned *owned);

/*
 * Looks every key up with the data path's own decision. Returns 0, or -EILSEQ when an answer is wrong: then these
 * arrays must never go live.
 */
int build_check(const struct generation *g, const struct owned *owned);

/*
 * Without a roster: 0 when no allowed address is dropped by accident, -EAGAIN when one is, -E2BIG with the reason
 * recorded when there are too many to be sure.
 */
int build_check_allowed(const struct generation *g, const struct ranges *allowed);

#endif
