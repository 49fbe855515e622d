/* SPDX-License-Identifier: GPL-2.0-only */
/* Made lists, and addresses that are on them or not. A seed makes the same list again. */
#ifndef LISTS_H
#define LISTS_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sets/address.h"
#include "lookup.h"
#include "ranges_have.h"

#define LIST_SHARES 3 /* a mix comes from several lists, so that labels matter */

struct prefix {
	struct addr first;
	unsigned int length;
};

struct list {
	int family;
	const char *path; /* of a file that it comes from; NULL: it is made */
	bool mix;	  /* of prefix lengths; otherwise hosts */
	size_t n;
	struct prefix *at;
	struct ranges set, share[LIST_SHARES]; /* all of it, and the lists that it comes from */
	uint64_t state;
};

static inline uint64_t list_random(struct list *list)
{
	uint64_t x = (list->state += 0x9e3779b97f4a7c15ULL);

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

/* About as many IPv6 networks have been given out as /32s; traffic and bans come from the same ones. */
#define NETS6 (1u << 16)

static inline ip6 list_address(struct list *list)
{
	uint64_t net;

	if (list->family == 4)
		return list_random(list) >> 32;
	net = (list_random(list) % NETS6 * 0x9e3779b1u) >> 3 & 0x1fffffff;
	return (ip6)((0x20000000 | net) << 32 | list_random(list) >> 32) << 64 | list_random(list);
}

struct share {
	unsigned int percent, length, last; /* lengths from and to */
};

/* As public blocklists have them: mostly hosts and /24s; for IPv6 what providers are given and what they hand out. */
static const struct share shares4[] = { { 60, 32, 32 }, { 10, 25, 31 }, { 22, 24, 24 }, { 7, 20, 23 }, { 1, 16, 19 } };
static const struct share shares6[] = { { 4, 29, 29 },	{ 10, 32, 32 }, { 12, 36, 44 }, { 34, 48, 48 },
					{ 20, 56, 60 }, { 15, 64, 64 }, { 5, 128, 128 } };

static inline unsigned int list_length(struct list *list)
{
	const struct share *share = list->family == 4 ? shares4 : shares6;
	unsigned int at = list_random(list) % 100;

	if (!list->mix)
		return addr_width(list->family);
	for (; at >= share->percent; share++)
		at -= share->percent;
	return share->length + (unsigned int)(list_random(list) % (share->last - share->length + 1));
}

/* One prefix of that family a line, and nothing else; lines beyond the first n are not read. */
static inline int list_read(struct list *list)
{
	FILE *file = fopen(list->path, "r");
	char line[PREFIX_TEXT_MAX];
	size_t n = 0;

	while (file && n < list->n && fgets(line, sizeof(line), file)) {
		struct prefix *prefix = &list->at[n++];

		if (prefix_parse(line, strcspn(line, "\n"), &prefix->first, &prefix->length) ||
		    prefix->first.family != list->family)
			return -EINVAL;
	}
	if (!file)
		return -errno;
	fclose(file);
	list->n = n;
	return n ? 0 : -ENODATA;
}

static inline int list_make(struct list *list)
{
	int err = 0;

	list->at = malloc(list->n * sizeof(*list->at));
	if (!list->at)
		return -ENOMEM;
	if (list->path)
		err = list_read(list);
	for (size_t i = 0; i < list->n && !err; i++) {
		struct prefix *prefix = &list->at[i];

		if (!list->path) {
			prefix->length = list_length(list);
			prefix->first.family = list->family;
			prefix->first.num = list_address(list) & ~addr_mask(list->family, prefix->length);
		}
		err = ranges_add_prefix(&list->set, prefix->first, prefix->length);
		if (!err)
			err = ranges_add_prefix(&list->share[list->mix ? i % LIST_SHARES : 0], prefix->first,
						prefix->length);
	}
	if (!err)
		err = ranges_finish(&list->set);
	for (unsigned int i = 0; i < LIST_SHARES && !err; i++)
		err = ranges_finish(&list->share[i]);
	return err;
}

static inline void list_free(struct list *list)
{
	free(list->at);
	ranges_free(&list->set);
	for (unsigned int i = 0; i < LIST_SHARES; i++)
		ranges_free(&list->share[i]);
}

enum traffic { TRAFFIC_PASS, TRAFFIC_NEAR, TRAFFIC_DROP };

/* Banned: anywhere in an entry. Clean: from anywhere, or "near", from the network of an entry. */
static inline struct addr list_sample(struct list *list, enum traffic traffic)
{
	for (;;) {
		struct addr addr = { list_address(list), list->family };
		const struct prefix *prefix = &list->at[list_random(list) % list->n];
		ip6 mask =
			addr_mask(list->family, traffic == TRAFFIC_DROP || prefix->length < 32 ? prefix->length : 32);

		if (traffic != TRAFFIC_PASS)
			addr.num = prefix->first.num | (addr.num & mask);
		if (traffic == TRAFFIC_NEAR)
			addr.num = (prefix->first.num & ~mask) | (addr.num & mask);
		if (ranges_have(&list->set, addr) == (traffic == TRAFFIC_DROP))
			return addr;
	}
}

#endif
