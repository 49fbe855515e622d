// SPDX-License-Identifier: GPL-2.0-only
#include "observe/replay_entries.h"

#include <errno.h>
#include <stdlib.h>

#include "bpf/decide.h"

void replay_addresses(const struct generation *g, const struct replay_source *const *who, size_t n, struct addr *addrs)
{
	for (size_t i = 0; i < n; i++) {
		__u32 ipv4;

		addrs[i] = (struct addr){ who[i]->num, who[i]->family };
		if (who[i]->family != 6)
			continue;
		addr_unmap(&addrs[i]);
		if (addrs[i].family == 4 && decide_carried(g, (__u32)addrs[i].num) & ANSWER_DROP)
			continue;
		addrs[i] = (struct addr){ who[i]->num, 6 };
		if (g->embedded && ipv4_within((__u64)(who[i]->num >> 64), (__u64)who[i]->num, &ipv4) &&
		    decide_carried(g, ipv4) & ANSWER_DROP)
			addrs[i] = (struct addr){ ipv4, 4 };
	}
}

static int by_entry(const void *a, const void *b)
{
	const struct replay_entry *x = a, *y = b;

	if (x->list != y->list)
		return x->list < y->list ? -1 : 1;
	if (x->family != y->family)
		return x->family - y->family;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return x->hi < y->hi ? -1 : x->hi > y->hi;
}

static int busier(const void *a, const void *b)
{
	const struct replay_entry *x = a, *y = b;

	if (x->dropped.packets != y->dropped.packets)
		return x->dropped.packets < y->dropped.packets ? 1 : -1;
	return by_entry(a, b);
}

/* The hit on whose account it was dropped. */
static const struct hit *hit_of(const struct explanation *e, size_t i, const struct replay_source *who)
{
	const struct traced *t = &e->traced[i];

	for (size_t h = 0; h < t->n; h++) {
		const struct list_info *list = &e->lists[t->hits[h].list];

		if (list_counts(list) && (who->by_filter || list->label == who->label))
			return &t->hits[h];
	}
	return NULL;
}

int replay_entries(const struct explanation *e, const struct replay_source *const *who, const struct addr *addrs,
		   size_t n, struct replay_entry **entries, size_t *entries_n)
{
	struct replay_entry *all = calloc(n + 1, sizeof(*all));
	size_t found = 0, kept = 0;

	*entries = all;
	*entries_n = 0;
	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct hit *hit = hit_of(e, i, who[i]);

		if (hit)
			all[found++] = (struct replay_entry){ .list = hit->list,
							      .family = addrs[i].family,
							      .lo = hit->lo,
							      .hi = hit->hi,
							      .line = hit->line,
							      .sources = 1,
							      .dropped = { who[i]->packets, who[i]->bytes } };
	}
	qsort(all, found, sizeof(*all), by_entry);
	for (size_t i = 0; i < found; i++) {
		if (!kept || by_entry(&all[kept - 1], &all[i])) {
			all[kept++] = all[i];
			continue;
		}
		all[kept - 1].sources++;
		all[kept - 1].dropped.packets += all[i].dropped.packets;
		all[kept - 1].dropped.bytes += all[i].dropped.bytes;
	}
	qsort(all, kept, sizeof(*all), busier);
	*entries_n = kept;
	return 0;
}
