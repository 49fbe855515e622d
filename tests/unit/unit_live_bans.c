// SPDX-License-Identifier: GPL-2.0-only
/*
 * Live bans into force, with a state that is real and a kernel that is made up: batches of bans against a model of who
 * is dropped, and what is asked, said and written on the way, word for word.
 */
#include "own_state.h"

#include "base/grow.h"
#include "change/ends.h"
#include "base/log.h"
#include "edited.h"
#include "shown.h"
#include "change/agreement.h"
#include "change/apply.h"
#include "change/guard_needs.h"
#include "change/own_addresses.h"
#include "kernel/generation.h"
#include "kernel/live.h"
#include "state/bans.h"
#include "state/events.h"
#include "state/kept_image.h"
#include "state/settle.h"
#include "state/until.h"
#include "image/beside.h"
#include "image/image.h"

static const struct shown known[] = {
#include "unit_live_bans.txt"
};

static struct shows shows = { .file = "tests/unit/unit_live_bans.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

/* --- A kernel: the generation in force, and the one that it goes back to --- */

static struct kernel {
	struct generation g;
	bool ends;
} kernels[2];
static struct live in_force;
static bool silent; /* nothing is printed */

/* What these end with, or say. */
static struct {
	int map, guard, gone, needs, anew, note, open_before, ends, open_image;
	bool map_failed, image, image_is_live, beside_dropped;
	size_t ends_room;
} given;
static unsigned int built_anew, in_place;
static int mapped;
static const char *need;     /* of this machine */
static const char *excepted; /* for as long as something waits */

__attribute__((format(printf, 1, 2))) static void line(const char *fmt, ...)
{
	va_list args;

	if (silent)
		return;
	va_start(args, fmt);
	printf("  ");
	vprintf(fmt, args);
	putchar('\n');
	va_end(args);
}

static const char *set_text(const struct ranges *set)
{
	static char text[4096];
	size_t at = 0;

	text[0] = '\0';
	if (set->n4 > 8) {
		snprintf(text, sizeof(text), " %zu ranges", set->n4);
		return text;
	}
	for (size_t i = 0; i < set->n4; i++)
		for (struct cut4 cut = { .lo = set->v4[i].lo, .hi = set->v4[i].hi }; range4_next_prefix(&cut);) {
			char one[PREFIX_TEXT_MAX];

			at += (size_t)snprintf(text + at, sizeof(text) - at, " %s",
					       prefix_text(one, (struct addr){ cut.first, 4 }, (int)cut.length));
		}
	for (size_t i = 0; i < set->n6; i++)
		for (struct cut6 cut = { .lo = set->v6[i].lo, .hi = set->v6[i].hi }; range6_next_prefix(&cut);) {
			char one[PREFIX_TEXT_MAX];

			at += (size_t)snprintf(text + at, sizeof(text) - at, " %s",
					       prefix_text(one, (struct addr){ cut.first, 6 }, (int)cut.length));
		}
	return text;
}

static struct generation described(const struct generation *g)
{
	struct generation as = *g;

	for (enum array a = 0; a < ARRAYS; a++)
		*generation_member(&as, array_kinds[a].member) = array_bytes(g, a) > 0;
	return as;
}

static int given_map(const struct live *of, struct candidate *c, bool edit)
{
	struct kernel *k = of->g.number == kernels[0].g.number ? &kernels[0] : &kernels[1];

	if (given.map)
		return given.map;
	CHECK(edit, "it is mapped to be read");
	*c = (struct candidate){ .g = k->g, .ends = k->ends ? 4 + (int)(k - kernels) : -1 };
	mapped++;
	return 0;
}

static void given_release(struct candidate *c)
{
	CHECK(mapped > 0, "released twice");
	mapped--;
	memset(c, 0xff, sizeof(*c));
}

static bool given_map_failed(const struct candidate *c)
{
	(void)c;
	return given.map_failed;
}

static int given_note(struct live *of, const struct generation *edited)
{
	struct kernel *k = edited->number == kernels[0].g.number ? &kernels[0] : &kernels[1];

	line("written into generation %llu: edit %llu, %llu and %llu keys, %u stale", edited->number, edited->edits,
	     edited->keys4, edited->keys6, edited->stale);
	if (given.note)
		return given.note;
	k->g = *edited;
	of->g = described(edited);
	return 0;
}

static int given_open_before(const struct live *of, struct live *before)
{
	(void)of;
	*before = (struct live){ .g = described(&kernels[1].g) };
	line("the one before is looked up");
	return given.open_before;
}

static void given_live_close(struct live *before)
{
	line("closed");
	*before = (struct live){ 0 };
}

static int given_look(struct live *of)
{
	line("looked again");
	(void)of;
	return 0;
}

static size_t given_ends_room(int map)
{
	CHECK(map == 4, "the map %d", map);
	return given.ends_room;
}

/* How many, and the first ones: those that are taken out have no time. */
static int given_ends_put(int map, const struct ends *ends)
{
	unsigned int set = 0, out = 0;

	if (map < 0) {
		CHECK(!ends->n, "without a map");
		return 0;
	}
	for (size_t i = 0; i < ends->n; i++)
		*(ends->at[i].until ? &set : &out) += 1;
	line("ends of generation %llu: %u set, %u taken out", kernels[map - 4].g.number, set, out);
	return given.ends;
}

static int given_guard_set(struct guard *guard, struct state *s, const struct live *of, const struct ranges *set,
			   bool whole)
{
	(void)guard;
	(void)s;
	CHECK(of == &in_force && !whole, "it is another question");
	line("may this be dropped:%s", set_text(set));
	return given.guard ? because(given.guard, "this machine needs it") : 0;
}

static int given_guard_gone(struct state *s, const struct ranges *gone)
{
	(void)s;
	if (gone->n4 || gone->n6)
		line("gone:%s", set_text(gone));
	return given.gone;
}

static int given_guard_all(const struct guard *guard, struct state *s, struct own_address **needs, size_t *n)
{
	unsigned int length;

	(void)guard;
	(void)s;
	if (given.needs)
		return given.needs;
	*needs = calloc(2, sizeof(**needs));
	ENOUGH(*needs);
	*n = need ? 1 : 0;
	if (need)
		ENOUGH(!prefix_parse(need, strlen(need), &(*needs)->addr, &length));
	line("what is needed is asked");
	return 0;
}

static int given_waiting(struct state *s, struct ranges *waiting)
{
	struct addr first;
	unsigned int length;

	(void)s;
	*waiting = RANGES_EMPTY;
	if (!excepted)
		return 0;
	ENOUGH(!prefix_parse(excepted, strlen(excepted), &first, &length));
	return ranges_add_prefix(waiting, first, length) ?: ranges_finish(waiting);
}

static uint64_t given_image_kept(struct state *s)
{
	(void)s;
	return given.image;
}

static int given_image_open(struct state *s, struct image *image, bool whole)
{
	(void)s;
	(void)image;
	CHECK(!whole, "all of it is checked");
	return given.open_image;
}

static void given_image_close(struct image *image)
{
	(void)image;
	line("the image is closed");
}

static bool given_is_live(const struct image *image, const struct ranges *set)
{
	(void)image;
	line("has the image this:%s", set_text(set));
	return given.image_is_live && (set->n4 || set->n6);
}

static void kernel_new(struct kernel *k, struct state *s, unsigned long long number)
{
	struct settings settings = settings_read(s);
	struct settled settled;
	int err = -EAGAIN;

	memory_release(&k->g);
	ENOUGH(!settle(&settled, s));
	ENOUGH(!plan_generation(&k->g, &settled.owned, &settings));
	memory_take(&k->g);
	for (int i = 0; i < 8 && err_is(err, EAGAIN); i++) {
		memory_clear(&k->g);
		seeds_set(&k->g);
		err = build_arrays(&k->g, &settled.owned);
	}
	ENOUGH(!err);
	k->g.number = number;
	k->g.ends = settled.ends;
	k->g.scoped = settled.scopes != NULL;
	k->g.shadows = settled.shadows;
	memcpy(k->g.shadow, settled.shadow, sizeof(k->g.shadow));
	k->ends = settled.ends;
	settled_free(&settled);
	ENOUGH(!state_set(s, SETTING_GENERATION, (double)number) && !state_set(s, SETTING_EDITS, 0));
}

static int given_apply(struct state *s, struct live *of, const struct apply_options *options)
{
	CHECK(options->guard && !options->reverting && !options->dry_run && !options->narrow, "it is asked otherwise");
	line("built anew%s", options->filling ? ", filling" : "");
	if (given.anew)
		return because(given.anew, "it cannot be built");
	built_anew++;
	kernel_new(&kernels[0], s, of->g.number + 1);
	of->g = described(&kernels[0].g);
	return state_commit(s);
}

static int given_if_needed(struct state *s, struct live *of, struct guard *guard)
{
	(void)of;
	(void)guard;
	line("nothing is touched");
	return state_commit(s);
}

__attribute__((format(printf, 1, 2))) static void given_say(const char *fmt, ...)
{
	char text[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	line("! %s", text);
}

__attribute__((format(printf, 3, 4))) static void given_event(const struct context *context, struct event e,
							      const char *fmt, ...)
{
	char text[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	CHECK(context == &own_context && e.kind == EVENT_CAPACITY, "event %d", (int)e.kind);
	line("event of generation %llu: %s", e.generation, text);
}

static int succeed = -1; /* so many calls succeed before one fails; -1: all of them */
static const char *failed;

static int fails(const char *what)
{
	bool is = !succeed;

	succeed -= succeed >= 0;
	failed = is ? what : failed;
	return is ? because(-EIO, "a call fails") : 0;
}

#define CALL(function, ...)	   (fails(#function) ?: function(__VA_ARGS__))
#define ranges_add_prefix(...)	   CALL(ranges_add_prefix, __VA_ARGS__)
#define ranges_finish(...)	   CALL(ranges_finish, __VA_ARGS__)
#define ranges_union(to, ...)	   (*(to) = RANGES_EMPTY, CALL(ranges_union, to, __VA_ARGS__))
#define ranges_subtract(to, ...)   (*(to) = RANGES_EMPTY, CALL(ranges_subtract, to, __VA_ARGS__))
#define ranges_intersect(to, ...)  (*(to) = RANGES_EMPTY, CALL(ranges_intersect, to, __VA_ARGS__))
#define state_allowed(...)	   CALL(state_allowed, __VA_ARGS__)
#define state_allowed_waiting(...) CALL(given_waiting, __VA_ARGS__)
#define state_bans_sets(...)	   CALL(state_bans_sets, __VA_ARGS__)
#define state_ban_get(...)	   CALL(state_ban_get, __VA_ARGS__)
#define state_ban_around(...)	   CALL(state_ban_around, __VA_ARGS__)
#define state_bans_ending(...)	   CALL(state_bans_ending, __VA_ARGS__)
#define state_lists(...)	   CALL(state_lists, __VA_ARGS__)
#define state_list_whole_set(...)  CALL(state_list_whole_set, __VA_ARGS__)
#define state_set(...)		   CALL(state_set, __VA_ARGS__)
#define state_commit(...)	   CALL(state_commit, __VA_ARGS__)
#define owned_settle(...)	   CALL(owned_settle, __VA_ARGS__)
#define edit_unban4(...)	   CALL(edit_unban4, __VA_ARGS__)
#define edit_unban6(...)	   CALL(edit_unban6, __VA_ARGS__)
#define edit_ban(...)		   CALL(edit_ban, __VA_ARGS__)
#define edit_worthwhile(...)	   CALL(edit_worthwhile, __VA_ARGS__)
#define ends_read(...)		   CALL(ends_read, __VA_ARGS__)
#define ends_drop(...)		   CALL(ends_drop, __VA_ARGS__)
#define grow(...)		   (fails("grow") ? NULL : grow(__VA_ARGS__))
#define malloc(...)		   (fails("malloc") ? NULL : malloc(__VA_ARGS__))

#define live_map	 given_map
#define live_map_failed	 given_map_failed
#define kernel_release	 given_release
#define live_note	 given_note
#define live_open_before given_open_before
#define live_close	 given_live_close
#define live_look	 given_look
#define kernel_ends_room given_ends_room
#define kernel_ends_put	 given_ends_put
#define guard_set	 given_guard_set
#define guard_gone	 given_guard_gone
#define guard_all	 given_guard_all
#define image_kept	 given_image_kept
#define image_kept_open	 given_image_open
#define image_close	 given_image_close
#define beside_is_live	 given_is_live
#define apply_with	 given_apply
#define apply_if_needed	 given_if_needed
#define warn		 given_say
#define note		 given_say
#define event(...)	 given_event(__VA_ARGS__)
#include "change/live_bans.c"
#undef warn
#undef note
#undef grow
#undef malloc

/* --- What is done to it --- */

static void begin(struct state *s)
{
	memset(&given, 0, sizeof(given));
	given.ends_room = 1000;
	need = excepted = NULL;
	kernel_new(&kernels[0], s, 3);
	in_force = (struct live){ .context = &own_context, .g = described(&kernels[0].g) };
}

static void end(void)
{
	memory_release(&kernels[0].g);
	memory_release(&kernels[1].g);
	CHECK(!mapped, "%d are mapped", mapped);
}

static void put_list_of(struct state *s, const char *name, enum list_kind kind, const char *scope, const char *text)
{
	struct list_info list = { .kind = kind, .addresses = "1", .source = "a file", .times = kind == LIST_TRUST };
	struct ranges set = RANGES_EMPTY;

	snprintf(list.name, sizeof(list.name), "%s", name);
	snprintf(list.scope, sizeof(list.scope), "%s", scope);
	while (*text) {
		size_t length = strcspn(text, " ");
		struct addr first;
		unsigned int prefix;

		ENOUGH(!prefix_parse(text, length, &first, &prefix) && !ranges_add_prefix(&set, first, prefix));
		text += length + (text[length] == ' ');
	}
	ENOUGH(!ranges_finish(&set));
	list.prefixes = ranges_count_prefixes(&set);
	ENOUGH(!state_list_put(s, &list, &set));
	ranges_free(&set);
}

/* One ban: '+' for good, '~' that ends, '-' taken out. */
static void order(struct state *s, char what, struct addr first, unsigned int length, struct touched *t)
{
	struct ban ban = { .first = first,
			   .length = length,
			   .added = 1,
			   .due = what == '~' ? (int64_t)1 << 60 : 0,
			   .expires = what == '~' ? time(NULL) + 9999 : 0 };
	bool renewed;

	if (what == '-')
		(void)state_ban_drop(s, first, length);
	else
		ENOUGH(!state_ban_put(s, &ban, &renewed));
	if (t)
		ENOUGH(!touched_add(t, first, length));
}

static int put_in_force(struct state *s, struct touched *t)
{
	struct guard guard = { 0 };
	unsigned int anew = built_anew;
	int err = touched_divide(t, s) ?: bans_into_force(s, &in_force, t, &guard);

	in_place += !err && anew == built_anew;
	touched_free(t);
	return err;
}

static struct state *kept(const char *lists)
{
	struct state *s;

	empty_directory();
	s = opened(true);
	ENOUGH(s);
	ENOUGH(!state_set(s, "headroom", 4));
	put_list_of(s, "drop", LIST_BAN, "", lists);
	return s;
}

/* "+192.0.2.1 ~2001:db8::/48 -192.0.2.7": bans of before, or of now. */
static void orders(struct state *s, const char *text, struct touched *t)
{
	while (*text) {
		size_t length = strcspn(text, " "), star = strcspn(text, "* ");
		unsigned long many = star < length ? strtoul(text + star + 1, NULL, 10) : 1;
		struct addr first;
		unsigned int prefix;

		ENOUGH(!prefix_parse(text + 1, star - 1, &first, &prefix));
		for (unsigned long i = 0; i < many; i++, first.num += 2)
			order(s, *text, first, prefix, t);
		text += length + (text[length] == ' ');
	}
}

static void answers(const struct generation *g, const char *asked)
{
	while (*asked) {
		size_t length = strcspn(asked, " ");
		unsigned int prefix;
		struct addr addr;
		__u32 answer;

		ENOUGH(!prefix_parse(asked, length, &addr, &prefix));
		answer = decide_shadow(g, guard_decide(g, addr));
		line("%.*s: %s%s", (int)length, asked, answer & ANSWER_DROP ? "dropped" : "passes",
		     !(answer & ANSWER_DROP)		  ? ""
		     : ANSWER_LABEL(answer) == LABEL_LIVE ? ", live"
		     : ANSWER_LABEL(answer) == LABEL_ENDS ? ", until its end"
							  : ", by a list");
		asked += length + (asked[length] == ' ');
	}
}

static void batch(const char *text, const char *asked)
{
	struct state *s = opened(true);
	struct touched t = { 0 };
	int err;

	ENOUGH(s);
	printf("%s\n", *text ? text : "nothing");
	orders(s, text, &t);
	err = put_in_force(s, &t);
	state_close(s);
	s = opened(false);
	ENOUGH(s);
	line("%s; the state has edit %g of generation %g", err ? reason(err) : "done",
	     state_setting(s, SETTING_EDITS, -1), state_setting(s, SETTING_GENERATION, -1));
	state_close(s);
	answers(&kernels[0].g, asked);
}

static void world_of(const char *lists, const char *bans)
{
	struct state *s = kept(lists);

	orders(s, bans, NULL);
	begin(s);
	ENOUGH(!state_commit(s));
	state_close(s);
}

#define LISTS_OF_BOTH "45.0.0.1 45.0.0.2 45.0.1.0/24 2001:db8::/48 2001:db8:1:1::/64"

/* The last key of a family goes: its stage should not be in the program. */
static void the_last(void)
{
	world_of("2001:db8::/48", "+45.9.0.1 +45.9.0.2");
	batch("-45.9.0.2", "45.9.0.1");
	batch("-45.9.0.1", "45.9.0.1");
	end();
}

static void in_and_out(void)
{
	world_of(LISTS_OF_BOTH, "+45.9.0.1 ~45.9.0.2 +2001:db8:9::/48");
	batch("", "");
	batch("+46.0.0.1", "46.0.0.1 46.0.0.2");
	batch("~46.0.0.2 ~2001:db8:2::/48", "46.0.0.2 2001:db8:2::1");
	batch("-46.0.0.1 -46.0.0.2", "46.0.0.1 46.0.0.2");
	batch("-2001:db8:2::/48", "2001:db8:2::1");
	batch("-46.0.0.9", "46.0.0.9");
	batch("+45.0.0.1", "45.0.0.1");
	batch("-45.0.0.1", "45.0.0.1");
	batch("~45.0.0.1", "45.0.0.1");
	batch("~45.9.0.1", "45.9.0.1");
	batch("+45.9.0.1", "45.9.0.1");
	/* A network, and what is in it. */
	batch("+46.1.0.0/24", "46.1.0.7");
	batch("-46.1.0.0/24", "46.1.0.7");
	/* Of IPv6 the longest key decides, and each ban is a key of its own. */
	batch("~2001:db8:9:1::/64", "2001:db8:9:1::1");
	batch("-2001:db8:9::/48", "2001:db8:9:1::1 2001:db8:9:2::1");
	batch("+2001:db8:9::/48", "2001:db8:9:1::1 2001:db8:9:2::1");
	batch("-2001:db8:9:1::/64", "2001:db8:9:1::1");
	batch("-2001:db8:9::/56", "2001:db8:9:1::1");
	batch("+2001:db8:a:1::/64 +2001:db8:a::/48", "2001:db8:a:1::1 2001:db8:a:2::1");
	batch("-2001:db8:a:1::/64", "2001:db8:a:1::1 2001:db8:a:2::1");
	batch("-2001:db8:a::/48", "2001:db8:a:1::1");
	batch("-2001:db8:1:1::/64 -2001:db8:1:2::/64", "2001:db8:1:1::1");
	end();
}

/* A program without a clock; and where there is no room for another end. */
static void with_an_end(void)
{
	world_of(LISTS_OF_BOTH, "");
	batch("~2001:db8:2::/48", "2001:db8:2::1");
	end();
	world_of(LISTS_OF_BOTH, "");
	batch("~46.0.0.1", "46.0.0.1");
	given.ends_room = 2;
	batch("~46.0.0.2", "46.0.0.2");
	batch("~46.0.0.3", "46.0.0.3");
	given.ends_room = 0;
	batch("~46.0.0.4", "46.0.0.4");
	given.ends_room = 1000;
	given.ends = -EIO;
	batch("~46.0.0.5 -46.0.0.1", "46.0.0.5 46.0.0.1");
	batch("-46.0.0.9", "46.0.0.9");
	given.ends = 0;
	end();
}

static void is_refused(void)
{
	world_of(LISTS_OF_BOTH, "+45.9.0.1");
	given.guard = -EPERM;
	batch("+46.0.0.1", "46.0.0.1");
	batch("-45.9.0.1", "45.9.0.1");
	batch("+46.0.0.1 -45.9.0.1", "46.0.0.1 45.9.0.1");
	given.guard = 0;
	given.gone = -EIO;
	batch("+46.0.0.1", "46.0.0.1");
	given.gone = 0;
	given.note = -EIO;
	batch("+46.0.0.1", "46.0.0.1");
	given.note = 0;
	/* The kernel's is behind the state's now. */
	batch("+46.0.0.3", "46.0.0.1 46.0.0.3");
	given.map = -ENOMEM;
	batch("+46.0.0.4", "46.0.0.4");
	given.map = 0;
	given.map_failed = true;
	batch("+46.0.0.5", "46.0.0.5");
	given.map_failed = false;
	given.anew = -E2BIG;
	in_force.g.number = 0;
	batch("+46.0.0.6", "46.0.0.6");
	given.anew = 0;
	end();
}

static void beside_lists(void)
{
	struct state *s = kept(LISTS_OF_BOTH);

	put_list_of(s, "allowed", LIST_ALLOW, "", "46.0.0.8/30 2001:db8:5::/64");
	begin(s);
	ENOUGH(!state_commit(s));
	state_close(s);
	batch("+46.0.0.7 +46.0.0.8", "46.0.0.7 46.0.0.8");
	batch("+46.0.0.0/28", "46.0.0.7 46.0.0.8 46.0.0.12");
	batch("+2001:db8:5::/64", "2001:db8:5::1");
	batch("-46.0.0.8 -2001:db8:5::/64", "46.0.0.8 2001:db8:5::1");
	end();
	/* An exception in what a wider ban holds. */
	s = kept(LISTS_OF_BOTH);
	put_list_of(s, "allowed", LIST_ALLOW, "", "2001:db8:a:1::/66");
	orders(s, "+2001:db8:a::/48 +2001:db8:a:1::/64", NULL);
	begin(s);
	ENOUGH(!state_commit(s));
	state_close(s);
	batch("-2001:db8:a:1::/64", "2001:db8:a:1::1 2001:db8:a:1:8000:: 2001:db8:a:2::1");
	batch("-2001:db8:a::/48", "2001:db8:a:1:8000:: 2001:db8:a:2::1");
	end();
	/* More lengths than rungs: the wider ban is in two parts, and goes on. */
	world_of(
		"2001:1000::/20 2001:2000::/24 2001:3000::/28 2001:4000::/32 2001:5000::/40 2001:6000::/48 2001:7000::/64"
		" 2001:8000::1",
		"+2001:db8:a::/63 +2001:db8:a::5");
	batch("-2001:db8:a::5", "2001:db8:a::5 2001:db8:a:1::5");
	end();
	/* What a list with a scope holds, or a shadow counts, is not told apart. */
	s = kept(LISTS_OF_BOTH);
	put_list_of(s, "scoped", LIST_BAN, "tcp/22", "47.0.0.1 47.0.0.2");
	put_list_of(s, "trusted", LIST_TRUST, "", "47.0.0.9");
	begin(s);
	ENOUGH(!state_commit(s));
	state_close(s);
	CHECK(kernels[0].g.scoped, "no scope");
	batch("+47.0.0.3", "47.0.0.3");
	batch("+47.0.0.1", "47.0.0.1");
	batch("+45.0.0.1", "45.0.0.1");
	batch("+47.0.0.9", "47.0.0.9");
	end();
	s = kept(LISTS_OF_BOTH);
	put_list_of(s, "scoped", LIST_BAN, "tcp/22", "47.0.0.1 47.0.0.2");
	put_list_of(s, "counted", LIST_SHADOW, "", "47.0.0.30");
	begin(s);
	ENOUGH(!state_commit(s));
	state_close(s);
	batch("+47.0.0.31", "47.0.0.31");
	batch("+47.0.0.30", "47.0.0.30");
	end();
}

static void beside_an_image(void)
{
	world_of(LISTS_OF_BOTH, "+45.9.0.1 ~45.9.0.2 +45.9.0.3");
	given.image = true;
	batch("+46.0.0.1", "46.0.0.1");
	batch("-45.9.0.1", "45.9.0.1");
	batch("~46.0.0.2", "46.0.0.2");
	given.image_is_live = true;
	batch("-45.9.0.3", "45.9.0.3");
	batch("~46.0.0.3", "46.0.0.3");
	given.open_image = -EIO;
	batch("-46.0.0.1", "46.0.0.1");
	end();
}

/* Behind a change of its own, without bans. */
static void built(const char *what, bool and_more)
{
	struct guard guard = { 0 };
	struct touched none = { 0 };
	struct state *s = opened(true);

	ENOUGH(s);
	puts(what);
	before_has_it(s, &in_force, &none, &guard, and_more);
	state_close(s);
}

/* What is on trial: the one that comes back gets it, too. */
static void on_trial(void)
{
	static const char *const bans = "+45.9.0.1 ~45.9.0.2";
	struct state *s;

	world_of(LISTS_OF_BOTH, bans);
	s = opened(true);
	ENOUGH(s);
	kernel_new(&kernels[1], s, 2);
	state_close(s);
	in_force.on_trial = in_force.number = 3;
	batch("+46.0.0.1 ~46.0.0.2", "46.0.0.1");
	answers(&kernels[1].g, "46.0.0.1 46.0.0.2 46.0.0.3");
	batch("-46.0.0.9", "");
	given.open_before = -ENOENT;
	batch("+46.0.0.3", "46.0.0.3");
	given.open_before = 0;
	in_force.number = 2;
	batch("+46.0.0.4", "46.0.0.4");
	answers(&kernels[1].g, "46.0.0.4");
	in_force.number = 3;
	kernels[1].g.scoped = 1;
	batch("+46.0.0.5", "46.0.0.5");
	answers(&kernels[1].g, "46.0.0.5");
	kernels[1].g.scoped = 0;
	/* One without a clock takes no end. */
	kernels[1].ends = false;
	batch("+46.0.0.6", "");
	answers(&kernels[1].g, "46.0.0.6");
	kernels[1].g.ends = 0;
	batch("~46.0.0.7", "");
	answers(&kernels[1].g, "46.0.0.7");
	/* What an exception that waits lets through is dropped when that goes back, and no edit has that. */
	excepted = "46.0.1.0/24";
	batch("+46.0.2.0", "");
	batch("+46.0.1.1 +46.0.2.1", "");
	answers(&kernels[1].g, "46.0.2.1");
	excepted = NULL;
	/* A generation anew is what is on trial then. */
	batch("+2001:db8:77::77", "");
	built("nothing else came", false);
	built("a list came", true);
	in_force.on_trial = 0;
	built("a list came, and nothing is on trial", true);
	batch("+2001:db8:77::78", "");
	/* The one before has room for it by now. */
	s = opened(true);
	ENOUGH(s);
	memory_release(&kernels[1].g);
	kernel_new(&kernels[1], s, 2);
	state_close(s);
	in_force.on_trial = in_force.number;
	batch("+2001:db8:77::79", "");
	excepted = "2001:db8:77::/48";
	batch("+2001:db8:77::80", "");
	end();
}

/* So many at once, for which there is no room. */
static void floods(void)
{
	static const unsigned int many[] = { 1, 1023, 1024, 1025 };

	for (size_t i = 0; i < sizeof(many) / sizeof(many[0]); i++) {
		char text[64];

		world_of("45.0.0.1", "+45.9.0.1");
		kernels[0].g.capacity = 2;
		snprintf(text, sizeof(text), "+46.0.0.0*%u", many[i]);
		batch(text, "46.0.0.0");
		end();
	}
	for (unsigned long long keys = 1024 * 256 + 255; keys < 1024 * 256 + 257; keys++) {
		world_of("45.0.0.1", "+45.9.0.1");
		kernels[0].g.capacity = 2;
		in_force.g.keys4 = keys - 7;
		in_force.g.keys6 = 7;
		batch("+46.0.0.0*1024", "46.0.0.0");
		end();
	}
	world_of("45.0.0.1", "+45.9.0.1");
	kernels[0].g.capacity = 2;
	given.anew = -E2BIG;
	batch("+46.0.0.1", "46.0.0.1");
	end();
}

/* Without a roster: the filter may hit what is needed, and does not tell what is allowed. */
static void bits_alone(void)
{
	struct state *s = kept(LISTS_OF_BOTH);
	__u64 *filter;

	ENOUGH(!state_set(s, "exact", 0));
	orders(s, "+45.9.0.1", NULL);
	begin(s);
	ENOUGH(!state_commit(s));
	state_close(s);
	batch("+46.0.0.1", "46.0.0.1");
	need = "46.0.0.2";
	batch("+46.0.0.3", "46.0.0.2 46.0.0.3");
	batch("+46.0.0.2", "46.0.0.2");
	batch("+46.0.0.2", "46.0.0.2");
	batch("-46.0.0.2", "46.0.0.2");
	given.needs = -EIO;
	batch("+46.0.0.4", "46.0.0.4");
	given.needs = 0;
	/* Networks alone, so that there is no filter; but what is set says that there will be none. */
	end();
	s = kept("");
	ENOUGH(!state_set(s, "exact", 0));
	orders(s, "+45.9.0.0/24", NULL);
	begin(s);
	ENOUGH(!state_commit(s));
	state_close(s);
	batch("+46.9.0.0/24", "46.9.0.1");
	end();
	s = kept("");
	ENOUGH(!state_set(s, "exact", 0));
	put_list_of(s, "allowed", LIST_ALLOW, "", "46.9.0.0/16");
	orders(s, "+45.9.0.0/24", NULL);
	begin(s);
	ENOUGH(!state_commit(s));
	state_close(s);
	batch("+47.9.0.0/24", "47.9.0.1");
	end();
	s = kept(LISTS_OF_BOTH);
	ENOUGH(!state_set(s, "exact", 0));
	begin(s);
	ENOUGH(!state_commit(s));
	state_close(s);
	/* The filter hits it already: no ban makes that worse. */
	need = "46.0.0.77";
	batch("+46.0.0.5", "46.0.0.5");
	filter = (__u64 *)kernels[0].g.filter;
	for (__u64 i = 0; i < array_bytes(&kernels[0].g, ARRAY_FILTER) / 8; i++)
		filter[i] = ~0ull;
	batch("+46.0.0.6 +47.0.1.0/24", "47.0.1.9");
	end();
}

/* Two addresses of a /24 that share a bit of the filter, and nothing else of either is missing: the ban of one is the
 * drop of the other.
 */
static void by_chance(void)
{
	static __u64 bits[256][1 << 12];
	struct state *s = kept(LISTS_OF_BOTH);
	char ban[2][32];
	__u64 *filter, size;
	unsigned int a = 0, b = 0;

	silent = true;
	ENOUGH(!state_set(s, "exact", 0));
	begin(s);
	ENOUGH(!state_commit(s));
	state_close(s);
	size = array_bytes(&kernels[0].g, ARRAY_FILTER);
	ENOUGH(size <= sizeof(bits[0]));
	memset(bits, 0, sizeof(bits));
	for (unsigned int i = 3; i < 256; i++) {
		struct generation g = kernels[0].g;

		g.filter = (uintptr_t)bits[i];
		filter_set(&g, hash_ipv4(g.hash, 0x2d000000 + i));
		for (unsigned int k = 3; k < i && !a; k++)
			for (__u64 at = 0; at < size / 8 && !a; at++)
				if (bits[i][at] & bits[k][at]) {
					a = i;
					b = k;
				}
	}
	ENOUGH(a);
	filter = (__u64 *)kernels[0].g.filter;
	for (__u64 at = 0; at < size / 8; at++)
		filter[at] = ~(bits[a][at] & bits[b][at]);
	snprintf(ban[0], sizeof(ban[0]), "45.0.0.%u", a);
	snprintf(ban[1], sizeof(ban[1]), "45.0.0.%u", b);
	for (int i = 0; i < 3; i++) {
		struct touched t = { 0 };

		/* Itself is banned, not by chance; who is not needed may be dropped; but not the other one. */
		need = i == 0 ? ban[0] : i == 1 ? NULL : ban[1];
		in_place = built_anew = 0;
		s = opened(true);
		ENOUGH(s);
		order(s, '+', (struct addr){ 0x2d000000 + a, 4 }, 32, &t);
		CHECK(!put_in_force(s, &t) && in_place == (i < 2) && built_anew == (i == 2),
		      "%s is banned, %s is needed: in place %u, anew %u", ban[0], need ?: "nobody", in_place,
		      built_anew);
		state_close(s);
		if (i == 2)
			break;
		CHECK((decide_ipv4(&kernels[0].g, 0x2d000000 + b) & ANSWER_DROP) != 0, "no drop by chance");
		for (__u64 at = 0; at < size / 8; at++)
			filter[at] = ~(bits[a][at] & bits[b][at]);
	}
	end();
}

/* What was touched, and then each call on its way into force. */
static void each_call_fails(void)
{
	static const struct {
		const char *bans, *does, *need, *scoped;
		bool bits;
	} worlds[] = {
		{ "+45.9.0.1 ~45.9.0.2 +2001:db8:a::/48 +2001:db8:a:1::/64",
		  "+46.0.0.1 ~46.0.0.2 -45.9.0.1 -2001:db8:a:1::/64", NULL, NULL, false },
		{ "+45.9.0.1", "+46.0.0.1", "46.0.0.2", NULL, true },
		{ "+45.9.0.1", "+47.0.0.3 +2001:db8:b::/64", NULL, "47.0.0.1 47.0.0.2", false },
	};

	for (size_t i = 0; i < sizeof(worlds) / sizeof(*worlds); i++)
		for (int at = 0; at < 200; at++) {
			struct touched t = { 0 };
			struct state *s = kept(LISTS_OF_BOTH);
			int err;

			ENOUGH(!(state_set)(s, "exact", !worlds[i].bits));
			if (worlds[i].scoped)
				put_list_of(s, "scoped", LIST_BAN, "tcp/22", worlds[i].scoped);
			orders(s, worlds[i].bans, NULL);
			begin(s);
			ENOUGH(!(state_commit)(s));
			state_close(s);
			need = worlds[i].need;
			s = opened(true);
			ENOUGH(s);
			orders(s, worlds[i].does, &t);
			failed = NULL;
			succeed = at;
			err = put_in_force(s, &t);
			succeed = -1;
			state_close(s);
			line("call %d, %s: %s", at, failed ?: "none", err ? reason(err) : "done");
			end();
			if (!failed)
				break;
		}
	for (int at = 0; at < 200; at++) {
		struct touched t = { 0 };
		int err;

		failed = NULL;
		succeed = at;
		err = touched_add(&t, (struct addr){ (ip6)0x2001 << 112, 6 }, 64);
		succeed = -1;
		line("touched, call %d, %s: %s", at, failed ?: "none", err ? reason(err) : "done");
		touched_free(&t);
		if (!failed)
			break;
	}
}

static void word_for_word(void)
{
	static const struct {
		const char *name;
		void (*happens)(void);
	} each[] = { { "in and out", in_and_out },     { "with an end", with_an_end },
		     { "the last one", the_last },     { "refused", is_refused },
		     { "beside lists", beside_lists }, { "beside an image", beside_an_image },
		     { "on trial", on_trial },	       { "floods", floods },
		     { "bits alone", bits_alone },     { "each call fails", each_call_fails } };

	silent = false;
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		shows_begin(&shows);
		each[i].happens();
		shows_as(&shows, each[i].name);
	}
}

/* --- Against a model --- */

enum { FOURS = 24, SIXES = 24, ROUNDS = 60 };

static struct {
	struct prefix prefix[FOURS + SIXES];
	char ban[FOURS + SIXES]; /* 0, '+' or '~' */
} world;

static bool holds_addr(const struct prefix *p, struct addr addr)
{
	return p->first.family == addr.family && !((addr.num ^ p->first.num) & ~addr_mask(addr.family, p->length));
}

static bool is_right(struct addr addr)
{
	const struct generation *g = &kernels[0].g;
	__u32 answer = guard_decide(g, addr);
	bool lasts = false, ends = false, is = answer & ANSWER_DROP;

	for (size_t i = 0; i < FOURS + SIXES; i++)
		if (world.ban[i] && holds_addr(&world.prefix[i], addr))
			*(world.ban[i] == '+' ? &lasts : &ends) = true;
	return CHECK(is == (lasts || ends), "IPv%d %" PRIx64 " %" PRIx64 ": %s", addr.family,
		     (uint64_t)(addr.num >> 64), (uint64_t)addr.num, is ? "dropped" : "passes") &&
	       (!is || !g->ends ||
		CHECK((ANSWER_LABEL(answer) == LABEL_ENDS) == !lasts, "IPv%d %" PRIx64 " %" PRIx64 " is on account %u",
		      addr.family, (uint64_t)(addr.num >> 64), (uint64_t)addr.num, ANSWER_LABEL(answer)));
}

/* One that lasted ends now, in one batch with what is around it, or beside it. */
static void ends_in_one(void)
{
	static const unsigned int lengths[][2] = { { 48, 64 }, { 64, 48 }, { 64, 64 } };

	silent = true;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct state *s = kept("45.0.0.1 45.0.0.2 2001:db8::/48 2001:db8:0:1::/64");
		struct touched t = { 0 };

		memset(&world, 0, sizeof(world));
		for (size_t k = 0; k < 2; k++) {
			struct prefix *p = &world.prefix[k];

			*p = (struct prefix){ { (ip6)0x20010db9 << 96, 6 }, lengths[i][k] };
			if (lengths[i][k] == 64)
				p->first.num |= (ip6)(k + 2) << 64;
			world.ban[k] = lengths[i][k] == 64 ? '+' : '~';
			order(s, world.ban[k], p->first, p->length, NULL);
		}
		order(s, '~', (struct addr){ 0x2d090001, 4 }, 32, NULL);
		begin(s);
		ENOUGH(!state_commit(s));
		for (size_t k = 0; k < 2; k++)
			CHECK(is_right(world.prefix[k].first), "%zu, before", i);
		state_close(s);
		s = opened(true);
		for (size_t k = 0; k < 2; k++) {
			order(s, '~', world.prefix[k].first, world.prefix[k].length, &t);
			world.ban[k] = '~';
		}
		CHECK(!put_in_force(s, &t), "%zu: refused", i);
		for (size_t k = 0; k < 2; k++)
			CHECK(is_right(world.prefix[k].first), "%zu: it goes on", i);
		state_close(s);
		end();
	}
}

static void batches(void)
{
	static const unsigned int lengths[] = { 48, 48, 52, 64, 64, 64 };
	struct state *s = kept("45.0.0.1 45.0.0.2 2001:db8::/48 2001:db8:0:1::/64");

	silent = true;
	in_place = built_anew = 0;
	memset(&world, 0, sizeof(world));
	for (size_t i = 0; i < FOURS + SIXES; i++) {
		struct prefix *p = &world.prefix[i];

		if (i < FOURS)
			*p = (struct prefix){ { 0x2e000000 + (ip6)(ktap_random() % 24), 4 },
					      32 - (unsigned int)(ktap_random() % 3) };
		else
			*p = (struct prefix){ { (ip6)0x20010db9 << 96 | (ip6)(ktap_random() % 2) << 80 |
							(ip6)(ktap_random() % 4) << 64,
						6 },
					      lengths[ktap_random() % 6] };
		p->first.num &= ~addr_mask(p->first.family, p->length);
		/* Each once: a second one would be the same ban. */
		for (size_t k = 0; k < i; k++)
			if (world.prefix[k].length == p->length && world.prefix[k].first.family == p->first.family &&
			    world.prefix[k].first.num == p->first.num)
				*p = (struct prefix){ { (ip6)0x2002 << 112 | (ip6)i << 64, 6 }, 64 };
	}
	order(s, '~', (struct addr){ 0x2d090001, 4 }, 32, NULL);
	order(s, '+', (struct addr){ (ip6)0x20010dba << 96, 6 }, 48, NULL);
	begin(s);
	ENOUGH(!state_commit(s));
	state_close(s);
	for (int round = 0; round < ROUNDS && !ktap_failed; round++) {
		struct touched t = { 0 };
		int err;

		s = opened(true);
		ENOUGH(s);
		for (unsigned int n = 1 + (unsigned int)(ktap_random() % 3); n; n--) {
			size_t i = ktap_random() % (FOURS + SIXES);
			char what = "+~--"[ktap_random() % 4];

			order(s, what, world.prefix[i].first, world.prefix[i].length, &t);
			world.ban[i] = what == '-' ? 0 : what;
		}
		err = put_in_force(s, &t);
		CHECK(!err, "error %d: %s", err, reason(err));
		state_close(s);
		for (ip6 addr = 0x2e000000 - 4; addr < 0x2e000000 + 32; addr++)
			if (!is_right((struct addr){ addr, 4 }))
				break;
		for (size_t i = FOURS; i < FOURS + SIXES; i++) {
			const struct prefix *p = &world.prefix[i];

			if (!is_right(p->first) ||
			    !is_right((struct addr){ p->first.num | addr_mask(6, p->length), 6 }))
				break;
		}
	}
	printf("# %u in place, %u anew\n", in_place, built_anew);
	CHECK(in_place > 10 && built_anew > 5, "%u in place, %u anew", in_place, built_anew);
	end();
}

int main(void)
{
	static const struct ktap_case cases[] = { { "against the model", batches },
						  { "ends in one batch", ends_in_one },
						  { "by chance", by_chance },
						  { "word for word", word_for_word } };

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
