// SPDX-License-Identifier: GPL-2.0-only
/* The steps by which two images are united: each of them fails once, and then nothing is written, and nothing is left.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "filter/arrays.h"
#include "filter/build.h"
#include "filter/fill_roster.h"
#include "filter/plan_sizes.h"
#include "filter/verify.h"
#include "image/contents.h"
#include "image/image.h"
#include "image/write.h"
#include "sets/owned.h"

static unsigned int steps, fails_at, written, released, tags_asked;
static int fails_with;
static const char *what_failed;
static __u64 united[2 * BLOCK_BYTES / 8], bits[2][BLOCK_BYTES / 8], filter_is[BLOCK_BYTES / 8];
static struct tag6 tag_of[3]; /* of a, of b, and one that nobody has */
static unsigned int lost_at;  /* of the looks for them: it finds the last */

static int step(const char *name)
{
	if (++steps != fails_at)
		return 0;
	what_failed = name;
	return fails_with;
}

static int given_lists(const struct image *image, struct list_info **lists, size_t *n)
{
	int err = step("the lists");

	(void)image;
	*n = 0;
	*lists = err ? NULL : malloc(1);
	return err;
}

static int given_sets4(const struct image *image, struct ranges sets[LABELS])
{
	(void)image;
	memset(sets, 0, LABELS * sizeof(*sets));
	return step("what it holds");
}

static int given_settle(struct owned *owned, const struct account *accounts, size_t n, const struct ranges *allowed)
{
	(void)accounts;
	(void)n;
	(void)allowed;
	memset(owned, 0, sizeof(*owned));
	return step("settled");
}

static int given_sizes(struct generation *g, const struct counts *n, const struct settings *settings)
{
	(void)n;
	(void)settings;
	*g = (struct generation){ .gate4 = 0 };
	return step("the sizes");
}

static int given_build(struct generation *g, const struct owned *owned, const struct build_how *how)
{
	(void)owned;
	memset(united, 0, sizeof(united));
	memset(filter_is, 0, sizeof(filter_is));
	g->roster6 = (__u64)(uintptr_t)united;
	g->filter = (__u64)(uintptr_t)filter_is;
	g->gate4 = g->gate6 = 0;
	return step(how->given_seeds ? "built" : "built under other seeds");
}

static int given_take(struct generation *g)
{
	return given_build(g, NULL, &(struct build_how){ .given_seeds = true });
}

static void given_release(struct generation *g)
{
	(void)g;
	released++;
}

static struct image images[2];

static int given_tags6(const struct image *image, struct tag6 **tags, size_t *n)
{
	int err = step("the tags");

	*tags = err ? NULL : malloc(sizeof(**tags));
	*n = *tags != NULL;
	if (*tags)
		**tags = tag_of[++tags_asked == lost_at ? 2 : image == &images[1]];
	return err;
}

static int given_enrol(const struct generation *g, __u64 bucket, __u64 tag, __u8 label)
{
	(void)label;
	((struct bucket6 *)(uintptr_t)g->roster6)[bucket].key[1] = tag;
	return step("a place");
}

static int given_check(const struct generation *g, const struct owned *owned)
{
	(void)g;
	(void)owned;
	return step("the check");
}

static __u64 keys_are[2], prefixes_are, minorities_are;

static int given_image_write(const char *path, const struct image_source *source, char id[IMAGE_ID_MAX])
{
	(void)path;
	(void)id;
	keys_are[0] = source->g->keys4;
	keys_are[1] = source->g->keys6;
	prefixes_are = source->g->prefixes6;
	minorities_are = source->g->minorities;
	written++;
	return step("the file");
}

#define image_lists	   given_lists
#define image_sets4	   given_sets4
#define owned_settle	   given_settle
#define plan_sizes	   given_sizes
#define build_until_placed given_build
#define arrays_take	   given_take
#define arrays_release	   given_release
#define image_tags6	   given_tags6
#define enrol_tag6	   given_enrol
#define check_arrays	   given_check
#define image_write	   given_image_write
#include "image/union.c"

#include "ktap.h"

/* Two united of IPv6 in each; a key of a, one of b, and one of nobody. */
static void begins(bool exact)
{
	static struct image_header heads[2];
	static __u64 rosters[2][2 * BLOCK_BYTES / 8];

	steps = fails_at = written = released = tags_asked = 0;
	lost_at = 0;
	what_failed = "nothing";
	memset(rosters, 0, sizeof(rosters));
	for (unsigned int i = 0; i < 3; i++)
		tag_of[i] = (struct tag6){ .tag = 100 + i, .bucket = i % 2, .label = 1 };
	for (unsigned int i = 0; i < 2; i++) {
		heads[i].asked = 0.5;
		images[i] = (struct image){ .header = &heads[i],
					    .g = { .filter = (__u64)(uintptr_t)bits[i],
						   .filter_blocks = 1,
						   .keys4 = 3,
						   .keys6 = 1,
						   .prefixes6 = 20 + 7 * i,
						   .minorities = exact ? 4 : 0,
						   .roster4 = exact,
						   .roster6 = exact ? (__u64)(uintptr_t)rosters[i] : 0,
						   .roster6_buckets = exact ? 2 : 0 } };
		bits[i][i] = i + 1;
		rosters[i][0] = i ? 0 : tag_of[0].tag;
	}
}

static int unites(bool exact, unsigned int at, int with)
{
	begins(exact);
	fails_at = at;
	fails_with = with;
	return image_union("to", &images[0], &images[1]);
}

static void in_full(void)
{
	for (int exact = 0; exact < 2; exact++) {
		int err = unites(exact, 0, 0);

		CHECK(!err && written == 1 && released == 1, "with rosters %d: %s", exact, reason(err));
		CHECK(filter_is[0] == 1 && filter_is[1] == 2 && !filter_is[2], "with rosters %d: other bits", exact);
		CHECK(exact || (keys_are[0] == 6 && keys_are[1] == 2), "%llu and %llu keys", keys_are[0], keys_are[1]);
		/* The labels of either's mixed networks are settled anew, and here there are none. */
		CHECK(prefixes_are == 47 && !minorities_are, "with rosters %d: %llu prefixes, %llu minorities", exact,
		      prefixes_are, minorities_are);
		CHECK(exact ? united[0] == 100 && united[9] == 101 : !united[0], "with rosters %d: other keys", exact);
	}
}

static void each_fails(void)
{
	for (int exact = 0; exact < 2; exact++) {
		unsigned int all = unites(exact, 0, 0) ? 0 : steps;

		CHECK(all == (exact ? 14 : 4), "with rosters %d: %u steps", exact, all);
		for (unsigned int i = 1; i <= all; i++) {
			int err = unites(exact, i, -EIO);

			CHECK(err_is(err, EIO), "with rosters %d, %s fails: %s", exact, what_failed, reason(err));
			CHECK(written == (i == all) && released == 1, "%s fails: written %u times, released %u times",
			      what_failed, written, released);
			err = unites(exact, i, -EILSEQ);
			CHECK(err_is(err, EILSEQ) && !strstr(reason(err), "a key was not found in the union") ==
							     (!exact || i < 3 || i == all),
			      "with rosters %d, %s fails: %s", exact, what_failed, reason(err));
			err = unites(exact, i, -EAGAIN);
			CHECK(err_is(err, EAGAIN) && !strstr(reason(err), "their IPv6 roster is too small") ==
							     (strcmp(what_failed, "a place") != 0 &&
							      (strcmp(what_failed, "the tags") != 0 || i > 10)),
			      "with rosters %d, %s fails: %s", exact, what_failed, reason(err));
		}
	}
}

/* Of either image, one that is looked for at the end is not there. */
static void one_is_lost(void)
{
	int err;

	for (unsigned int at = 3; at <= 4; at++) {
		begins(true);
		lost_at = at;
		err = image_union("to", &images[0], &images[1]);
		CHECK(err_is(err, EILSEQ) && strstr(reason(err), "a key was not found in the union") && !written,
		      "look %u: %s", at, reason(err));
	}
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "in full", in_full },
		{ "each step fails", each_fails },
		{ "a key is lost", one_is_lost },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
