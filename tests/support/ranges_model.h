/* SPDX-License-Identifier: GPL-2.0-only */
/* The naive set that range sets are compared with, for unit_ranges and fuzz_ranges. */
#ifndef RANGES_MODEL_H
#define RANGES_MODEL_H

#include <stdbool.h>
#include <string.h>

#include "ranges_have.h"

#ifndef UNIVERSE
#define UNIVERSE 512U
#endif

struct model {
	int family;
	unsigned int
		place; /* 0: the universe begins at the first address, 1: lies in between, 2: ends at the last one */
	bool in[UNIVERSE];
};

static struct addr model_addr(const struct model *model, unsigned int at)
{
	struct addr addr = { .family = model->family, .num = at };

	if (model->family == 4)
		addr.num += model->place == 0 ? 0 : model->place == 1 ? 0x0a0000a0 : (ip6)UINT32_MAX + 1 - UNIVERSE;
	else
		addr.num += model->place == 0 ? 0 : model->place == 1 ? ((ip6)0x20010db8 << 96) - 77 : -(ip6)UNIVERSE;
	return addr;
}

static void model_add(struct model *model, struct ranges *set, unsigned int lo, unsigned int hi)
{
	if (model->family == 4)
		ranges_add4(set, (uint32_t)model_addr(model, lo).num, (uint32_t)model_addr(model, hi).num);
	else
		ranges_add6(set, model_addr(model, lo).num, model_addr(model, hi).num);
	memset(model->in + lo, true, (hi - lo + 1) * sizeof(*model->in));
}

/* The widest prefix, by trying them all. */
static int model_covering(const struct model *model, unsigned int at)
{
	ip6 origin = model_addr(model, 0).num, num = model_addr(model, at).num;
	int width = model->family == 4 ? 32 : 128, best = -1;

	for (int length = width; length >= width - 10 && model->in[at]; length--) {
		ip6 size = (ip6)1 << (width - length), first = num / size * size;
		bool whole = first >= origin && first - origin <= UNIVERSE - size && size <= UNIVERSE;

		for (ip6 i = 0; whole && i < size; i++)
			whole = model->in[(unsigned int)(first - origin + i)];
		if (whole)
			best = length;
	}
	return best;
}

/* The prefixes of a set, taken together, are the set; each is the widest that holds its first address. */
static const char *model_compare_prefixes(const struct model *model, const struct ranges *set)
{
	ip6 origin = model_addr(model, 0).num;
	bool seen[UNIVERSE] = { 0 };
	size_t n = model->family == 4 ? set->n4 : set->n6;

	for (size_t i = 0; i < n; i++) {
		struct cut4 cut4 = { .done = model->family == 6 };
		struct cut6 cut6 = { .done = model->family == 4 };

		if (model->family == 4)
			cut4 = (struct cut4){ .lo = set->v4[i].lo, .hi = set->v4[i].hi };
		else
			cut6 = (struct cut6){ .lo = set->v6[i].lo, .hi = set->v6[i].hi };
		while (range4_next_prefix(&cut4) || range6_next_prefix(&cut6)) {
			ip6 at = (model->family == 4 ? cut4.first : cut6.first) - origin;
			unsigned int length = model->family == 4 ? cut4.length : cut6.length;
			ip6 size = addr_mask(model->family, length) + 1;

			if (at >= UNIVERSE || size > UNIVERSE - at)
				return "a prefix leaves the universe";
			if ((int)length != model_covering(model, (unsigned int)at))
				return "a prefix could be wider";
			for (ip6 k = at; k < at + size; k++) {
				if (seen[k])
					return "two prefixes overlap";
				seen[k] = true;
			}
		}
	}
	return memcmp(seen, model->in, sizeof(seen)) ? "the prefixes are another set" : NULL;
}

/* Does any address of the prefix lie in the set? Asked at one place in every length that fits into the universe. */
static bool model_agrees_touching(const struct model *model, const struct ranges *set, unsigned int i)
{
	unsigned int width = addr_width(model->family), size = 1;

	for (unsigned int length = width; size <= UNIVERSE; length--, size *= 2) {
		struct addr first = model_addr(model, i);
		bool any = false;

		if (first.num & (size - 1) || i + size > UNIVERSE)
			break;
		for (unsigned int k = i; k < i + size; k++)
			any |= model->in[k];
		if (ranges_touch(set, first, length) != any)
			return false;
	}
	return true;
}

/* NULL, or in what the two differ. */
static const char *model_compare(const struct model *model, const struct ranges *set)
{
	size_t members = 0, n = 0, found = model->family == 4 ? set->n4 : set->n6;

	for (unsigned int i = 0; i < UNIVERSE; i++) {
		members += model->in[i];
		n += model->in[i] && (!i || !model->in[i - 1]);
		if (ranges_have(set, model_addr(model, i)) != model->in[i])
			return "an address is in only one of the two";
		if (ranges_covering(set, model_addr(model, i)) != model_covering(model, i))
			return "the widest prefix is another";
		if (!model_agrees_touching(model, set, i))
			return "a prefix meets only one of the two";
	}
	if (found != n || (model->family == 4 ? set->n6 : set->n4))
		return "not in normal form";
	if (ranges_count4(set) != (model->family == 4 ? members : 0) ||
	    ranges_count6(set) != (model->family == 6 ? members : 0))
		return "the number of addresses is another";
	for (size_t i = 1; i < n; i++) {
		if (model->family == 4 ? set->v4[i].lo <= set->v4[i - 1].hi : set->v6[i].lo <= set->v6[i - 1].hi)
			return "not in order";
	}
	return model_compare_prefixes(model, set);
}

#endif
