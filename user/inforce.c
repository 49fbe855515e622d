// SPDX-License-Identifier: GPL-2.0-only
#include "inforce.h"

#include <errno.h>
#include <string.h>

#include "apply.h"
#include "kernel.h"
#include "state.h"

/* 0 where the state cannot be read: what is in force can be shown all the same. */
static double asked_rate(void)
{
	struct state *state = NULL;
	struct settings settings;
	double asked = 0;

	if (!state_open(&state, false)) {
		settings = settings_read(state);
		asked = rate_asked(&settings);
	}
	state_close(state);
	return asked;
}

int inforce_take(struct inforce *s)
{
	struct candidate live;
	__u64 keys, bits, bytes[ARRAYS];
	int err = kernel_open_live(&live, false);

	memset(s, 0, sizeof(*s));
	if (err)
		return err == -ENOENT ? 0 : err;
	s->g = live.g;
	rate_measure(&live.g, &s->rate);
	kernel_release(&live);
	err = kernel_map_bytes(&s->g, bytes);
	if (err)
		return err;
	s->asked = asked_rate();
	keys = s->g.keys4 + s->g.keys6;
	bits = s->g.filter_blocks * BLOCK_BYTES * 8;
	s->bytes = stage_bytes(bytes);
	if (keys)
		s->bits_per_key = (double)bits / (double)keys;
	s->verdict = s->g.roster4 || s->g.roster6 ? 0 : s->rate.fpr;
	return 0;
}
