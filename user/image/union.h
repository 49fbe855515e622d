/* SPDX-License-Identifier: GPL-2.0-only */
/* Images made without a kernel: from sets, and from two others. */
#ifndef IMAGE_UNION_H
#define IMAGE_UNION_H

#include <stddef.h>

struct image;
struct list_info;
struct owned;
struct settings;

/*
 * An image of these sets, whose labels are those of the lists. `like`: NULL, or whose seeds and shape it takes, so that
 * the two can be united. 0 or -errno with the reason recorded.
 */
int image_make(const char *path, const struct owned *owned, const struct list_info *lists, size_t n,
	       const struct settings *settings, const struct image *like);

/*
 * What either of them bans: the OR of their filters, and their gates and rosters merged. Where both hold an address, it
 * is on a's account; lists of one name become one. -EINVAL where shapes or seeds differ.
 */
int image_union(const char *path, const struct image *a, const struct image *b);

#endif
