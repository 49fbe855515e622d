// SPDX-License-Identifier: GPL-2.0-only
/* An image in force takes the place of all lists: its arrays are copied, not built. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apply_room.h"
#include "decide.h"
#include "guard.h"
#include "image.h"
#include "image_kept.h"
#include "log.h"
#include "state.h"

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

/* There are no sets to be asked: the arrays are. */
static int covering(const void *arg, struct addr addr)
{
	const struct generation *g = arg;
	__u32 answer = addr.family == 4 ? decide_ipv4(g, (__u32)addr.num)
					: decide_ipv6(g, (__u64)(addr.num >> 64), (__u64)addr.num);

	return decide_shadow(g, answer) & ANSWER_DROP ? (int)addr_width(addr.family) : -1;
}

int apply_image_fits(struct state *state, const struct image *image)
{
	unsigned long long needs = arrays_total(&image->g), limit = apply_settings(state).memory_max;

	return needs > limit
		       ? because(-E2BIG, "this image needs %llu bytes in the kernel; the limit is %llu", needs, limit)
		       : 0;
}

int apply_image(struct state *state, const struct apply_options *options, struct candidate *c)
{
	struct settings settings = apply_settings(state);
	struct image image;
	struct generation g;
	int err = refuse_lists(state);

	if (!err)
		err = image_kept_open(state, &image, true);
	if (err)
		return err;
	err = apply_image_fits(state, &image);
	if (!err && options->guarded)
		err = guard_own_by(covering, &image.g, "the image", kernel_drops);
	if (!err && !options->dry_run) {
		g = image.g;
		g.number = apply_next_number(state);
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
