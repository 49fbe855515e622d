// SPDX-License-Identifier: GPL-2.0-only
#include "observe/top_table.h"

#include <stdlib.h>
#include <string.h>

void top_add(struct top_entry *to, const struct top_entry *more)
{
	to->samples += more->samples;
	to->packets += more->packets;
	to->over += more->over;
	to->spread += more->spread;
}

void top_count(struct top_entry table[TOP_ENTRIES], const struct top_entry *sample)
{
	unsigned int rarest = 0;

	for (unsigned int i = 0; i < TOP_ENTRIES; i++) {
		if (table[i].family == sample->family && table[i].hi == sample->hi && table[i].lo == sample->lo) {
			top_add(&table[i], sample);
			return;
		}
		if (table[i].packets < table[rarest].packets)
			rarest = i;
	}
	table[rarest].over = table[rarest].packets;
	table[rarest].hi = sample->hi;
	table[rarest].lo = sample->lo;
	table[rarest].family = sample->family;
	top_add(&table[rarest], sample);
}

static int by_key(const void *a, const void *b)
{
	const struct top_entry *x = a, *y = b;

	if (x->family != y->family)
		return x->family < y->family ? -1 : 1;
	if (x->hi != y->hi)
		return x->hi < y->hi ? -1 : 1;
	return x->lo == y->lo ? 0 : x->lo < y->lo ? -1 : 1;
}

static int by_packets(const void *a, const void *b)
{
	const struct top_entry *x = a, *y = b;

	return x->packets > y->packets ? -1 : x->packets < y->packets ? 1 : by_key(a, b);
}

void top_best(struct top_entry out[TOP_ENTRIES], const struct top_entry *all, unsigned int n)
{
	unsigned int kept = 0;

	memset(out, 0, TOP_ENTRIES * sizeof(*out));
	for (unsigned int i = 0; i < n; i++) {
		unsigned int at = kept;

		while (at && by_packets(&all[i], &out[at - 1]) < 0)
			at--;
		if (at == TOP_ENTRIES)
			continue;
		kept += kept < TOP_ENTRIES;
		memmove(&out[at + 1], &out[at], (kept - 1 - at) * sizeof(*out));
		out[at] = all[i];
	}
}

void top_merge(struct top_entry out[TOP_ENTRIES], const struct top_entry *const *in, unsigned int n)
{
	struct top_entry all[TOP_TABLES * TOP_ENTRIES] = { 0 };
	unsigned int count = 0, merged = 0;

	for (unsigned int i = 0; i < n; i++)
		for (unsigned int e = 0; e < TOP_ENTRIES; e++)
			if (in[i][e].family)
				all[count++] = in[i][e];
	qsort(all, count, sizeof(*all), by_key);
	for (unsigned int i = 0; i < count; i++) {
		if (merged && !by_key(&all[merged - 1], &all[i]))
			top_add(&all[merged - 1], &all[i]);
		else
			all[merged++] = all[i];
	}
	qsort(all, merged, sizeof(*all), by_packets);
	memset(out, 0, TOP_ENTRIES * sizeof(*out));
	memcpy(out, all, (merged < TOP_ENTRIES ? merged : TOP_ENTRIES) * sizeof(*out));
}
