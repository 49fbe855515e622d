// SPDX-License-Identifier: GPL-2.0-only
/* Every range's beginning and end, sorted, and walked over once: where one set alone is open, that is its own. */
#include "sets/alone.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Which sets are open: how many, and the sum of their numbers, which is the one's where it is one. */
struct open {
	size_t n, sum;
};

static void turn(struct open *open, size_t set, bool begins)
{
	open->n += begins ? 1 : (size_t)-1;
	open->sum += begins ? set : (size_t)-set;
}

/* IPv4: the address, up to 2^32; then the set; then whether it begins there. */
#define EDGE(at, set, begins) ((uint64_t)(at) << 9 | (uint64_t)(set) << 1 | (begins))

static int by_number(const void *a, const void *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (x > y) - (x < y);
}

static int alone4(const struct ranges *sets, size_t n, struct alone *alone)
{
	struct open open = { 0 };
	size_t edges_n = 0, at = 0;
	uint64_t *edges, before = 0;

	for (size_t i = 0; i < n; i++)
		edges_n += 2 * sets[i].n4;
	edges = malloc((edges_n + 1) * sizeof(*edges));
	if (!edges)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		for (size_t r = 0; r < sets[i].n4; r++) {
			edges[at++] = EDGE(sets[i].v4[r].lo, i, 1);
			edges[at++] = EDGE((uint64_t)sets[i].v4[r].hi + 1, i, 0);
		}
	}
	qsort(edges, edges_n, sizeof(*edges), by_number);
	for (size_t e = 0; e < edges_n; e++) {
		if (open.n == 1)
			alone[open.sum].v4 += (edges[e] >> 9) - before;
		before = edges[e] >> 9;
		turn(&open, edges[e] >> 1 & (ALONE_MOST - 1), edges[e] & 1);
	}
	free(edges);
	return 0;
}

struct edge6 {
	ip6 at; /* the last address before an end */
	size_t set;
	bool begins;
};

/* Of one address all beginnings come first: an end is behind it. */
static int by_place(const void *a, const void *b)
{
	const struct edge6 *x = a, *y = b;

	return x->at != y->at ? (x->at > y->at) - (x->at < y->at) : y->begins - x->begins;
}

static int alone6(const struct ranges *sets, size_t n, struct alone *alone)
{
	struct open open = { 0 };
	size_t edges_n = 0, at = 0;
	struct edge6 *edges;
	ip6 before = 0; /* the first address that is not counted yet */

	for (size_t i = 0; i < n; i++)
		edges_n += 2 * sets[i].n6;
	edges = malloc((edges_n + 1) * sizeof(*edges));
	if (!edges)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		for (size_t r = 0; r < sets[i].n6; r++) {
			edges[at++] = (struct edge6){ sets[i].v6[r].lo, i, true };
			edges[at++] = (struct edge6){ sets[i].v6[r].hi, i, false };
		}
	}
	qsort(edges, edges_n, sizeof(*edges), by_place);
	for (size_t e = 0; e < edges_n; e++) {
		ip6 from = edges[e].begins ? edges[e].at : edges[e].at + 1;

		if (open.n == 1)
			alone[open.sum].v6 += from - before;
		before = from;
		turn(&open, edges[e].set, edges[e].begins);
	}
	free(edges);
	return 0;
}

int ranges_alone(const struct ranges *sets, size_t n, struct alone *alone)
{
	memset(alone, 0, n * sizeof(*alone));
	return n > ALONE_MOST ? -E2BIG : alone4(sets, n, alone) ?: alone6(sets, n, alone);
}
