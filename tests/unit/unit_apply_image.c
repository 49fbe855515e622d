// SPDX-License-Identifier: GPL-2.0-only
/*
 * An image into maps: what stands in its way, what the guard rails are asked of it, and what the generation becomes;
 * with a state and a kernel that are made up, word for word.
 */
#include <errno.h>

#include "base/log.h"
#include "change/apply_internal.h"
#include "change/exceptions.h"
#include "change/guard_needs.h"
#include "change/guard_rails.h"
#include "edited.h"
#include "filter/measured_rate.h"
#include "image/beside.h"
#include "image/image.h"
#include "kernel/live.h"
#include "shown.h"
#include "state/bans.h"
#include "state/kept_image.h"
#include "state/settings.h"
#include "state/settle.h"
#include "state/state.h"

static const struct shown known[] = {
#include "unit_apply_image.txt"
};

static struct shows shows = { .file = "tests/unit/unit_apply_image.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define STATE	     ((struct state *)&shows) /* nobody looks into it */
#define LABEL_SHADOW 200

static struct image_header header;
static struct generation in_image, in_force, copied;
static struct settings kept_settings;
static struct list_info known_lists[3];
static size_t lists_n;
static const char *lasting = "", *ending = "", *allowed = ""; /* what the state has of each */
static bool ends, has_now;
static struct rate rated;
static struct {
	int lists, open, fits, bans, allowed, needs, wide, share, arrays, build;
} fails;
static int opened, mapped;

__attribute__((format(printf, 1, 2))) static void line(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	printf("  ");
	vprintf(fmt, args);
	putchar('\n');
	va_end(args);
}

static int failed_with(int err, const char *what)
{
	return err ? because(err, "%s", what) : 0;
}

static void parse(struct ranges *set, const char *text)
{
	*set = RANGES_EMPTY;
	while (*text) {
		size_t length = strcspn(text, " ");
		struct addr first;
		unsigned int prefix;

		ENOUGH(!prefix_parse(text, length, &first, &prefix) && !ranges_add_prefix(set, first, prefix));
		text += length + (text[length] == ' ');
	}
	ENOUGH(!ranges_finish(set));
}

static void print_set(const char *name, const struct ranges *set)
{
	char text[PREFIX_TEXT_MAX];

	printf("  %s:", name);
	for (size_t i = 0; i < set->n4; i++)
		for (struct cut4 cut = { .lo = set->v4[i].lo, .hi = set->v4[i].hi }; range4_next_prefix(&cut);)
			printf(" %s", prefix_text(text, (struct addr){ cut.first, 4 }, (int)cut.length));
	for (size_t i = 0; i < set->n6; i++)
		for (struct cut6 cut = { .lo = set->v6[i].lo, .hi = set->v6[i].hi }; range6_next_prefix(&cut);)
			printf(" %s", prefix_text(text, (struct addr){ cut.first, 6 }, (int)cut.length));
	printf(set->n4 || set->n6 ? "\n" : " nothing\n");
}

static int given_lists(struct state *state, struct list_info **all, size_t *n)
{
	(void)state;
	*all = calloc(lists_n + 1, sizeof(**all));
	ENOUGH(*all);
	memcpy(*all, known_lists, lists_n * sizeof(**all));
	*n = lists_n;
	return failed_with(fails.lists, "no lists are read");
}

static int given_image_open(struct state *state, struct image *image, bool whole)
{
	(void)state;
	CHECK(whole, "not all of it is checked");
	if (fails.open)
		return failed_with(fails.open, "no image");
	*image = (struct image){ .header = &header, .g = in_image };
	opened++;
	return 0;
}

static void given_image_close(struct image *image)
{
	(void)image;
	opened--;
}

static int given_fits(struct state *state, const struct image *image)
{
	(void)state;
	(void)image;
	return failed_with(fails.fits, "it does not fit");
}

static bool given_ends(struct state *state)
{
	(void)state;
	return ends;
}

static int given_sets(struct state *state, int64_t now, const struct ranges *within, struct ranges *on,
		      struct ranges *until)
{
	(void)state;
	CHECK(!within && now > 1000000000, "asked otherwise");
	parse(on, lasting);
	parse(until, ending);
	return failed_with(fails.bans, "no bans are read");
}

static int given_set(struct state *state, int64_t now, const struct ranges *within, struct ranges *on)
{
	(void)state;
	CHECK(!within && now > 1000000000, "asked otherwise");
	line("bans are not told apart");
	parse(on, lasting);
	return failed_with(fails.bans, "no bans are read");
}

static int given_allowed(struct state *state, struct ranges *set)
{
	(void)state;
	parse(set, allowed);
	return failed_with(fails.allowed, "no exceptions are read");
}

/* Of these it is printed what the guard hears of them. */
static const char *asks = "";

static int given_needs(struct guard *guard, struct state *state, const struct live *live, guard_covering_fn *covers,
		       const void *arg, const char *who, bool whole)
{
	(void)state;
	(void)live;
	CHECK(guard->fixed && whole, "fixed %d, whole %d", guard->fixed, whole);
	line("%s is asked about", who);
	for (const char *at = asks; *at; at += strcspn(at, " ") + (at[strcspn(at, " ")] == ' ')) {
		int n = (int)strcspn(at, " ");
		struct addr addr;
		unsigned int prefix;

		ENOUGH(!prefix_parse(at, (size_t)n, &addr, &prefix));
		line("%.*s: %d", n, at, covers(arg, addr));
	}
	return failed_with(fails.needs, "this machine needs it");
}

static int given_wide(enum list_kind kind, const char *name, const struct ranges *before, const struct ranges *after,
		      struct amounts granted)
{
	CHECK(!name && kind == LIST_BAN && granted.v4 == 0 && granted.v6 == 0, "asked otherwise");
	print_set("was dropped whole", before);
	print_set("is to be", after);
	return failed_with(fails.wide, "that is too wide");
}

static int given_share(const char *what, struct amounts granted, struct amounts after)
{
	line("%s %g and %g * 2^112; so far %g and %g * 2^112", what, after.v4, after.v6 / 0x1p112, granted.v4,
	     granted.v6 / 0x1p112);
	return failed_with(fails.share, "that is too much");
}

static int given_live_map(const struct live *live, struct candidate *c, bool edit)
{
	(void)live;
	CHECK(!edit, "to be edited");
	if (!has_now)
		return -ENOENT;
	*c = (struct candidate){ .g = in_force };
	mapped++;
	return 0;
}

static void given_release(struct candidate *c)
{
	(void)c;
	mapped--;
	line("released");
}

static void given_rate(const struct generation *g, struct rate *to)
{
	*to = rated;
	if (g->filter == in_force.filter)
		to->fpr = 0.25;
}

static int given_arrays(struct candidate *c, const struct generation *planned)
{
	line("maps of generation %llu: samples %llu, embedded %u, inner %u, edits %llu, ends %u", planned->number,
	     planned->samples, planned->embedded, planned->inner, planned->edits, planned->ends);
	if (fails.arrays)
		return failed_with(fails.arrays, "no maps");
	c->g = *planned;
	memory_take(&c->g);
	copied = c->g;
	return 0;
}

static int given_build(struct generation *g, const struct image *image, const struct beside *b,
		       const struct settings *with, const struct build_how *how)
{
	int err;

	CHECK(image->g.filter == in_image.filter && with->memory_max == 4711 && !how->judge && !how->given_seeds,
	      "it is built otherwise");
	line("built beside%s%s", b->leave_out ? ", left out" : "", b->arrives ? ", arrives" : "");
	print_set("lasting", &b->lasting);
	print_set("ending", &b->ending);
	print_set("allowed", &b->allowed);
	err = how->take(how->arg, g);
	if (!err && fails.build) {
		how->release(how->arg);
		mapped++;
		memory_release(&copied);
		return failed_with(fails.build, "no place");
	}
	if (!err) {
		CHECK(g->filter == copied.filter, "not the maps' memory");
		g->keys4 = 77;
	}
	return err;
}

static struct settings given_settings(struct state *state)
{
	(void)state;
	return kept_settings;
}

static uint64_t given_number(struct state *state, const struct live *live)
{
	(void)state;
	return live->g.number + 1;
}

#define state_lists	  given_lists
#define image_kept_open	  given_image_open
#define image_close	  given_image_close
#define image_fits	  given_fits
#define settle_ends(...)  given_ends(__VA_ARGS__)
#define state_bans_sets	  given_sets
#define state_bans_set	  given_set
#define state_allowed	  given_allowed
#define guard_needs(...)  given_needs(__VA_ARGS__)
#define guard_wide	  given_wide
#define guard_share	  given_share
#define live_map	  given_live_map
#define kernel_release	  given_release
#define rate_measure	  given_rate
#define kernel_arrays	  given_arrays
#define beside_build	  given_build
#define settings_limited  given_settings
#define apply_next_number given_number
#include "change/apply_image.c"

/* --- What happens --- */

static void made(struct generation *g, const char *list, const char *shadow, bool exact)
{
	struct settings with = SETTINGS_DEFAULT;
	struct ranges set[2];
	struct account accounts[2] = { { &set[0], LABEL_LIST }, { &set[1], LABEL_SHADOW } };

	with.exact = exact;
	with.layout = LAYOUT_LANES;
	with.bits_per_key = 64;
	memory_release(g);
	parse(&set[0], list);
	parse(&set[1], shadow);
	ENOUGH(generate_with(g, accounts, *shadow ? 2 : 1, &with));
	if (*shadow) {
		g->shadows = 1;
		g->shadow[LABEL_SHADOW / 64] = 1ULL << LABEL_SHADOW % 64;
	}
	g->number = 99;
	g->edits = 7;
	g->samples = g->embedded = g->inner = 7;
	ranges_free(&set[0]);
	ranges_free(&set[1]);
}

static struct guard guard;
static struct apply_options options;
static unsigned long long number;

static void applied(const char *what)
{
	struct live live = { .g = { .number = number } };
	struct candidate c = { 0 };
	int err;

	printf("%s\n", what);
	guard.fixed = false;
	options.guard = &guard;
	copied = (struct generation){ 0 };
	err = apply_image(STATE, &live, &options, &c);
	line("%s", err ? reason(err) : "done");
	CHECK(!opened && !mapped, "%d images open, %d mapped", opened, mapped);
	if (err || options.dry_run)
		return;
	CHECK(c.g.filter == copied.filter, "the maps are others");
	if (c.g.keys4 == 77) {
		line("as it was built");
	} else {
		for (enum array a = 0; a < ARRAYS; a++)
			CHECK(array_bytes(&in_image, a) == array_bytes(&c.g, a) &&
				      (!array_bytes(&c.g, a) ||
				       !memcmp((void *)(uintptr_t)*generation_member(&c.g, array_kinds[a].member),
					       (void *)(uintptr_t)*generation_member(&in_image, array_kinds[a].member),
					       array_bytes(&c.g, a))),
			      "array %d is another", (int)a);
		line("as it is, generation %llu", c.g.number);
	}
	memory_release(&copied);
}

static void again(void)
{
	memset(&fails, 0, sizeof(fails));
	memset(known_lists, 0, sizeof(known_lists));
	lists_n = 0;
	lasting = ending = allowed = asks = "";
	ends = true;
	has_now = false;
	rated = (struct rate){ 0 };
	header = (struct image_header){ .asked = 0.25 };
	kept_settings = SETTINGS_DEFAULT;
	kept_settings.memory_max = 4711;
	guard = (struct guard){ 0 };
	options = (struct apply_options){ 0 };
	number = 5;
	made(&in_image, "45.0.0.1 2001:db8::/48", "", true);
}

static void list_is(size_t at, const char *name, enum list_kind kind)
{
	snprintf(known_lists[at].name, sizeof(known_lists[at].name), "%s", name);
	known_lists[at].kind = kind;
	lists_n = at + 1;
}

static void in_the_way(void)
{
	list_is(0, EXCEPTIONS, LIST_ALLOW);
	applied("exceptions alone");
	list_is(1, "drop", LIST_BAN);
	applied("exceptions, and a list");
	list_is(0, "drop", LIST_BAN);
	applied("a list");
	list_is(0, "friends", LIST_ALLOW);
	applied("friends");
	list_is(0, "counted", LIST_SHADOW);
	list_is(1, EXCEPTIONS, LIST_ALLOW);
	applied("one that counts");
	lists_n = 0;
	fails.lists = -EIO;
	applied("no lists");
	fails.lists = 0;
	fails.open = -EIO;
	applied("no image");
	fails.open = 0;
	fails.fits = -E2BIG;
	applied("no room");
	fails.fits = 0;
	lasting = ending = allowed = "45.9.0.0/24 2001:db8:1::/48";
	fails.bans = -EIO;
	applied("no bans");
	ends = false;
	applied("nor together");
	fails.bans = 0;
	ends = true;
	fails.allowed = -EIO;
	applied("no exceptions");
	fails.allowed = 0;
	fails.needs = -EPERM;
	applied("a need");
	fails.needs = 0;
	fails.build = -EXFULL;
	applied("not built");
	fails.build = 0;
	fails.arrays = -ENOMEM;
	applied("no memory beside");
	lasting = ending = allowed = "";
	applied("no memory");
}

static void becomes(void)
{
	kept_settings.samples = 0;
	applied("no samples");
	kept_settings.samples = 1;
	kept_settings.embedded = true;
	applied("one, and embedded");
	kept_settings.inner = true;
	kept_settings.embedded = false;
	number = 0;
	applied("inner, and nothing in force");
	ending = "45.9.0.1";
	applied("one that ends, and nothing in force");
	number = 5;
	applied("one that ends");
	ending = "2001:db8:9::/48";
	guard.again = true;
	applied("of IPv6, again");
	ending = "";
	lasting = "45.9.0.1";
	guard = (struct guard){ .spare = true };
	options.arrives = true;
	applied("that lasts, spared, arrives");
	guard.spare = false;
	allowed = "45.0.0.1";
	lasting = "";
	applied("an exception");
	ends = false;
	lasting = "45.9.0.1";
	ending = "45.9.0.2";
	applied("where ends have no label");
	options.dry_run = true;
	applied("dry run");
}

static void is_covered(void)
{
	made(&in_image, "45.0.0.1 45.0.0.2 45.1.0.1 2001:db8::/48", "46.0.0.1", true);
	lasting = "45.9.0.1 45.0.0.7";
	ending = "2001:db8:9::/48";
	allowed = "45.0.0.2 45.0.0.7 2001:db8:0:1::/64 2001:db8:9:1::/64";
	asks = "45.0.0.1 45.0.0.2 45.0.0.7 45.0.0.3 45.9.0.1 46.0.0.1 2001:db8::1 2001:db8:0:1::1 2001:db8:9::1"
	       " 2001:db8:9:1::1 2001:db8:7::1";
	options.dry_run = true;
	applied("by the image, and by what is beside it");
}

static void is_wide(void)
{
	options.narrow = options.dry_run = true;
	made(&in_image,
	     "0.0.0.0/24 45.0.0.0/23 45.0.3.0/24 45.0.4.1 255.255.255.0/24 2001:1000::/20 2400::/48 2600:555:5555::/48",
	     "45.0.7.0/24", true);
	applied("nothing is in force");
	made(&in_force, "45.0.0.0/24 2a00::/16", "", true);
	has_now = true;
	applied("something is");
	fails.wide = -EPERM;
	applied("too wide");
	fails.wide = 0;
	options.narrow = false;
	applied("nobody asks");
	options.narrow = true;
	has_now = false;
	made(&in_image, "::/0", "", true);
	applied("all of IPv6");
	made(&in_image, "2400::/21 2400:1000::/20 2600::/19 2700::/48", "", true);
	applied("longer rungs");
	options.dry_run = false;
	made(&in_image, "45.0.0.1", "", true);
	applied("into force");
}

static void by_rate(void)
{
	static const struct rate rates[] = { { .fpr = 0.5 },
					     { .fpr = 0.51 },
					     { .fpr = 0.51, .error = 0.043 },
					     { .fpr = 0.51, .error = 0.044 },
					     { .fpr = 0.125 } };

	options.narrow = options.dry_run = true;
	made(&in_image, "45.0.0.0/23 45.0.3.1 45.0.4.1 45.0.5.1", "", false);
	made(&in_force, "45.0.0.0/24 45.0.3.1 2001:db8::/48", "", false);
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		char text[64];

		rated = rates[i];
		snprintf(text, sizeof(text), "%g, give or take %g, not %g", rated.fpr, rated.error, header.asked);
		applied(text);
	}
	header.asked = 0;
	rated.fpr = 0.5;
	applied("for no rate");
	has_now = true;
	applied("beside the one in force");
	fails.share = -EPERM;
	applied("too much");
	fails.share = 0;
	fails.wide = -EPERM;
	applied("too wide");
	fails.wide = 0;
	has_now = false;
	made(&in_image, "2001:db8::/48", "", false);
	applied("IPv6 alone");
	made(&in_image, "2000::/8", "", false);
	applied("without a gate");
	made(&in_image, "2001:db8::/48 45.0.0.1 45.0.0.2", "", true);
	header.asked = 0.01;
	applied("with a roster");
	made(&in_image, "45.0.0.0/24", "", false);
	applied("networks alone");
	made(&in_image, "45.0.0.1", "", false);
	free((void *)(uintptr_t)in_image.gate4);
	in_image.gate4 = 0;
	header.asked = 0;
	applied("IPv4 without a gate");
}

static void word_for_word(void)
{
	static const struct scene scenes[] = { { "in the way", in_the_way },
					       { "what becomes of it", becomes },
					       { "covered", is_covered },
					       { "wide", is_wide },
					       { "by its rate", by_rate } };

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), again);
	memory_release(&in_image);
	memory_release(&in_force);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
