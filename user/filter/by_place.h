/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keys in the order of where they belong in a large array. In their own order each is in another page, which the
 * processor has to look for first; so a million at a time are put together by a 256th part of the array.
 */
#ifndef FILTER_BY_PLACE_H
#define FILTER_BY_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/hash.h"

#define BY_PLACE_PARTS 256

struct by_place {
	__u64 *came, *ordered; /* NULL: each key is used as it comes */
	__u8 *part;
	size_t n;
	unsigned int shift; /* from a place to its part */
};

/* Smaller arrays are not worth it: the processor finds its way in them, whatever the order. Tests ask for less. */
extern __u64 by_place_from;

/* For an array of so many places and bytes; where it is small, or memory is short, keys are used as they come. */
void by_place_begin(struct by_place *p, __u64 places, __u64 bytes);
void by_place_end(struct by_place *p);
/* Those that came, into order. */
void by_place_order(struct by_place *p);
bool by_place_full(const struct by_place *p);

typedef int (*by_place_use)(void *arg, __u64 key);

/* Uses all that came. What is not 0 ends it. Inline, so that a constant use is inlined, too. */
inline_always int by_place_flush(struct by_place *p, by_place_use use, void *arg)
{
	int err = 0;

	by_place_order(p);
	for (size_t i = 0; i < p->n && !err; i++)
		err = use(arg, p->ordered[i]);
	p->n = 0;
	return err;
}

inline_always int by_place_put(struct by_place *p, __u64 key, __u64 place, by_place_use use, void *arg)
{
	if (!p->came)
		return use(arg, key);
	p->came[p->n] = key;
	p->part[p->n++] = (__u8)(place >> p->shift);
	return by_place_full(p) ? by_place_flush(p, use, arg) : 0;
}

#endif
