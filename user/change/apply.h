/* SPDX-License-Identifier: GPL-2.0-only */
/* From the state to the kernel: sets, plan, arrays, proof, programs, commit, switch. */
#ifndef CHANGE_APPLY_H
#define CHANGE_APPLY_H

#include "filter/plan_sizes.h"

struct guard;
struct live;
struct state;

/*
 * Puts what the open state holds into force and commits it. On failure nothing is committed, the kernel's part stays
 * as it was, and the reason is recorded. Nothing goes live that the guard was not asked for.
 */
int apply(struct state *state, struct live *live, struct guard *guard);

struct apply_options {
	struct guard *guard;  /* NULL: one that has nothing forced */
	bool narrow;	      /* refuse an image that bans very wide prefixes, unless they were banned already */
	bool arrives;	      /* there is an image, and it comes with this: it was not in force before */
	bool discard_unknown; /* even if the state does not know the filter in force */
	bool dry_run;	      /* only up to the plan */
	bool reverting;	      /* to what was in force before: it may take all available memory */
	bool again;	      /* of what is in force: nothing comes that could not go back */
	bool filling;	      /* many bans come, and more will: with room for them, where there is memory for it */
	/* More to put into the state, when all else has succeeded. */
	int (*before_commit)(struct state *state, void *arg);
	void *arg;
};
int apply_with(struct state *state, struct live *live, const struct apply_options *options);

/* Could what waits for confirmation still go back, with what the state has come to? 0 or -errno with the reason. */
int apply_goes_back(struct state *state, struct live *live);

/* As apply(), unless the kernel has this state already: after a reboot, or a killed command. */
int apply_if_needed(struct state *state, struct live *live, struct guard *guard);

#endif
