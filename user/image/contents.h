/* SPDX-License-Identifier: GPL-2.0-only */
/* What the arrays of an image hold: IPv4 addresses, and IPv6 as the tags that its roster keeps. */
#ifndef IMAGE_CONTENTS_H
#define IMAGE_CONTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "sets/ranges.h"

struct image;

/* Without a roster hosts are only in the filter, which does not say who they are. */
bool image_is_exact(const struct image *image);

/* Each label's IPv4 addresses; every address is on one account. 0 or -ENOMEM; free them in any case. */
int image_sets4(const struct image *image, struct ranges sets[LABELS]);
void image_sets_free(struct ranges sets[LABELS]);

/* All that it drops, without what it only counts. */
int image_banned4(const struct image *image, struct ranges *banned);

struct tag6 {
	__u64 tag;
	__u64 bucket; /* one of its two */
	__u8 label;
};

/* The IPv6 keys, by tag; free() the array. */
int image_tags6(const struct image *image, struct tag6 **tags, size_t *n);

/*
 * Of the keys that an IPv6 set comes to on the image's rungs, how many it bans whole. False where that is unknown: it
 * has no roster, a shadow may hide a part, or they are too many to look at.
 */
bool image_covers6(const struct image *image, const struct ranges *set, uint64_t *keys, uint64_t *banned);

/* Do equal keys have equal bits in both filters? And equal tags and buckets in both IPv6 rosters? */
bool images_same_filter(const struct image *a, const struct image *b);
bool images_same_tags(const struct image *a, const struct image *b);

#endif
