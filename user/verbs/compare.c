// SPDX-License-Identifier: GPL-2.0-only
/* compare: how much two lists or images overlap; of files it needs no rights and no kernel */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/filter.h"
#include "filter/formulas.h"
#include "image/image.h"
#include "image/contents.h"
#include "base/log.h"
#include "base/out.h"
#include "sets/reader.h"
#include "state/state.h"
#include "verbs/verbs.h"

/* One of the two: a set, or an image and what can be told of its set. */
struct side {
	const char *name;
	struct ranges set;
	struct image image;
	struct tag6 *tags;
	size_t tags_n;
	bool is_image;
};

/*
 * Of one family, in addresses or in keys: how many in each, and in both. One way: of the keys of a list, those that the
 * image of the other side bans whole; what else that holds, tags do not tell.
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

static int read_loaded(struct side *side)
{
	struct state *state = NULL;
	struct list_info list;
	int err = state_open(&state, false);

	if (!err)
		err = state_list_get(state, side->name, &list);
	if (!err)
		err = state_list_set(state, side->name, &side->set);
	state_close(state);
	return err;
}

static int read_image(struct side *side)
{
	int err = image_open(&side->image, side->name, side->name, true);

	side->is_image = !err;
	if (!err && image_is_exact(&side->image))
		err = image_banned4(&side->image, &side->set);
	return err ? err : image_tags6(&side->image, &side->tags, &side->tags_n);
}

/* A loaded list goes before a file of the same name; "./name" is the file, "-" standard input. */
static int read_side(struct side *side, const struct reader_options *reading, const char *name)
{
	struct reader_report report;
	char error[READER_TEXT_MAX];
	int err = -ENOENT;

	side->name = name;
	if (strcmp(name, "-") != 0) {
		if (!strchr(name, '/'))
			err = read_loaded(side);
		if (!err || (!err_is(err, ENOENT) && access(name, F_OK)))
			return err;
		if (image_is(name))
			return read_image(side);
		if (access(name, F_OK) && !strchr(name, '/'))
			return because(-ENOENT, "'%s' is neither a loaded list nor a file", name);
	}
	err = reader_read(name, reading, &side->set, &report, error);
	return err ? because(err, "%s", error) : 0;
}

static void side_free(struct side *side)
{
	ranges_free(&side->set);
	free(side->tags);
	if (side->is_image)
		image_close(&side->image);
}

static double set_bits(const __u64 *a, const __u64 *b, __u64 words)
{
	double set = 0;

	for (__u64 i = 0; i < words; i++)
		set += __builtin_popcountll(a[i] | b[i]);
	return set;
}

/* Only bits: what their numbers let one conclude. */
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
		if (a->tags[i].tag == b->tags[j].tag) {
			both++;
			i++;
			j++;
		} else if (a->tags[i].tag < b->tags[j].tag) {
			i++;
		} else {
			j++;
		}
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

/* Whatever its unit is. */
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

static int compare(struct comparison *c)
{
	const struct side *a = &c->a, *b = &c->b;
	struct ranges both;
	int err = ranges_intersect(&both, &a->set, &b->set);

	if (err)
		return err;
	c->exact4 = knows4(a) && knows4(b);
	if (c->exact4)
		c->v4 = (struct overlap){ ranges_count4(&a->set), ranges_count4(&b->set), ranges_count4(&both), false,
					  false };
	if ((!has6(a) || !has6(b)) && counts6(a) && counts6(b)) {
		c->exact6 = true;
		c->keys6 = (a->is_image && has6(a)) || (b->is_image && has6(b));
		c->v6 = (struct overlap){ count6(a), count6(b), 0, false, false };
	} else if (!a->is_image && !b->is_image) {
		c->exact6 = true;
		c->v6 = (struct overlap){ ranges_count6(&a->set), ranges_count6(&b->set), ranges_count6(&both), false,
					  false };
	} else if (a->is_image && b->is_image && c->exact4 && images_same_tags(&a->image, &b->image)) {
		c->exact6 = c->keys6 = true;
		c->v6 = (struct overlap){ a->tags_n, b->tags_n, tags_in_both(a, b), false, false };
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

/* A share, or NAN of nothing. */
static double share(ip6 part, ip6 whole)
{
	return whole ? (double)part / (double)whole : NAN;
}

static double jaccard(const struct overlap *o)
{
	return (double)o->a + (double)o->b > 0 ? (double)o->both / ((double)o->a + (double)o->b - (double)o->both)
					       : NAN;
}

static json_t *real(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *only_json(ip6 n, ip6 both, bool known)
{
	char buf[NUMBER_TEXT_MAX];

	return known ? json_string(number_text(buf, n - both)) : json_null();
}

static json_t *overlap_json(const struct overlap *o, bool known, const char *unit)
{
	char a[NUMBER_TEXT_MAX], b[NUMBER_TEXT_MAX], both[NUMBER_TEXT_MAX];

	if (!known)
		return json_null();
	return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o}", "unit", unit, "a", number_text(a, o->a), "b",
			 number_text(b, o->b), "both", number_text(both, o->both), "only_a",
			 only_json(o->a, o->both, !o->from_b), "only_b", only_json(o->b, o->both, !o->from_a),
			 "jaccard", real(o->from_a || o->from_b ? NAN : jaccard(o)));
}

static json_t *estimate_json(const struct estimate *e)
{
	return json_pack("{s:o, s:o}", "keys", real(e->value), "error", real(e->error));
}

static int report_json(const struct comparison *c)
{
	json_t *filter = json_null();

	if (c->estimated)
		filter = json_pack("{s:o, s:o, s:o, s:o}", "a", estimate_json(&c->keys_a), "b",
				   estimate_json(&c->keys_b), "both", estimate_json(&c->keys_both), "any",
				   estimate_json(&c->keys_any));
	return out_json(json_pack("{s:o, s:o, s:o, s:o, s:o}", "a", out_text(c->a.name), "b", out_text(c->b.name),
				  "ipv4", overlap_json(&c->v4, c->exact4, "addresses"), "ipv6",
				  overlap_json(&c->v6, c->exact6, c->keys6 ? "keys" : "addresses"), "filter", filter));
}

static void print_overlap(const char *family, const struct overlap *o, const char *unit)
{
	char a[NUMBER_TEXT_MAX], b[NUMBER_TEXT_MAX], both[NUMBER_TEXT_MAX], only_a[NUMBER_TEXT_MAX],
		only_b[NUMBER_TEXT_MAX];

	if (o->from_a || o->from_b) {
		printf("%s: of %s keys of %c, %c bans %s whole (%.1f %%)\n", family,
		       number_text(a, o->from_a ? o->a : o->b), o->from_a ? 'A' : 'B', o->from_a ? 'B' : 'A',
		       number_text(both, o->both), share(o->both, o->from_a ? o->a : o->b) * 100);
		return;
	}
	printf("%s: A %s, B %s %s; both %s", family, number_text(a, o->a), number_text(b, o->b), unit,
	       number_text(both, o->both));
	if (o->a && o->b)
		printf(" (%.1f %% of A, %.1f %% of B)", share(o->both, o->a) * 100, share(o->both, o->b) * 100);
	printf(", only A %s, only B %s", number_text(only_a, o->a - o->both), number_text(only_b, o->b - o->both));
	if (o->a || o->b)
		printf(", Jaccard %.3f", jaccard(o));
	putchar('\n');
}

static int report_text(const struct comparison *c)
{
	printf("A: %s\nB: %s\n", c->a.name, c->b.name);
	if (c->exact4)
		print_overlap("IPv4", &c->v4, "addresses");
	if (c->exact6 && (c->v6.a || c->v6.b))
		print_overlap("IPv6", &c->v6, c->keys6 ? "keys" : "addresses");
	if (!c->exact6 && !c->estimated)
		puts("IPv6: not known: an image keeps tags of prefixes, which only images of the same seeds share,\n"
		     "and in which a list of not too many keys can be looked up unless there are shadow lists");
	if (c->estimated)
		printf("by the filters' bits, keys: A %.0f +- %.0f, B %.0f +- %.0f; both %.0f +- %.0f, any %.0f +- %.0f\n",
		       c->keys_a.value, c->keys_a.error, c->keys_b.value, c->keys_b.error, c->keys_both.value,
		       c->keys_both.error, c->keys_any.value, c->keys_any.error);
	return out_end();
}

#define AT(member) .target = offsetof(struct reader_options, member)

const struct option_spec compare_options[] = {
	{ "format", .type = OPTION_TEXT, AT(format), .value = "FORMAT", .words_of = reader_formats,
	  .does = "read files as that, whatever they look like" },
	{ "skip-bad", AT(skip_bad), .does = "leave out lines that cannot be read" },
	OPTIONS_END(struct reader_options),
};

int verb_compare(const struct call *call)
{
	const char *a = call->operands[0], *b = call->operands[1];
	struct comparison c = { 0 };
	int err, status;

	if (!strcmp(a, "-") && !strcmp(b, "-"))
		return fail("compare: %s", call->verb->asks);
	err = read_side(&c.a, call->options, a);
	if (!err)
		err = read_side(&c.b, call->options, b);
	if (!err)
		err = compare(&c);
	if (err)
		status = fail("compare: %s", reason(err));
	else
		status = call->context->json ? report_json(&c) : report_text(&c);
	side_free(&c.a);
	side_free(&c.b);
	return status;
}
