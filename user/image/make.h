/* SPDX-License-Identifier: GPL-2.0-only */
/* An image of sets, made without a kernel. */
#ifndef IMAGE_MAKE_H
#define IMAGE_MAKE_H

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

#endif
