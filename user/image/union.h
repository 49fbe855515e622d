/* SPDX-License-Identifier: GPL-2.0-only */
/* An image of what two others hold. */
#ifndef IMAGE_UNION_H
#define IMAGE_UNION_H

struct image;

/*
 * What either of them bans: the OR of their filters, and their gates and rosters merged. Where both hold an address, it
 * is on a's account; lists of one name become one. -EINVAL where shapes or seeds differ.
 */
int image_union(const char *path, const struct image *a, const struct image *b);

#endif
