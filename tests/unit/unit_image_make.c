// SPDX-License-Identifier: GPL-2.0-only
/* Making an image: what it takes over from one that it is to be like, and what becomes of it where a step fails. */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "filter/arrays.h"
#include "filter/build.h"
#include "filter/layout.h"
#include "filter/plan_sizes.h"
#include "filter/verify.h"
#include "image/contents.h"
#include "image/write.h"
#include "ktap.h"
#include "naive.h"
#include "sets/owned.h"

static int plan_err, build_err, check_err, write_err, built, written, released;
static struct generation planned, made;
static struct settings wanted_was;
static double asked;

static int given_plan(struct generation *g, const struct owned *owned, const struct settings *settings)
{
	(void)owned;
	*g = planned;
	wanted_was = *settings;
	return plan_err;
}

static int given_build(struct generation *g, const struct owned *owned, const struct build_how *how)
{
	(void)owned;
	made = *g;
	built += 1 + how->given_seeds;
	return build_err;
}

static int given_check(const struct generation *g, const struct owned *owned)
{
	(void)g;
	(void)owned;
	return check_err;
}

static int given_write(const char *path, const struct image_source *source, char id[IMAGE_ID_MAX])
{
	CHECK(!strcmp(path, "out") && source->lists_n == 3 && source->g->keys4 == planned.keys4, "another is written");
	asked = source->asked;
	*id = '\0';
	written++;
	return write_err;
}

static void given_release(struct generation *g)
{
	(void)g;
	released++;
}

#define plan_generation	   given_plan
#define build_until_placed given_build
#define check_arrays	   given_check
#define image_write	   given_write
#define arrays_release	   given_release
#include "image/make.c"

static struct generation like_what(void)
{
	struct generation g = { .hash = { 1, 3, 5, 7 },
				.tag = { 9, 11, 13, 15 },
				.gate6 = 1,
				.gate6_add = 17,
				.gate6_mul = 19,
				.gate6_log2 = 14,
				.filter = 1,
				.filter_blocks = 65,
				.filter_layout = LAYOUT_LANES2,
				.lanes_blocks = 66,
				.filter_k = 16,
				.roster4 = 1,
				.roster6 = 12345,
				.roster6_buckets = 2,
				.rungs = 2,
				.keys4 = 4,
				.keys6 = 8 };

	g.rung[0] = rung_of(64);
	g.rung[1] = rung_of(48);
	g.rung[1].salt = 23;
	return g;
}

static struct owned owned_of(const char *prefixes)
{
	char text[200], *rest = text, *prefix;
	struct ranges set = RANGES_EMPTY;
	struct owned owned = { 0 };
	unsigned int length;
	struct addr first;

	snprintf(text, sizeof(text), "%s", prefixes);
	while ((prefix = strsep(&rest, " ")))
		ENOUGH(!prefix_parse(prefix, strlen(prefix), &first, &length) &&
		       !ranges_add_prefix(&set, first, length));
	ENOUGH(!ranges_finish(&set) && !owned_take(&owned, &set, 1));
	ranges_free(&set);
	return owned;
}

static int make(const char *prefix, const struct settings *settings, const struct image *like)
{
	struct list_info *none = NULL;
	struct owned owned = owned_of(prefix);
	int err;

	built = written = released = 0;
	err = image_make("out", &owned, none, 3, settings, like);
	owned_free(&owned);
	return err;
}

static void begin(void)
{
	plan_err = build_err = check_err = write_err = 0;
	planned = (struct generation){ .keys4 = 7, .keys6 = 99, .gate4 = 1 };
}

static void alone(void)
{
	struct settings settings = SETTINGS_DEFAULT;
	int err;

	begin();
	settings.exact = false;
	CHECK(!make("45.0.0.1/32", &settings, NULL) && built == 1 && written == 1 && released == 1, "%d, %d, %d", built,
	      written, released);
	CHECK(!wanted_was.exact && made.keys6 == 99 && !made.filter && asked == layout_choose(&settings).fpr,
	      "it is changed");
	plan_err = -E2BIG;
	err = make("45.0.0.1/32", &settings, NULL);
	CHECK(err_is(err, E2BIG) && !built && !written, "no plan: %d", err);
	plan_err = 0;
	build_err = -EAGAIN;
	err = make("45.0.0.1/32", &settings, NULL);
	CHECK(err_is(err, EAGAIN) && !strcmp(reason(err), "no seeds were found under which every key has a place") &&
		      !written && !released,
	      "%s", reason(err));
	build_err = -ENOMEM;
	err = make("45.0.0.1/32", &settings, NULL);
	CHECK(err_is(err, ENOMEM) && !written && !released, "%d", err);
	build_err = 0;
	check_err = -EILSEQ;
	err = make("45.0.0.1/32", &settings, NULL);
	CHECK(err_is(err, EILSEQ) && strstr(reason(err), "a key was not found in the image") && !written &&
		      released == 1,
	      "%s", reason(err));
	check_err = 0;
	write_err = -ENOSPC;
	err = make("45.0.0.1/32", &settings, NULL);
	CHECK(err_is(err, ENOSPC) && written == 1 && released == 1, "%d", err);
}

static void like_another(void)
{
	struct settings settings = SETTINGS_DEFAULT;
	struct image_header header = { .asked = 0.125 };
	struct image like = { .header = &header, .g = like_what() };
	const struct generation *l = &like.g;
	int err;

	begin();
	err = make("2001:db8::/48", &settings, &like);
	CHECK(!err && built == 2 && written == 1 && asked == 0.125 && wanted_was.exact, "%s", reason(err));
	CHECK(!memcmp(&made.hash, &l->hash, sizeof(l->hash)) && !memcmp(&made.tag, &l->tag, sizeof(l->tag)),
	      "its seeds");
	CHECK(made.gate6 == 1 && made.gate6_add == 17 && made.gate6_mul == 19 && made.gate6_log2 == 14, "its gate");
	CHECK(made.filter == 1 && made.filter_blocks == 65 && made.filter_layout == LAYOUT_LANES2 &&
		      made.lanes_blocks == 66 && made.filter_k == 16,
	      "its filter");
	CHECK(made.roster6 == 1 && made.roster6_buckets == 2 && made.rungs == 2 &&
		      !memcmp(made.rung, l->rung, sizeof(l->rung)),
	      "its roster and rungs");
	CHECK(made.keys6 == 1 && made.keys4 == 7 && made.gate4 == 1 && !made.roster4, "%llu keys",
	      (unsigned long long)made.keys6);
	build_err = -EAGAIN;
	err = make("2001:db8::/48", &settings, &like);
	CHECK(err_is(err, EAGAIN) && strstr(reason(err), "that shape is too small for these"), "%s", reason(err));
	build_err = 0;
	like.g.roster6 = 0;
	err = make("45.0.0.1/32", &settings, &like);
	CHECK(!err && !wanted_was.exact && !made.roster6 && !made.keys6, "of one that is not exact");
	plan_err = -E2BIG;
	err = make("45.0.0.1/32", &settings, &like);
	CHECK(err_is(err, E2BIG) && !built, "no plan: %d", err);
}

/* How long prefixes may be, and how many keys they may become. */
static void fits(void)
{
	static const struct {
		const char *prefix;
		bool roster;
		int err;
		__u64 keys6;
	} known[] = {
		{ "2001:db8::/64", true, 0, 1 },
		{ "2001:db8::/65", true, EINVAL, 0 },
		{ "2001:db8::/63", true, 0, 2 },
		{ "2001:db8::/61", true, 0, 8 },
		{ "2001:db8::/60", true, E2BIG, 0 },
		{ "2001:db8::/48", true, 0, 1 },
		{ "2001:db8::/47", true, 0, 2 },
		{ "2001:db8::/44", true, E2BIG, 0 },
		{ "2001:db8::/50", false, 0, 16384 },
		{ "2001:db8::/49", false, 0, 32768 },
		{ "2001:db8::/32", false, E2BIG, 0 },
		{ "2001:db8::/33", false, 0, 32768 },
		/* As many as the filter has bits, and one more. */
		{ "2001:db8::/49 2001:db9::/55", false, 0, 33280 },
		{ "2001:db8::/49 2001:db9::/55 2001:dba::/64", false, E2BIG, 0 },
		{ "45.0.0.1/32", true, 0, 0 },
	};
	struct settings settings = SETTINGS_DEFAULT;
	struct image_header header = { .asked = 0.125 };
	int err;

	begin();
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct image like = { .header = &header, .g = like_what() };

		if (!known[i].roster)
			like.g.roster6 = 0;
		err = make(known[i].prefix, &settings, &like);
		CHECK(known[i].err ? err_is(err, known[i].err) && !built : !err && made.keys6 == known[i].keys6,
		      "%s: %s, %llu keys", known[i].prefix, reason(err), (unsigned long long)made.keys6);
	}
	for (int i = 0; i < 2; i++) {
		struct image like = { .header = &header, .g = like_what() };

		like.g.rungs = 1;
		like.g.rung[0] = rung_of(0);
		err = make(i ? "::/1" : "::/0", &settings, &like);
		CHECK(i ? err_is(err, EINVAL) : !err && made.keys6 == 1, "all of it, or half: %s", reason(err));
	}
	for (int i = 0; i < 3; i++) {
		struct image like = { .header = &header, .g = like_what() };

		like.g.rungs = i == 1 ? 0 : like.g.rungs;
		like.g.filter = i != 0;
		err = make(i == 2 ? "45.0.0.1/32" : "2001:db8::/48", &settings, &like);
		CHECK(i == 2 ? !err : err_is(err, EINVAL), "%d: %s", i, reason(err));
		if (i < 2)
			CHECK(strstr(reason(err), i ? "no rung for prefixes" : "has no filter"), "%s", reason(err));
	}
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "each step that fails", alone },
		{ "what it takes over", like_another },
		{ "prefixes of the rungs that there are", fits },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
