// SPDX-License-Identifier: GPL-2.0-only
#include "observe/in_force.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "state/kept_image.h"
#include "state/line_times.h"
#include "kernel/generation.h"
#include "state/settings.h"
#include "state/state.h"

/* If the state cannot be read, the arrays in the kernel can still be shown. */
static void read_state(const struct context *context, struct inforce *s)
{
	struct state *state = NULL;
	struct settings settings;
	struct image image;

	if (state_open(&state, context, false))
		return;
	settings = settings_read(state);
	s->asked = image_kept(state) ? 0 : rate_asked(&settings, &s->g);
	settings.lines = state_line_times(state);
	if (!image_kept(state))
		s->sizing = layout_sizing(&s->g, &settings);
	if (!image_kept_open(state, &image, false)) {
		s->asked = image.header->asked;
		snprintf(s->image, sizeof(s->image), "%s", image.id);
		snprintf(s->saved, sizeof(s->saved), "%s", image.header->saved);
		image_close(&image);
	}
	state_close(state);
}

int inforce_take(const struct context *context, struct inforce *s)
{
	struct candidate live;
	__u64 keys, bits, bytes[ARRAYS];
	double rungs;
	int err = kernel_open_live(context, &live);

	memset(s, 0, sizeof(*s));
	if (err)
		return err_is(err, ENOENT) ? 0 : err;
	s->g = live.g;
	rate_measure(&live.g, &s->rate);
	rungs = rate_rungs(&live.g);
	err = kernel_map_bytes(&live, bytes);
	kernel_release(&live);
	if (err)
		return err;
	read_state(context, s);
	keys = s->g.keys4 + s->g.keys6;
	bits = s->g.filter_blocks * BLOCK_BYTES * 8;
	s->bytes = stage_bytes(bytes);
	if (keys)
		s->bits_per_key = (double)bits / (double)keys;
	s->verdict4 = rate_verdict(&s->g, s->rate.fpr, 4, 0);
	s->verdict6 = rate_verdict(&s->g, s->rate.fpr, 6, rungs);
	s->verdict = fmax(s->verdict4, s->verdict6);
	return 0;
}
