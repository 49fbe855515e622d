// SPDX-License-Identifier: GPL-2.0-only
/*
 * Is what is needed dropped for longer than before? On each side of each bound, by lists and bans and by an image, one
 * that waits, too; and where what was, or what is, cannot be read. The states are made up.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "change/guard_needs.h"
#include "change/own_addresses.h"
#include "image/image.h"
#include "ktap.h"
#include "state/kept_image.h"
#include "state/settings.h"
#include "state/state.h"
#include "state/until.h"

#define MOST 3

static char now_is, was_is; /* their addresses are two states */
#define NOW ((struct state *)(void *)&now_is)
#define WAS ((struct state *)(void *)&was_is)

struct ends {
	int64_t all, some;
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

static int given_until(struct state *state, const struct addr *addrs, size_t n, struct until *until)
{
	for (size_t i = 0; i < n; i++) {
		CHECK(addrs[i].num < MOST, "another address");
		until[i] = (struct until){ .all = of(state)->until[addrs[i].num].all,
					   .some = of(state)->until[addrs[i].num].some,
					   .excepted = addrs[i].num == 1 ? of(state)->excepted : 0,
					   .again = addrs[i].num == 1 ? of(state)->again : 0 };
	}
	return call(state, "until");
}

static uint64_t given_kept(struct state *state)
{
	return of(state)->image;
}

static int given_pending(struct state *state, struct pending **pending, size_t *n)
{
	*pending = calloc(3, sizeof(**pending));
	if (!*pending)
		abort();
	(*pending)[0] = (struct pending){ .kind = PENDING_LIST, .deadline = 7 };
	(*pending)[1] = (struct pending){ .kind = PENDING_IMAGE, .deadline = of(state)->deadline };
	(*pending)[2] = (struct pending){ .kind = PENDING_INTERFACE, .deadline = 8 };
	if (of(state)->whole)
		(*pending)[1].kind = PENDING_LIST;
	*n = 3;
	return call(state, "pending");
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

#define state_until	   given_until
#define image_kept	   given_kept
#define state_pending	   given_pending
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

static bool is_longer(const char *what)
{
	const struct ends *is = &says_now.until[1];
	int64_t longer[MOST] = { 1, 1, 1 };

	CHECK(!guard_longer(NOW, NULL, own, MOST, longer), "%s: refused", what);
	CHECK(!longer[0] && !longer[2], "%s: another one is longer", what);
	CHECK(!open_images && !open_states, "%s: something is left open", what);
	CHECK(!longer[1] || says_now.image || longer[1] == (is->all > is->some ? is->all : is->some), "%s: until %lld",
	      what, (long long)longer[1]);
	return longer[1] != 0;
}

static bool is_endless(const char *what, bool wanted)
{
	bool endless[MOST] = { true, true, true }, ever[MOST] = { true, true, !wanted };

	CHECK(!guard_endless(NOW, own, MOST, endless), "%s: refused", what);
	CHECK(!endless[0] && !endless[2], "%s: another one is endless", what);
	CHECK(!guard_ever(NOW, own, MOST, ever), "%s: refused", what);
	CHECK(!ever[0] && !ever[2] && ever[1] == wanted, "%s: ever %d, %d, %d", what, ever[0], ever[1], ever[2]);
	return endless[1];
}

#define EVER UNTIL_ENDLESS

static void bounds(void)
{
	static const struct {
		struct ends is, was;
		bool longer, endless;
	} known[] = {
		{ { 0, 0 }, { 0, 0 }, false, false },
		{ { 1000, 0 }, { 1000, 0 }, false, false },
		{ { 1002, 0 }, { 1000, 0 }, false, false },
		{ { 1003, 0 }, { 1000, 0 }, true, false },
		{ { 998, 0 }, { 1000, 0 }, false, false },
		{ { 0, 1000 }, { 0, 1000 }, false, false },
		{ { 0, 1002 }, { 0, 1000 }, false, false },
		{ { 0, 1003 }, { 0, 1000 }, true, false },
		{ { 0, 2 }, { 0, 0 }, false, false },
		{ { 0, 3 }, { 0, 0 }, true, false },
		{ { 3, 0 }, { 0, 0 }, true, false },
		/* Some of its packets, of which all were dropped. */
		{ { 0, 1002 }, { 1000, 0 }, false, false },
		{ { 0, 1003 }, { 1000, 0 }, true, false },
		{ { 0, 1003 }, { 1000, 1001 }, false, false },
		{ { 0, 1004 }, { 1000, 1001 }, true, false },
		{ { 0, 1003 }, { 1001, 1000 }, false, false },
		/* All of its packets, of which some were. */
		{ { 500, 0 }, { 0, 1000 }, true, false },
		{ { EVER, 0 }, { 0, 0 }, true, true },
		{ { 0, EVER }, { 0, 0 }, true, true },
		{ { EVER, EVER }, { EVER, 0 }, false, true },
		{ { EVER, 0 }, { EVER - 2, 0 }, false, true },
		{ { EVER, 0 }, { EVER - 3, 0 }, true, true },
		{ { EVER - 1, 0 }, { 0, 0 }, true, false },
		{ { 0, EVER - 1 }, { 0, 0 }, true, false },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		bool longer, endless;

		begin();
		says_now.until[1] = known[i].is;
		says_was.until[1] = known[i].was;
		longer = is_longer("bounds");
		endless = is_endless("bounds", known[i].is.all || known[i].is.some);
		CHECK(longer == known[i].longer, "row %zu: %d", i, longer);
		CHECK(endless == known[i].endless, "row %zu: endless %d", i, endless);
	}
}

static bool drops_ever(const struct says *is)
{
	return is->until[1].all || (is->before && is->dropped[1]) ||
	       (is->image && is->drops[1] && !is->shadow && is->excepted < (is->whole ? EVER : is->deadline));
}

static void images(void)
{
	static const struct {
		struct says is, was;
		bool longer, endless;
	} known[] = {
		{ { .image = true }, { .image = false }, false, false },
		{ { .image = true, .drops = { 0, 1 }, .whole = true }, { .image = false }, true, true },
		{ { .image = true, .drops = { 0, 1 }, .whole = true, .shadow = true },
		  { .image = false },
		  false,
		  false },
		{ { .image = true, .drops = { 0, 1 }, .deadline = 1000 }, { .image = false }, true, false },
		{ { .image = true, .drops = { 0, 1 }, .deadline = 1000 },
		  { .until = { { 0, 0 }, { 1000, 0 } } },
		  false,
		  false },
		{ { .image = true, .drops = { 0, 1 }, .deadline = 1003 },
		  { .until = { { 0, 0 }, { 1000, 0 } } },
		  true,
		  false },
		/* A ban lasts longer than the image does. */
		{ { .until = { { 0, 0 }, { 2000, 0 } }, .image = true, .drops = { 0, 1 }, .deadline = 1000 },
		  { .until = { { 0, 0 }, { 1500, 0 } } },
		  true,
		  false },
		{ { .until = { { 0, 0 }, { 1000, 0 } }, .image = true, .drops = { 0, 1 }, .whole = true },
		  { .image = true, .drops = { 0, 1 }, .whole = true },
		  false,
		  true },
		{ { .until = { { 0, 0 }, { 1000, 0 } } },
		  { .image = true, .drops = { 0, 1 }, .deadline = 500 },
		  true,
		  false },
		{ { .until = { { 0, 0 }, { 1000, 0 } } },
		  { .image = true, .drops = { 0, 1 }, .deadline = 999 },
		  false,
		  false },
		{ { .until = { { 0, 0 }, { 1000, 0 } } },
		  { .image = true, .drops = { 1, 0 }, .whole = true },
		  true,
		  false },
		/* What an exception lets through while the image is in force, or from some time on. */
		{ { .image = true, .drops = { 0, 1 }, .whole = true, .excepted = EVER },
		  { .image = true, .drops = { 0, 1 }, .whole = true },
		  false,
		  false },
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
		  true },
		{ { .image = true, .deadline = 1000, .before = true, .dropped = { 0, 1 } },
		  { .image = true, .deadline = 1000, .before = true, .dropped = { 0, 1 }, .excepted = EVER },
		  true,
		  true },
		{ { .image = true, .drops = { 0, 1 }, .deadline = 1000, .before = true },
		  { .image = true, .whole = true },
		  true,
		  false },
		{ { .image = true, .drops = { 0, 1 }, .whole = true, .again = 1000 },
		  { .image = true, .drops = { 0, 1 }, .whole = true, .excepted = EVER },
		  true,
		  false },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		bool longer, endless;

		begin();
		says_now = known[i].is;
		says_was = known[i].was;
		longer = is_longer("images");
		endless = is_endless("images", drops_ever(&known[i].is));
		CHECK(longer == known[i].longer, "row %zu: %d", i, longer);
		CHECK(endless == known[i].endless, "row %zu: endless %d", i, endless);
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
		{ "open", false, -EIO, 0, true },     { "until", false, -EIO, 0, true },
		{ "until", true, -EIO, -EIO, false }, { "pending", true, -EIO, 0, false },
		{ "image", true, -ENOENT, 0, false }, { "image", true, -ENOMEM, -ENOMEM, false },
		{ "pending", false, -EIO, 0, true },  { "image", false, -EIO, 0, true },
		{ "image", false, -ENOMEM, 0, true }, { NULL, false, 0, 0, false },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		bool endless[MOST] = { 0 }, ever[MOST] = { 0 };
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
		err = guard_endless(NOW, own, MOST, endless);
		CHECK(err == (known[i].of_now ? known[i].err : 0) && !endless[1], "row %zu: %d, %d", i, err,
		      endless[1]);
		err = guard_ever(NOW, own, MOST, ever);
		CHECK(err == (known[i].of_now && err_is(known[i].err, ENOMEM) ? known[i].err : 0), "row %zu: %d", i,
		      err);
		CHECK(err || (ever[1] && ever[0] == (known[i].of_now && known[i].err)), "row %zu: ever %d, %d", i,
		      ever[0], ever[1]);
	}
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
	for (int at = 1; at <= 4; at++) {
		int64_t longer[MOST] = { 0 };
		int err;

		begin();
		says_now.until[1].all = says_was.until[1].all = 1000;
		fails = "calloc";
		fails_with = -at;
		err = guard_longer(NOW, NULL, own, MOST, longer);
		CHECK(at < 3 ? err_is(err, ENOMEM) : !err, "allocation %d: %d", at, err);
		CHECK((longer[1] != 0) == (at > 2), "allocation %d: %lld", at, (long long)longer[1]);
		CHECK(!open_states, "allocation %d: a state is left open", at);
	}
	begin();
	fails = "calloc";
	fails_with = -1;
	CHECK(!guard_longer(NOW, NULL, own, 0, NULL) && !guard_endless(NOW, own, 0, NULL) &&
		      !guard_ever(NOW, own, 0, NULL),
	      "of nobody");
	CHECK(!allocated, "of nobody it takes memory");
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "bounds", bounds },
		{ "images", images },
		{ "what cannot be read", failures },
		{ "nothing before", nothing_before },
		{ "no memory", no_memory },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
