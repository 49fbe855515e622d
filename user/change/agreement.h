/* SPDX-License-Identifier: GPL-2.0-only */
/* Does the kernel hold what the state says? */
#ifndef CHANGE_AGREEMENT_H
#define CHANGE_AGREEMENT_H

struct context;
struct generation;
struct context;
struct state;

enum agreement {
	NOTHING_LIVE, /* no generation is in force, or none that can be read */
	AGREED,	      /* the generation in force is the state's own, with all edits */
	BEHIND,	      /* something was committed that never got into the kernel */
	UNKNOWN,      /* the state knows nothing of what is in force: an older copy of it, or another's */
};

enum agreement agreement(struct state *state, const struct generation *live);
/* -ENODATA where it is UNKNOWN. */
int agreement_known(const struct context *context, struct state *state, const struct generation *live);

#endif
