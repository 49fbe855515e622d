/* SPDX-License-Identifier: GPL-2.0-only */
/* From the state to the kernel: sets, plan, arrays, proof, programs, commit, switch. */
#ifndef CHANGE_APPLY_H
#define CHANGE_APPLY_H

#include "filter/plan.h"

struct image;
struct live;
struct state;

/*
 * Puts what the open state holds into force and commits it. When it fails the state is not committed and the kernel
 * goes on as it was; the reason is recorded.
 */
int apply(struct state *state, struct live *live);

struct apply_options {
	bool guarded;	      /* refuse to ban what is the machine's own, unless it was banned already */
	bool narrow;	      /* refuse an image that is very wide, unless that was in force before */
	bool discard_unknown; /* even where the filter in force is of a state that is gone */
	bool dry_run;	      /* only up to the plan: what can be known without doing it */
	bool reverting;	      /* to what was in force before: it may take all memory that there is */
	/* Something more to put into the state at the last moment, when all else has succeeded. */
	int (*before_commit)(struct state *state, void *arg);
	void *arg;
};
int apply_with(struct state *state, struct live *live, const struct apply_options *options);

/* The same, where the kernel does not have this state already: after a reboot, or a command that was killed. */
int apply_if_needed(struct state *state, struct live *live);

#endif
