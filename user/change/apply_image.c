// SPDX-License-Identifier: GPL-2.0-only
/* An image replaces all lists: its arrays are copied, not built. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bpf/decide.h"
#include "change/apply_internal.h"
#include "change/exceptions.h"
#include "change/guard_needs.h"
#include "change/guard_rails.h"
#include "filter/build.h"
#include "filter/measured_rate.h"
#include "image/beside.h"
#include "image/image.h"
#include "kernel/live.h"
#include "state/bans.h"
#include "state/kept_image.h"
#include "state/settings.h"
#include "state/settle.h"
#include "state/state.h"

static int refuse_lists(struct state *state)
{
	struct list_info *lists;
	size_t n, i = 0;
	int err = state_lists(state, &lists, &n);
	bool bans;

	while (!err && i < n && !strcmp(lists[i].name, EXCEPTIONS))
		i++;
	bans = !err && i < n && lists[i].kind != LIST_ALLOW;
	free(lists);
	if (err || i == n)
		return err;
	return because(-EBUSY,
		       "an image is in force, and takes no lists beside it, but %s: xdp-bloom %s - <FILE ('xdp-bloom"
		       " flush' ends the image and what is beside it)",
		       bans ? "bans" : "exceptions", bans ? "add" : "allow");
}

/* An image has no sets, so the arrays decide. */
static int covering(const void *arg, struct addr addr)
{
	const struct generation *g = arg;
	return decide_shadow(g, guard_decide(g, addr)) & ANSWER_DROP ? (int)addr_width(addr.family) : -1;
}

/* And what is beside it, before them. */
struct both {
	const struct generation *g;
	struct beside beside;
};

static int covering_both(const void *arg, struct addr addr)
{
	const struct both *both = arg;

	if (ranges_covering(&both->beside.allowed, addr) >= 0)
		return -1;
	if (ranges_covering(&both->beside.lasting, addr) >= 0 || ranges_covering(&both->beside.ending, addr) >= 0)
		return (int)addr_width(addr.family);
	return covering(both->g, addr);
}

/* Where nothing is in force, all of the image and most of the bans are better than nothing. */
static int read_beside(struct state *state, const struct live *live, const struct apply_options *options,
		       struct beside *b)
{
	const struct guard *guard = options->guard;
	int err;

	*b = (struct beside){ .leave_out = guard->again || guard->spare || !live->g.number,
			      .arrives = options->arrives };
	err = settle_ends(state) ? state_bans_sets(state, time(NULL), NULL, &b->lasting, &b->ending)
				 : state_bans_set(state, time(NULL), NULL, &b->lasting);
	return err ?: state_allowed(state, &b->allowed);
}

/* Longer prefixes are too many to try, and too narrow for a few of them to matter. */
#define RUNG_ASKED 20

static int add_rung(const struct generation *g, unsigned int length, struct ranges *set)
{
	int err = 0;

	for (uint32_t i = 0; length <= RUNG_ASKED && i >> length == 0 && !err; i++) {
		struct addr first = { length ? (ip6)i << (128 - length) : 0, 6 }, inside = first;

		inside.num |= addr_mask(6, length) / 3;
		if (covering(g, first) >= 0 && covering(g, inside) >= 0)
			err = ranges_add_prefix(set, first, length);
	}
	return err;
}

/* As far as the arrays show it: the /24s of the gate, and the shortest IPv6 prefixes. */
static int dropped_whole(const struct generation *g, struct ranges *set)
{
	uint32_t first = 0;
	bool before = false;
	int err = 0;

	for (uint32_t net = 0; net <= 1 << 24 && g->gate4 && !err; net++) {
		struct addr addr = { (ip6)net << 8, 4 };
		bool whole = net < 1 << 24 && gate4_test((const __u8 *)g->gate4, net << 8) >= GATE4_ALL &&
			     covering(g, addr) >= 0;

		if (whole && !before)
			first = net;
		else if (!whole && before)
			err = ranges_add4(set, first << 8, (net << 8) - 1);
		before = whole;
	}
	for (unsigned int i = 0; i < g->rungs && !err; i++)
		err = add_rung(g, g->rung[i].length, set);
	return err ?: ranges_finish(set);
}

/*
 * How much is dropped in all where the filter decides alone: what the gate bans whole, and of what it lets through to
 * the filter as much as the filter takes.
 */
static struct amounts dropped_by_rate(const struct generation *g, const struct rate *rate)
{
	double whole = 0, some = g->gate4 ? 0 : 1 << 24, open = 1;
	__u64 nets6 = g->gate6 ? 1ULL << g->gate6_log2 : 0, asked = 0;

	for (uint32_t net = 0; net < 1 << 24 && g->gate4; net++) {
		unsigned int is = gate4_test((const __u8 *)g->gate4, net << 8);

		whole += is >= GATE4_ALL;
		some += is == GATE4_SOME;
	}
	for (__u64 i = 0; i < nets6; i++)
		asked += ((const __u8 *)g->gate6)[i] != 0;
	if (nets6)
		open = (double)asked / (double)nets6;
	return (struct amounts){ 256 * (whole + some * rate_verdict(g, rate->fpr, 4, 0)),
				 0x1p125 * open * rate_verdict(g, rate->fpr, 6, rate_rungs(g)) };
}

/* What is in force, for comparison. */
struct now {
	struct ranges whole;
	struct amounts by_rate;
};

static int look_at_now(const struct live *live, struct now *now)
{
	struct candidate c;
	struct rate rate;
	int err;

	if (live_map(live, &c, false))
		return 0;
	err = dropped_whole(&c.g, &now->whole);
	rate_measure(&c.g, &rate);
	now->by_rate = dropped_by_rate(&c.g, &rate);
	kernel_release(&c);
	return err;
}

/* A filter that is too full takes whom it does not hold; behind a roster that is settled. */
static int refuse_rate(const struct image *image, const struct rate *rate, const struct now *now)
{
	const struct generation *g = &image->g;

	if (g->roster4 || g->roster6 || !g->filter)
		return 0;
	/* One that was added to since may take some more than it was made for. */
	if (rate_passed(rate, image->header->asked) && rate->fpr > 2 * image->header->asked)
		return guard_because("the image: its filter takes %.3g %% of other addresses, and was made for %.3g %%;"
				     " --force or --wide loads it",
				     100 * rate->fpr, 100 * image->header->asked);
	return guard_share("the image: it bans", now->by_rate, dropped_by_rate(g, rate));
}

static int refuse_wide(const struct image *image, const struct live *live)
{
	struct ranges after = RANGES_EMPTY;
	struct now now = { .whole = RANGES_EMPTY };
	struct rate rate;
	int err = dropped_whole(&image->g, &after) ?: look_at_now(live, &now);

	rate_measure(&image->g, &rate);
	err = err ?: guard_wide(LIST_BAN, NULL, &now.whole, &after, (struct amounts){ 0 }) ?: refuse_rate(image, &rate, &now);
	ranges_free(&now.whole);
	ranges_free(&after);
	return err;
}

static int take_maps(void *arg, struct generation *g)
{
	struct candidate *c = arg;
	int err = kernel_arrays(c, g);

	*g = c->g;
	return err;
}

static void release_maps(void *arg)
{
	kernel_release(arg);
}

static int copy_arrays(struct candidate *c, const struct generation *image, struct generation g)
{
	int err = kernel_arrays(c, &g);

	for (enum array a = 0; a < ARRAYS && !err; a++) {
		unsigned int member = array_kinds[a].member;

		if (array_bytes(image, a))
			memcpy((void *)(uintptr_t)*generation_member(&c->g, member),
			       (const void *)(uintptr_t)*generation_member((struct generation *)image, member),
			       array_bytes(image, a));
	}
	return err;
}

/* The arrays as they are, or as they become with what is beside them. */
static int put_together(struct candidate *c, struct state *state, const struct live *live, const struct image *image,
			const struct beside *beside)
{
	struct build_how how = { .take = take_maps, .release = release_maps, .arg = c };
	struct settings settings = settings_limited(state);
	struct generation g = image->g;
	int err;

	g.number = apply_next_number(state, live);
	g.samples = settings.samples > 0;
	g.embedded = settings.embedded;
	g.inner = settings.inner;
	g.edits = 0;
	g.ends = beside->ending.n4 || beside->ending.n6;
	if (!beside_any(beside))
		return copy_arrays(c, &image->g, g);
	err = beside_build(&g, image, beside, &settings, &how);
	if (!err)
		c->g = g;
	return err;
}

int apply_image(struct state *state, const struct live *live, const struct apply_options *options, struct candidate *c)
{
	struct image image;
	struct both both = { .g = &image.g };
	int err = refuse_lists(state) ?: image_kept_open(state, &image, true);

	if (err)
		return err;
	err = image_fits(state, &image) ?: read_beside(state, live, options, &both.beside);
	options->guard->fixed = true;
	err = err ?: guard_needs(options->guard, state, live, covering_both, &both, "the image", true);
	if (!err && options->narrow)
		err = refuse_wide(&image, live);
	if (!err && !options->dry_run)
		err = put_together(c, state, live, &image, &both.beside);
	beside_free(&both.beside);
	image_close(&image);
	return err;
}
