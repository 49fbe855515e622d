// SPDX-License-Identifier: GPL-2.0-only
/* An image replaces all lists: its arrays are copied, not built. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/decide.h"
#include "change/apply_internal.h"
#include "change/guard_rails.h"
#include "image/image.h"
#include "state/kept_image.h"
#include "state/settings.h"
#include "state/state.h"

static int refuse_lists(struct state *state)
{
	struct list_info *lists;
	size_t n;
	int err = state_lists(state, &lists, &n);

	free(lists);
	if (err || !n)
		return err;
	return because(-EBUSY, "an image is in force, and takes no lists beside it: 'xdp-bloom flush' ends it");
}

/* An image has no sets, so the arrays decide. */
static int covering(const void *arg, struct addr addr)
{
	const struct generation *g = arg;
	__u32 answer = addr.family == 4 ? decide_ipv4(g, (__u32)addr.num)
					: decide_ipv6(g, (__u64)(addr.num >> 64), (__u64)addr.num);

	return decide_shadow(g, answer) & ANSWER_DROP ? (int)addr_width(addr.family) : -1;
}

/* Longer prefixes are too many to try, and too narrow for a few of them to matter. */
#define RUNG_ASKED 20

static int add_rung(const struct generation *g, unsigned int length, struct ranges *set)
{
	int err = 0;

	for (uint32_t i = 0; i >> length == 0 && length <= RUNG_ASKED && !err; i++) {
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

static int refuse_wide(const struct image *image, const struct live *live)
{
	struct ranges before = RANGES_EMPTY, after = RANGES_EMPTY;
	struct candidate c;
	int err = dropped_whole(&image->g, &after);

	if (!err && !live_map(live, &c, false)) {
		err = dropped_whole(&c.g, &before);
		kernel_release(&c);
	}
	err = err ?: guard_wide(NULL, &before, &after);
	ranges_free(&before);
	ranges_free(&after);
	return err;
}

int apply_image(struct state *state, const struct live *live, const struct apply_options *options, struct candidate *c)
{
	struct settings settings = settings_limited(state);
	struct image image;
	struct generation g;
	int err = refuse_lists(state) ?: image_kept_open(state, &image, true);

	if (err)
		return err;
	err = image_fits(state, &image);
	if (!err && options->guarded)
		err = guard_own_by(covering, &image.g, "the image", live);
	if (!err && options->narrow)
		err = refuse_wide(&image, live);
	if (!err && !options->dry_run) {
		g = image.g;
		g.number = apply_next_number(state, live);
		g.samples = settings.samples > 0;
		g.edits = 0;
		err = kernel_arrays(c, &g);
	}
	for (enum array a = 0; a < ARRAYS && !err && !options->dry_run; a++) {
		unsigned int member = array_kinds[a].member;

		if (array_bytes(&image.g, a))
			memcpy((void *)(uintptr_t)*generation_member(&c->g, member),
			       (const void *)(uintptr_t)*generation_member(&image.g, member), array_bytes(&image.g, a));
	}
	image_close(&image);
	return err;
}
