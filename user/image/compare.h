/* SPDX-License-Identifier: GPL-2.0-only */
/* How much two lists or images overlap. */
#ifndef IMAGE_COMPARE_H
#define IMAGE_COMPARE_H

#include "filter/formulas.h"
#include "image/image.h"
#include "sets/ranges.h"

/* One of the two: a set, or an image and what can be known of its set. */
struct side {
	const char *name;
	struct ranges set;
	struct image image;
	struct tag6 *tags;
	size_t tags_n;
	bool is_image;
};

/*
 * Of one family, in addresses or in keys: how many in each, and in both. from_a, from_b: the keys of that list are
 * counted which the image bans whole; what else the image holds is not known.
 */
struct overlap {
	ip6 a, b, both;
	bool from_a, from_b;
};

struct comparison {
	struct side a, b;
	bool exact4, exact6, keys6; /* keys6: prefixes as the roster keeps them, not addresses */
	struct overlap v4, v6;
	bool estimated;
	struct estimate keys_a, keys_b, keys_both, keys_any;
};

/* Opens the image of that name. 0 or -errno with the reason recorded, as for the next. */
int side_image(struct side *side);
/* Fills in all members behind the two sides. */
int compare_sides(struct comparison *c);
void side_free(struct side *side);

#endif
