/* SPDX-License-Identifier: GPL-2.0-only */
/* The ladder of the detector's bans: whoever offends again is banned for longer, and falls back by keeping quiet. */
#ifndef FILTER_LADDER_H
#define FILTER_LADDER_H

#include <stddef.h>
#include <stdint.h>

#define LADDER_STEPS 8 /* at most */

struct ladder {
	unsigned int seconds[LADDER_STEPS]; /* of each step, each more than the one before */
	size_t n;			    /* at least 1 */
};

/* So much a ban is longer or shorter than its step, so that nobody is let out in step: in parts of the step. */
#define LADDER_SPREAD 0.1

/*
 * What is left of so many strikes at `now`, where the last ban ended at `ended`. Each takes as long to fall as the ban
 * of its step lasts. One that ends later than now has lost nothing.
 */
unsigned int ladder_left(const struct ladder *ladder, unsigned int strikes, int64_t ended, int64_t now);
/* How long the ban lasts that is the strike of this number, from 1; random: from 0 to below 1. */
int64_t ladder_seconds(const struct ladder *ladder, unsigned int strike, double random);
/* How long so many strikes take to be none. */
int64_t ladder_falls(const struct ladder *ladder, unsigned int strikes);

#endif
