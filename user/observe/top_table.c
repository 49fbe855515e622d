// SPDX-License-Identifier: GPL-2.0-only
#include "observe/top_table.h"

#include <stdlib.h>
#include <string.h>

void top_count(struct top_entry table[TOP_ENTRIES], const struct top_entry *who)
{
	unsigned int rarest = 0;

	for (unsigned int i = 0; i < TOP_ENTRIES; i++) {
		if (table[i].family == who->family && table[i].hi == who->hi && table[i].lo == who->lo) {
			table[i].count++;
			return;
		}
		if (table[i].count < table[rarest].count)
			rarest = i;
	}
	table[rarest] = (struct top_entry){ .hi = who->hi,
					    .lo = who->lo,
					    .family = who->family,
					    .count = table[rarest].count + 1,
					    .error = table[rarest].count };
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

static int by_count(const void *a, const void *b)
{
	const struct top_entry *x = a, *y = b;

	return x->count == y->count ? by_key(a, b) : x->count > y->count ? -1 : 1;
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
		if (merged && !by_key(&all[merged - 1], &all[i])) {
			all[merged - 1].count += all[i].count;
			all[merged - 1].error += all[i].error;
		} else {
			all[merged++] = all[i];
		}
	}
	qsort(all, merged, sizeof(*all), by_count);
	memset(out, 0, TOP_ENTRIES * sizeof(*out));
	memcpy(out, all, (merged < TOP_ENTRIES ? merged : TOP_ENTRIES) * sizeof(*out));
}
