/* SPDX-License-Identifier: GPL-2.0-only */
/* Does the kernel hold what the state says? */
#ifndef CHANGE_AGREEMENT_H
#define CHANGE_AGREEMENT_H

#include <stdint.h>

#include "kernel/live.h"

struct state;

enum agreement {
	NOTHING_LIVE, /* no generation is in force, or none that can be read */
	AGREED,	      /* the generation in force was built from this state, with all edits */
	BEHIND,	      /* a commit never reached the kernel */
	UNKNOWN,      /* the generation in force is newer than the state, or was built from another */
};

/* All zero: nothing was, or it cannot be read. */
struct committed committed(struct state *state);

enum agreement agreement(struct state *state, const struct generation *live);
/* Is what was in force gone? Then there is nothing that the kernel could go back to. */
bool live_is_gone(struct state *state, const struct live *live);
/* -ENODATA where it is UNKNOWN. */
int agreement_known(const struct context *context, struct state *state, const struct generation *live);

#endif
