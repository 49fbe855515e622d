// SPDX-License-Identifier: GPL-2.0-only
#include "filter/by_place.h"

#include <stdlib.h>

#include "base/memory.h"

#define MANY  (1 << 20)
#define BYTES (MANY * (2 * sizeof(__u64) + sizeof(__u8)))

__u64 by_place_from = 64 << 20;

void by_place_begin(struct by_place *p, __u64 places, __u64 bytes)
{
	*p = (struct by_place){ 0 };
	if (bytes < by_place_from)
		return;
	p->came = malloc(BYTES);
	if (!p->came)
		return;
	large_pages(p->came, BYTES);
	p->ordered = p->came + MANY;
	p->part = (__u8 *)(p->ordered + MANY);
	while ((places - 1) >> p->shift >= BY_PLACE_PARTS)
		p->shift++;
}

void by_place_end(struct by_place *p)
{
	free(p->came);
	p->came = NULL;
}

bool by_place_full(const struct by_place *p)
{
	return p->n == MANY;
}

void by_place_order(struct by_place *p)
{
	size_t at[BY_PLACE_PARTS + 1] = { 0 };

	for (size_t i = 0; i < p->n; i++)
		at[p->part[i] + 1]++;
	for (unsigned int part = 0; part < BY_PLACE_PARTS; part++)
		at[part + 1] += at[part];
	for (size_t i = 0; i < p->n; i++)
		p->ordered[at[p->part[i]]++] = p->came[i];
}
