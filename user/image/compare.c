// SPDX-License-Identifier: GPL-2.0-only
#include "image/compare.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "bpf/filter.h"
#include "image/contents.h"

int side_image(struct side *side)
{
	int err = image_open(&side->image, side->name, side->name, true);

	side->is_image = !err;
	if (!err && image_is_exact(&side->image))
		err = image_banned4(&side->image, &side->set);
	return err ? err : image_tags6(&side->image, &side->tags, &side->tags_n);
}

void side_free(struct side *side)
{
	ranges_free(&side->set);
	free(side->tags);
	image_close(&side->image);
}

static double set_bits(const __u64 *a, const __u64 *b, __u64 words)
{
	double set = 0;

	for (__u64 i = 0; i < words; i++)
		set += __builtin_popcountll(a[i] | b[i]);
	return set;
}

/* Without rosters: from the numbers of bits. */
static void estimate(struct comparison *c)
{
	const struct generation *g = &c->a.image.g;
	const __u64 *a = (const __u64 *)g->filter, *b = (const __u64 *)c->b.image.g.filter;
	__u64 words = g->filter_blocks * FILTER_LANES;
	struct filter_shape shape = { (double)words * 64, (double)g->filter_k, g->filter_layout != LAYOUT_CLASSIC };
	double set_a = set_bits(a, a, words), set_b = set_bits(b, b, words), any = set_bits(a, b, words);

	c->estimated = true;
	c->keys_a = estimate_keys(shape, set_a);
	c->keys_b = estimate_keys(shape, set_b);
	c->keys_any = estimate_keys(shape, any);
	c->keys_both = estimate_intersection(shape, set_a, set_b, any);
}

static size_t tags_in_both(const struct side *a, const struct side *b)
{
	size_t both = 0;

	for (size_t i = 0, j = 0; i < a->tags_n && j < b->tags_n;) {
		__u64 x = a->tags[i].tag, y = b->tags[j].tag;

		both += x == y;
		i += x <= y;
		j += y <= x;
	}
	return both;
}

static bool knows4(const struct side *side)
{
	return !side->is_image || image_is_exact(&side->image);
}

static bool has6(const struct side *side)
{
	return side->is_image ? side->image.g.keys6 > 0 : side->set.n6 > 0;
}

static bool counts6(const struct side *side)
{
	return !side->is_image || !side->image.g.keys6 || side->image.g.roster6;
}

static ip6 count6(const struct side *side)
{
	return side->is_image ? side->tags_n : ranges_count6(&side->set);
}

static bool covers(struct comparison *c)
{
	const struct side *list = c->a.is_image ? &c->b : &c->a, *image = c->a.is_image ? &c->a : &c->b;
	uint64_t keys, banned;

	if (c->a.is_image == c->b.is_image || !image_covers6(&image->image, &list->set, &keys, &banned))
		return false;
	c->v6 = (struct overlap){ .both = banned, .from_a = list == &c->a, .from_b = list == &c->b };
	c->v6.a = c->v6.from_a ? keys : image->tags_n;
	c->v6.b = c->v6.from_b ? keys : image->tags_n;
	return true;
}

static struct overlap exactly(ip6 a, ip6 b, ip6 both)
{
	return (struct overlap){ .a = a, .b = b, .both = both };
}

int compare_sides(struct comparison *c)
{
	const struct side *a = &c->a, *b = &c->b;
	struct ranges both;
	int err = ranges_intersect(&both, &a->set, &b->set);

	if (err)
		return err;
	c->exact4 = knows4(a) && knows4(b);
	if (c->exact4)
		c->v4 = exactly(ranges_count4(&a->set), ranges_count4(&b->set), ranges_count4(&both));
	if ((!has6(a) || !has6(b)) && counts6(a) && counts6(b)) {
		c->exact6 = true;
		c->keys6 = (a->is_image && has6(a)) || (b->is_image && has6(b));
		c->v6 = exactly(count6(a), count6(b), 0);
	} else if (!a->is_image && !b->is_image) {
		c->exact6 = true;
		c->v6 = exactly(ranges_count6(&a->set), ranges_count6(&b->set), ranges_count6(&both));
	} else if (a->is_image && b->is_image && c->exact4 && images_same_tags(&a->image, &b->image)) {
		c->exact6 = c->keys6 = true;
		c->v6 = exactly(a->tags_n, b->tags_n, tags_in_both(a, b));
	} else if (covers(c)) {
		c->exact6 = c->keys6 = true;
	}
	ranges_free(&both);
	if (!(c->exact4 && c->exact6) && a->is_image && b->is_image && images_same_filter(&a->image, &b->image))
		estimate(c);
	if (!c->exact4 && !c->estimated)
		return because(
			-EINVAL,
			"%s and %s cannot be compared: one has no roster, and their filters differ in shape or seed",
			a->name, b->name);
	return 0;
}
