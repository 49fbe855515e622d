// SPDX-License-Identifier: GPL-2.0-only
/* Two lists or images, and what is known of what both hold: each kind beside each; word for word. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "bpf/filter.h"
#include "filter/settings.h"
#include "image/compare.h"
#include "image/contents.h"
#include "image/make.h"
#include "ktap.h"
#include "naive.h"
#include "sets/list.h"
#include "sets/owned.h"
#include "shown.h"

static const struct shown known[] = {
#include "unit_compare.txt"
};

static struct shows shows = { .file = "tests/unit/unit_compare.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static char directory[200];

/* What is compared: of IPv4, of IPv6, of both. */
static const char *const sets[] = {
	"",
	"45.0.0.0/24 46.0.0.1/32 47.0.0.0/30",
	"45.0.0.128/25 46.0.0.1/32 48.0.0.0/24",
	"2001:db8::/48 2001:db9::/64",
	"2001:db8::/48 2001:dba::/48 2001:dbb::/64",
	"45.0.0.0/24 46.0.0.1/32 2001:db8::/48 2001:db9::/64",
	"45.0.0.7/32 46.0.0.1/32 2001:db8::/48 2001:dbb::/64 2001:dbc::/48",
};
#define SETS (sizeof(sets) / sizeof(sets[0]))

enum kind { LIST, EXACT, FILTER, KINDS };
static const char *const kinds[] = { "list", "image", "filter" };

static void set_of(struct ranges *set, const char *text)
{
	char copy[200], *rest = copy, *prefix;
	unsigned int length;
	struct addr first;

	*set = RANGES_EMPTY;
	snprintf(copy, sizeof(copy), "%s", text);
	while ((prefix = strsep(&rest, " ")))
		ENOUGH(!*prefix || (!prefix_parse(prefix, strlen(prefix), &first, &length) &&
				    !ranges_add_prefix(set, first, length)));
	ENOUGH(!ranges_finish(set));
}

static char *path_of(char path[300], size_t i, enum kind kind, bool other)
{
	snprintf(path, 300, "%s/%zu.%s%s", directory, i, kinds[kind], other ? ".other" : "");
	return path;
}

static void make(size_t i, enum kind kind, bool other, const struct image *like)
{
	struct list_info list = {
		.name = "one", .kind = LIST_BAN, .label = 1, .addresses = "1", .loaded = "2026-01-01T00:00:00Z"
	};
	struct settings settings = SETTINGS_DEFAULT;
	struct owned owned = { 0 };
	struct ranges set;
	char path[300];
	int err;

	settings.exact = kind == EXACT;
	settings.headroom = 9;
	set_of(&set, sets[i]);
	/* Of every second one nothing is a list's. */
	ENOUGH(!owned_take(&owned, &set, i % 2 ? LABEL_LIVE : 1));
	err = image_make(path_of(path, i, kind, other), &owned, &list, 1, &settings, like);
	CHECK(!err, "%s: %s", path, reason(err));
	owned_free(&owned);
	ranges_free(&set);
}

/* All but the last are like the last, which has keys of both families; of each one more has seeds of its own. */
static void make_all(void)
{
	for (enum kind kind = EXACT; kind < KINDS; kind++) {
		struct image like;
		char path[300];

		make(SETS - 1, kind, false, NULL);
		ENOUGH(!image_open(&like, path_of(path, SETS - 1, kind, false), "like", true));
		for (size_t i = 0; i + 1 < SETS; i++)
			make(i, kind, false, &like);
		for (size_t i = 0; i < SETS; i++)
			make(i, kind, true, NULL);
		image_close(&like);
	}
}

/* Those of one kind beside those of another: a process has no more than sixteen open. */
static struct side sides[2][SETS];

static void open_side(int which, enum kind kind, bool other)
{
	static char names[2][SETS][300];

	for (size_t i = 0; i < SETS; i++) {
		struct side *side = &sides[which][i];
		int err = 0;

		*side = (struct side){ .name = path_of(names[which][i], i, kind, other) };
		if (kind == LIST)
			set_of(&side->set, sets[i]);
		else
			err = side_image(side);
		CHECK(!err, "%s: %s", side->name, reason(err));
	}
}

static void close_side(int which)
{
	for (size_t i = 0; i < SETS; i++)
		side_free(&sides[which][i]);
}

static double bits(const struct generation *a, const struct generation *b)
{
	double set = 0;

	for (__u64 i = 0; i < a->filter_blocks * BLOCK_BYTES; i++)
		set += __builtin_popcount(((const __u8 *)a->filter)[i] | ((const __u8 *)b->filter)[i]);
	return set;
}

static bool same(struct estimate a, struct estimate b)
{
	return a.value == b.value && a.error == b.error;
}

/* Estimates depend on the seeds: they are as they come out of these bits. */
static const char *estimates(const struct comparison *c)
{
	const struct generation *a = &c->a.image.g, *b = &c->b.image.g;
	struct filter_shape shape = { (double)a->filter_blocks * BLOCK_BYTES * 8, (double)a->filter_k, true };
	double any = bits(a, b), of_a = bits(a, a), of_b = bits(b, b);

	return same(c->keys_a, estimate_keys(shape, of_a)) && same(c->keys_b, estimate_keys(shape, of_b)) &&
			       same(c->keys_any, estimate_keys(shape, any)) &&
			       same(c->keys_both, estimate_intersection(shape, of_a, of_b, any)) && of_a + of_b > 0
		       ? "by the bits"
		       : "of others";
}

static void print_overlap(const char *what, const struct overlap *o)
{
	printf("; %s %.17g and %.17g, both %.17g%s%s", what, (double)o->a, (double)o->b, (double)o->both,
	       o->from_a ? ", of the first" : "", o->from_b ? ", of the second" : "");
}

static void compared(size_t i, enum kind of_a, size_t k, enum kind of_b, bool other)
{
	struct comparison c = { .a = sides[0][i], .b = sides[1][k] };
	int err = compare_sides(&c);

	printf("%s %zu, %s %zu%s:", kinds[of_a], i, kinds[of_b], k, other ? " of other seeds" : "");
	if (err)
		printf(" %s", strstr(reason(err), "cannot") ?: reason(err));
	if (c.exact4)
		print_overlap("IPv4", &c.v4);
	if (c.exact6)
		print_overlap(c.keys6 ? "keys" : "IPv6", &c.v6);
	printf("%s%s\n", c.estimated ? "; estimated " : "", c.estimated ? estimates(&c) : "");
}

static void each(void)
{
	for (enum kind a = LIST; a < KINDS; a++) {
		open_side(0, a, false);
		for (enum kind b = LIST; b < KINDS; b++) {
			open_side(1, b, false);
			for (size_t i = 0; i < SETS; i++)
				for (size_t k = 0; k < SETS; k++)
					if (i == SETS - 1 || k == SETS - 1 || (i % 2 && (i + 1 == k || i == k)))
						compared(i, a, k, b, false);
			close_side(1);
		}
		close_side(0);
	}
}

static void of_other_seeds(void)
{
	for (enum kind b = EXACT; b < KINDS; b++) {
		open_side(1, b, true);
		for (enum kind a = EXACT; a < KINDS; a++) {
			open_side(0, a, false);
			for (size_t i = 0; i < SETS; i++)
				compared(i, a, SETS - 1 - i, b, true);
			close_side(0);
		}
		close_side(1);
	}
}

/* How many keys of a list an image bans: as far as they can be counted in time. */
static void covered(void)
{
	static const char *const lists[] = {
		"",
		"2001:db8::/48",
		"2001:db8::/47",
		"2001:db8::/46 2001:dbc::/46",
		"2001:dbb::/64",
		"2001:dbb::/63",
		"2001:dbb::1/128",
		"2001:dbb:0:1::/65",
		"2001:db8:0:7::/64",
		"2001:800::/23",
		"2001:da0::/28 2001:e00::/24",
		"::/0",
	};
	struct side *side = &sides[0][SETS - 1];

	open_side(0, EXACT, false);
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		uint64_t keys, banned;
		struct ranges set;

		set_of(&set, lists[i]);
		if (image_covers6(&side->image, &set, &keys, &banned))
			printf("%s: %llu of %llu\n", lists[i], (unsigned long long)banned, (unsigned long long)keys);
		else
			printf("%s: nobody counts\n", lists[i]);
		if (i == 2)
			for (int k = 0; k < 2; k++) {
				struct image changed = side->image;

				changed.g.shadows = k == 0;
				changed.g.roster6 = k == 0 ? changed.g.roster6 : 0;
				printf("%s: %d\n", k ? "no roster" : "shadows",
				       image_covers6(&changed, &set, &keys, &banned));
			}
		ranges_free(&set);
	}
	close_side(0);
}

static void word_for_word(void)
{
	static const struct scene scenes[] = { { "each", each },
					       { "other seeds", of_other_seeds },
					       { "covered", covered } };
	const char *temporary = getenv("TMPDIR");
	struct side side;
	char path[300];
	int err;

	snprintf(directory, sizeof(directory), "%s/xdp-bloom-compare-XXXXXX", temporary ?: "/tmp");
	if (!CHECK(mkdtemp(directory), "%s: %s", directory, strerror(errno)))
		return;
	make_all();
	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), NULL);
	side = (struct side){ .name = "/none" };
	err = side_image(&side);
	CHECK(err_is(err, ENOENT) && !side.is_image && !side.tags, "%d", err);
	side_free(&side);
	for (enum kind kind = EXACT; kind < KINDS; kind++)
		for (size_t i = 0; i < 2 * SETS; i++)
			unlink(path_of(path, i / 2, kind, i % 2));
	rmdir(directory);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
