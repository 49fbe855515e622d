// SPDX-License-Identifier: GPL-2.0-only
/*
 * Is what is needed dropped at a time at which it was not? On each side of each bound, by lists and bans and by an
 * image, one that waits, too; and where what was, or what is, cannot be read. The states are made up.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "change/guard_needs.h"
#include "change/own_addresses.h"
#include "image/image.h"
#include "ktap.h"
#include "sets/scope.h"
#include "state/kept_image.h"
#include "state/settings.h"
#include "state/state.h"
#include "state/until.h"

#define MOST 3

static char now_is, was_is; /* their addresses are two states */
#define NOW ((struct state *)(void *)&now_is)
#define WAS ((struct state *)(void *)&was_is)

/* All packets until then, and some from then (0: now) until then. */
struct ends {
	int64_t all, some, from;
};

/*
 * What a state says, of the second one also of its exceptions, and what the image in it drops; whole: nothing of it
 * waits.
 */
static struct says {
	struct ends until[MOST];
	int64_t excepted, again;
	bool image, drops[MOST], shadow;
	bool before, dropped[MOST]; /* by the image that comes back */
	int64_t deadline;
	bool whole;
	int64_t kept; /* where what waits is confirmed, all of its packets until then */
	int64_t due;  /* when `all` of the second one is over, by the machine's start */
} says_now, says_was;

static const char *fails;
static const struct state *fails_in;
static int fails_with;
static unsigned int open_images, open_states, allocated;

static const struct says *of(const struct state *state)
{
	return state == NOW ? &says_now : &says_was;
}

static int call(const struct state *state, const char *name)
{
	return fails && !strcmp(fails, name) && (!fails_in || fails_in == state) ? fails_with : 0;
}

/* One waits. */
#define FIRST 77

static int given_first_kept(struct state *state, int64_t **first, size_t *n)
{
	CHECK(state == NOW, "of what was");
	*first = malloc(2 * sizeof(**first));
	if (!*first)
		abort();
	(*first)[0] = UNTIL_ENDLESS;
	(*first)[1] = FIRST;
	*n = 2;
	return call(state, "pending");
}

static int given_until(struct state *state, const struct addr *addrs, size_t n, int64_t first_kept,
		       struct untils *untils)
{
	static const struct scope ssh = { .only = { { 6, 22, 22 } }, .only_n = 1 };
	const struct says *says = of(state);

	*untils = (struct untils){ .of = calloc(n, sizeof(*untils->of)),
				   .n = n,
				   .scopes = calloc(2, sizeof(*untils->scopes)),
				   .scopes_n = 2,
				   .image = says->whole ? UNTIL_ENDLESS : says->deadline };
	if (!untils->of || !untils->scopes)
		abort();
	untils->scopes[1] = ssh;
	for (size_t i = 0; i < n; i++) {
		const struct ends *ends = &says->until[addrs[i].num];
		struct until *until = &untils->of[i];

		CHECK(addrs[i].num < MOST, "another address");
		until->excepted = addrs[i].num == 1 ? says->excepted : 0;
		until->again = addrs[i].num == 1 ? says->again : 0;
		if (until_dropped(until, (struct period){ 0, ends->all, addrs[i].num == 1 ? says->due : 0, 0 }) ||
		    until_dropped(until, (struct period){ ends->from, ends->some, 0, 1 }))
			abort();
		if (first_kept == FIRST && addrs[i].num == 1 &&
		    until_dropped(until, (struct period){ 0, says->kept, 0, 0 }))
			abort();
	}
	return call(state, "until");
}

static uint64_t given_kept(struct state *state)
{
	return of(state)->image;
}

/* Its number says whose it is. */
static int given_open_image(struct state *state, struct image *image, bool whole)
{
	CHECK(!whole, "it is read from end to end");
	memset(image, 0, sizeof(*image));
	image->g.number = state == NOW;
	image->g.shadows = of(state)->shadow;
	image->g.shadow[0] = 1 << 5;
	if (!call(state, "image"))
		open_images++;
	return call(state, "image");
}

static int given_open_before(struct state *state, struct image *image)
{
	memset(image, 0, sizeof(*image));
	image->g.number = 2 + (state == NOW);
	open_images += of(state)->before && !call(state, "image before");
	return of(state)->before ? call(state, "image before") : -ENOENT;
}

static void given_close_image(struct image *image)
{
	(void)image;
	open_images--;
}

static __u32 given_decide(const struct generation *g, struct addr addr)
{
	const struct says *says = g->number & 1 ? &says_now : &says_was;

	return (g->number & 2 ? says->dropped : says->drops)[addr.num] ? ANSWER_DROP | ANSWER(STAGE_FILTER, 0, 5) : 0;
}

static int given_open(struct state **state, const struct context *context, bool change)
{
	(void)context;
	CHECK(!change, "it is opened to change it");
	*state = NULL;
	if (call(NULL, "open"))
		return call(NULL, "open");
	open_states++;
	*state = WAS;
	return 0;
}

static void given_close(struct state *state)
{
	open_states -= state == WAS;
}

static void *given_calloc(size_t n, size_t size)
{
	return fails && !strcmp(fails, "calloc") && ++allocated == (unsigned int)-fails_with ? NULL : calloc(n, size);
}

#define state_first_kept   given_first_kept
#define state_until	   given_until
#define image_kept	   given_kept
#define image_kept_open	   given_open_image
#define image_before_open  given_open_before
#define image_close	   given_close_image
#define guard_decide(g, a) given_decide(g, a)
#define state_open	   given_open
#define state_close	   given_close
#define calloc		   given_calloc
#include "change/guard_until.c"
#undef calloc

static const struct own_address own[MOST] = { { .addr = { 0, 4 } }, { .addr = { 1, 4 } }, { .addr = { 2, 6 } } };

static void begin(void)
{
	says_now = says_was = (struct says){ .image = false };
	fails = NULL;
	fails_in = NULL;
	allocated = 0;
}

#define EVER UNTIL_ENDLESS

static bool is_longer(const char *what)
{
	const struct ends *is = &says_now.until[1];
	int64_t longer[MOST] = { 1, 1, 1 };

	CHECK(!guard_longer(NOW, NULL, own, MOST, longer), "%s: refused", what);
	CHECK(!longer[0] && !longer[2], "%s: another one is longer", what);
	CHECK(!open_images && !open_states, "%s: something is left open", what);
	CHECK(!longer[1] || says_now.image || is->from || longer[1] == (is->all > is->some ? is->all : is->some),
	      "%s: until %lld", what, (long long)longer[1]);
	return longer[1] != 0;
}

static bool is_anyway(const char *what, const char *scope, bool wanted)
{
	bool anyway[MOST] = { true, true, true }, ever[MOST] = { true, true, !wanted };

	CHECK(!guard_anyway(NOW, own, MOST, scope, anyway), "%s: refused", what);
	CHECK(!anyway[0] && !anyway[2], "%s: another one is dropped anyway", what);
	CHECK(!guard_ever(NOW, own, MOST, ever), "%s: refused", what);
	CHECK(!ever[0] && !ever[2] && ever[1] == wanted, "%s: ever %d, %d, %d", what, ever[0], ever[1], ever[2]);
	return anyway[1];
}

static void behind(void)
{
	begin();
	says_now.until[1] = (struct ends){ .all = 1000, .some = 1500, .from = 1200 };
	CHECK(!guard_after(NOW, &own[0], 0), "what is never dropped");
	CHECK(guard_after(NOW, &own[1], 999) && guard_after(NOW, &own[1], 1497), "some of it is dropped then");
	CHECK(!guard_after(NOW, &own[1], 1498) && !guard_after(NOW, &own[1], UNTIL_ENDLESS), "it is over then");
	says_now.kept = EVER;
	CHECK(!guard_after(NOW, &own[1], 1498), "what is not confirmed");
	says_now.image = says_now.drops[1] = true;
	says_now.deadline = 3000;
	CHECK(guard_after(NOW, &own[1], 1498) && !guard_after(NOW, &own[1], 3000), "the image goes back");
	says_now.before = says_now.dropped[1] = true;
	CHECK(guard_after(NOW, &own[1], 3000), "the image that comes back");
	fails = "until";
	fails_with = -EIO;
	CHECK(guard_after(NOW, &own[0], 3000), "what cannot be read");
	fails = "calloc";
	fails_with = -1;
	CHECK(guard_after(NOW, &own[0], 3000), "no memory");
	CHECK(!open_images && !open_states, "something is left open");
}

static void bounds(void)
{
	static const struct {
		struct ends is, was;
		bool longer, anyway;
	} known[] = {
		{ { 0, 0, 0 }, { 0, 0, 0 }, false, false },
		{ { 1000, 0, 0 }, { 1000, 0, 0 }, false, false },
		{ { 1002, 0, 0 }, { 1000, 0, 0 }, false, false },
		{ { 1003, 0, 0 }, { 1000, 0, 0 }, true, false },
		{ { 998, 0, 0 }, { 1000, 0, 0 }, false, false },
		{ { 0, 1000, 0 }, { 0, 1000, 0 }, false, false },
		{ { 0, 1002, 0 }, { 0, 1000, 0 }, false, false },
		{ { 0, 1003, 0 }, { 0, 1000, 0 }, true, false },
		{ { 0, 2, 0 }, { 0, 0, 0 }, false, false },
		{ { 0, 3, 0 }, { 0, 0, 0 }, true, false },
		{ { 3, 0, 0 }, { 0, 0, 0 }, true, false },
		{ { 1000, 500, 0 }, { 0, 0, 0 }, true, false },
		{ { 500, 1000, 0 }, { 0, 0, 0 }, true, false },
		/* Some of its packets, of which all were dropped. */
		{ { 0, 1002, 0 }, { 1000, 0, 0 }, false, false },
		{ { 0, 1003, 0 }, { 1000, 0, 0 }, true, false },
		{ { 0, 1003, 0 }, { 1000, 1001, 0 }, false, false },
		{ { 0, 1004, 0 }, { 1000, 1001, 0 }, true, false },
		{ { 0, 1003, 0 }, { 1001, 1000, 0 }, false, false },
		/* All of its packets, of which some were. */
		{ { 500, 0, 0 }, { 0, 1000, 0 }, true, false },
		{ { EVER, 0, 0 }, { 0, 0, 0 }, true, true },
		{ { 0, EVER, 0 }, { 0, 0, 0 }, true, true },
		{ { EVER, EVER, 0 }, { EVER, 0, 0 }, false, true },
		{ { EVER, 0, 0 }, { EVER - 2, 0, 0 }, false, true },
		{ { EVER, 0, 0 }, { EVER - 3, 0, 0 }, true, true },
		{ { EVER - 1, 0, 0 }, { 0, 0, 0 }, true, true },
		{ { 0, EVER - 3, 0 }, { 0, 0, 0 }, true, false },
		/* Sooner than it was. */
		{ { 0, EVER, 0 }, { 0, EVER, 2 }, false, true },
		{ { 0, EVER, 0 }, { 0, EVER, 3 }, true, true },
		{ { 0, EVER, 1000 }, { 0, EVER, 1002 }, false, false },
		{ { 0, EVER, 1000 }, { 0, EVER, 1003 }, true, false },
		{ { 0, EVER, 1003 }, { 0, EVER, 1000 }, false, false },
		{ { 0, EVER, 0 }, { 1000, EVER, 1002 }, false, true },
		{ { 0, EVER, 0 }, { 1000, EVER, 1003 }, true, true },
		{ { 1000, EVER, 1000 }, { 0, EVER, 0 }, true, true },
		{ { 1000, EVER, 1003 }, { 1000, EVER, 1003 }, false, false },
		{ { 0, 1500, 1000 }, { 500, 1500, 1000 }, false, false },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const struct ends *is = &known[i].is;
		bool longer, anyway;

		begin();
		says_now.until[1] = *is;
		says_was.until[1] = known[i].was;
		longer = is_longer("bounds");
		anyway = is_anyway("bounds", "tcp/22", is->all || is->some);
		CHECK(longer == known[i].longer, "row %zu: %d", i, longer);
		CHECK(anyway == known[i].anyway, "row %zu: anyway %d", i, anyway);
		CHECK(is_anyway("all", "", is->all || is->some) == (is->all >= EVER - 2), "row %zu: all anyway", i);
	}
}

/* To the last digit where both are counted by that; else by the date. */
static void by_the_start(void)
{
	static const struct {
		struct ends is;
		int64_t is_due;
		struct ends was;
		int64_t was_due;
		bool longer;
	} known[] = {
		{ { 1000, 0, 0 }, 77, { 1000, 0, 0 }, 77, false },
		{ { 1002, 0, 0 }, 77, { 1000, 0, 0 }, 77, false },
		{ { 9000, 0, 0 }, 77, { 1000, 0, 0 }, 77, false },
		{ { 1000, 0, 0 }, 78, { 1000, 0, 0 }, 77, true },
		{ { 1000, 0, 0 }, 78, { 1001, 0, 0 }, 77, true },
		{ { 1000, 0, 0 }, 76, { 1000, 0, 0 }, 77, false },
		{ { 1002, 0, 0 }, 78, { 1000, 0, 0 }, 0, false },
		{ { 1003, 0, 0 }, 78, { 1000, 0, 0 }, 0, true },
		{ { 1002, 0, 0 }, 0, { 1000, 0, 0 }, 77, false },
		{ { 1003, 0, 0 }, 0, { 1000, 0, 0 }, 77, true },
		/* One after the other, and some of what all were. */
		{ { 1000, 0, 0 }, 78, { 1000, EVER, 0 }, 77, true },
		{ { 0, EVER, 0 }, 0, { 1000, EVER, 1002 }, 77, false },
		{ { 0, EVER, 0 }, 0, { 1000, EVER, 1003 }, 77, true },
		{ { 0, 1002, 0 }, 0, { 1000, 900, 0 }, 77, false },
		{ { 0, 1003, 0 }, 0, { 1000, 900, 0 }, 77, true },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		bool longer;

		begin();
		says_now.until[1] = known[i].is;
		says_now.due = known[i].is_due;
		says_was.until[1] = known[i].was;
		says_was.due = known[i].was_due;
		longer = is_longer("by the start");
		CHECK(longer == known[i].longer, "row %zu: %d", i, longer);
	}
}

static bool drops_ever(const struct says *is)
{
	return is->until[1].all || is->until[1].some || (is->before && is->dropped[1]) ||
	       (is->image && is->drops[1] && !is->shadow && is->excepted < (is->whole ? EVER : is->deadline));
}

static void images(void)
{
	static const struct {
		struct says is, was;
		bool longer, anyway;
	} known[] = {
		{ { .image = true }, { .image = false }, false, false },
		{ { .image = true, .drops = { 0, 1 }, .whole = true }, { .image = false }, true, true },
		{ { .image = true, .drops = { 0, 1 }, .whole = true, .shadow = true },
		  { .image = false },
		  false,
		  false },
		{ { .image = true, .drops = { 0, 1 }, .deadline = 1000 }, { .image = false }, true, false },
		{ { .image = true, .drops = { 0, 1 }, .deadline = 1000 },
		  { .until = { { 0, 0, 0 }, { 1000, 0, 0 } } },
		  false,
		  false },
		{ { .image = true, .drops = { 0, 1 }, .deadline = 1003 },
		  { .until = { { 0, 0, 0 }, { 1000, 0, 0 } } },
		  true,
		  false },
		/* A ban lasts longer than the image does. */
		{ { .until = { { 0, 0, 0 }, { 2000, 0, 0 } }, .image = true, .drops = { 0, 1 }, .deadline = 1000 },
		  { .until = { { 0, 0, 0 }, { 1500, 0, 0 } } },
		  true,
		  false },
		{ { .until = { { 0, 0, 0 }, { 1000, 0, 0 } }, .image = true, .drops = { 0, 1 }, .whole = true },
		  { .image = true, .drops = { 0, 1 }, .whole = true },
		  false,
		  true },
		{ { .until = { { 0, 0, 0 }, { 1000, 0, 0 } } },
		  { .image = true, .drops = { 0, 1 }, .deadline = 500 },
		  true,
		  false },
		{ { .until = { { 0, 0, 0 }, { 1000, 0, 0 } } },
		  { .image = true, .drops = { 0, 1 }, .deadline = 999 },
		  false,
		  false },
		{ { .until = { { 0, 0, 0 }, { 1000, 0, 0 } } },
		  { .image = true, .drops = { 1, 0 }, .whole = true },
		  true,
		  false },
		/* What an exception lets through while the image is in force, or from some time on. */
		{ { .image = true, .drops = { 0, 1 }, .whole = true, .excepted = EVER },
		  { .image = true, .drops = { 0, 1 }, .whole = true },
		  false,
		  true },
		{ { .image = true, .drops = { 0, 1 }, .whole = true, .excepted = 1000 },
		  { .image = true, .drops = { 0, 1 }, .whole = true, .excepted = EVER },
		  true,
		  true },
		{ { .image = true, .drops = { 0, 1 }, .deadline = 1000, .excepted = 1000 },
		  { .image = false },
		  false,
		  false },
		/* One that comes back. */
		{ { .image = true, .deadline = 1000, .before = true, .dropped = { 0, 1 } },
		  { .image = true, .drops = { 0, 1 }, .whole = true },
		  false,
		  false },
		{ { .image = true, .deadline = 1000, .before = true, .dropped = { 0, 1 } },
		  { .image = true, .deadline = 1000, .before = true, .dropped = { 0, 1 }, .excepted = EVER },
		  true,
		  false },
		/* Sooner than the one that comes back. */
		{ { .image = true,
		    .deadline = 1000,
		    .before = true,
		    .dropped = { 0, 1 },
		    .until = { { 0, 0, 0 }, { EVER, 0, 0 } } },
		  { .image = true, .deadline = 1000, .before = true, .dropped = { 0, 1 } },
		  true,
		  true },
		{ { .image = true,
		    .deadline = 1000,
		    .before = true,
		    .dropped = { 0, 1 },
		    .until = { { 0, 0, 0 }, { 0, 1000, 0 } } },
		  { .image = true, .drops = { 0, 1 }, .deadline = 1000, .before = true, .dropped = { 0, 1 } },
		  false,
		  false },
		{ { .image = true, .drops = { 0, 1 }, .deadline = 1000, .before = true },
		  { .image = true, .whole = true },
		  true,
		  false },
		{ { .image = true, .drops = { 0, 1 }, .whole = true, .again = 1000 },
		  { .image = true, .drops = { 0, 1 }, .whole = true, .excepted = EVER },
		  true,
		  true },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		bool longer, anyway;

		begin();
		says_now = known[i].is;
		says_was = known[i].was;
		longer = is_longer("images");
		anyway = is_anyway("images", "", drops_ever(&known[i].is));
		CHECK(longer == known[i].longer, "row %zu: %d", i, longer);
		CHECK(anyway == known[i].anyway, "row %zu: anyway %d", i, anyway);
	}
}

/* What was and cannot be read dropped nothing; of what is, the image alone may be missing. */
static void failures(void)
{
	static const struct {
		const char *call;
		bool of_now;
		int with, err;
		bool longer;
	} known[] = {
		{ "open", false, -EIO, 0, true },	    { "until", false, -EIO, 0, true },
		{ "until", true, -EIO, -EIO, false },	    { "image", true, -ENOENT, 0, false },
		{ "image", true, -ENOMEM, -ENOMEM, false }, { "image", false, -EIO, 0, true },
		{ "image", false, -ENOMEM, 0, true },	    { NULL, false, 0, 0, false },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		bool anyway[MOST] = { 0 }, ever[MOST] = { 0 };
		int64_t longer[MOST] = { 0 };
		int err;

		begin();
		says_now.until[1].all = 1000;
		says_now.image = says_was.image = says_now.drops[1] = says_was.drops[1] = true;
		says_now.deadline = says_was.deadline = 3000;
		if (known[i].call && !strcmp(known[i].call, "until") && !known[i].of_now)
			says_now.image = false;
		fails = known[i].call;
		fails_in = known[i].of_now ? NOW : fails && !strcmp(fails, "open") ? NULL : WAS;
		fails_with = known[i].with;
		err = guard_longer(NOW, NULL, own, MOST, longer);
		CHECK(err == known[i].err && (longer[1] != 0) == known[i].longer, "row %zu: %d, %lld", i, err,
		      (long long)longer[1]);
		CHECK(!open_images && !open_states, "row %zu: something is left open", i);
		err = guard_anyway(NOW, own, MOST, "", anyway);
		CHECK(err == (known[i].of_now ? known[i].err : 0) && !anyway[1], "row %zu: %d, %d", i, err, anyway[1]);
		err = guard_ever(NOW, own, MOST, ever);
		CHECK(err == (known[i].of_now && err_is(known[i].err, ENOMEM) ? known[i].err : 0), "row %zu: %d", i,
		      err);
		CHECK(err || (ever[1] && ever[0] == (known[i].of_now && known[i].err)), "row %zu: ever %d, %d", i,
		      ever[0], ever[1]);
	}
}

/* What waits is confirmed: one that was there before, or not. */
static void kept(void)
{
	static const struct {
		int64_t all, was, kept, was_kept, longer;
		bool anyway;
	} known[] = {
		{ 1000, 1000, 0, 0, 0, false },	      { 1000, 1000, 1002, 0, 0, false },
		{ 1000, 1000, 1003, 0, 1, false },    { 1000, 1000, EVER, 0, 1, false },
		{ 1000, 1000, EVER, EVER, 0, false }, { 1003, 1000, EVER, EVER, 1003, false },
		{ 1003, 1000, EVER, 0, 1003, false }, { EVER, 1000, EVER, 1000, EVER, true },
		{ EVER, EVER, 1000, 0, 0, true },
	};
	int64_t longer[MOST];
	bool anyway[MOST];

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		for (size_t k = 0; k < MOST; k++)
			longer[k] = 1;
		begin();
		says_now.until[1].all = known[i].all;
		says_was.until[1].all = known[i].was;
		says_now.kept = known[i].kept;
		says_was.kept = known[i].was_kept;
		CHECK(!guard_longer(NOW, NULL, own, MOST, longer) && longer[1] == known[i].longer, "row %zu: %lld", i,
		      (long long)longer[1]);
		CHECK(!longer[0] && !longer[2], "another one is longer");
		CHECK(is_anyway("kept", "", true) == known[i].anyway, "row %zu: anyway", i);
	}
	fails = "pending";
	fails_with = -EIO;
	CHECK(err_is(guard_longer(NOW, NULL, own, MOST, longer), EIO) && !longer[1] && !open_states, "unknown: longer");
	CHECK(err_is(guard_anyway(NOW, own, MOST, "", anyway), EIO) && !anyway[1], "unknown: anyway");
}

/* Three seconds are longer than nothing. */
static void nothing_before(void)
{
	begin();
	says_now.until[1].all = 2;
	says_was.until[1].all = 1000;
	fails = "open";
	fails_with = -EIO;
	CHECK(!is_longer("two seconds"), "two seconds are longer");
	says_now.until[1].all = 3;
	CHECK(is_longer("three seconds"), "three seconds are no longer");
}

static void no_memory(void)
{
	for (int at = 1; at <= 2; at++) {
		int64_t longer[MOST] = { 0 };
		int err;

		begin();
		says_now.until[1].all = says_was.until[1].all = 1000;
		fails = "calloc";
		fails_with = -at;
		err = guard_longer(NOW, NULL, own, MOST, longer);
		CHECK(at < 2 ? err_is(err, ENOMEM) : !err, "allocation %d: %d", at, err);
		CHECK((longer[1] != 0) == (at > 1), "allocation %d: %lld", at, (long long)longer[1]);
		CHECK(!open_states, "allocation %d: a state is left open", at);
	}
	begin();
	fails = "calloc";
	fails_with = -1;
	CHECK(!guard_longer(NOW, NULL, own, 0, NULL) && !guard_anyway(NOW, own, 0, "", NULL) &&
		      !guard_ever(NOW, own, 0, NULL),
	      "of nobody");
	CHECK(!allocated, "of nobody it takes memory");
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "bounds", bounds },
		{ "by the start", by_the_start },
		{ "images", images },
		{ "kept", kept },
		{ "behind a time", behind },
		{ "what cannot be read", failures },
		{ "nothing before", nothing_before },
		{ "no memory", no_memory },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
