/* SPDX-License-Identifier: GPL-2.0-only */
/* The detector, from the state to the kernel. */
#ifndef CHANGE_DETECTOR_H
#define CHANGE_DETECTOR_H

#include <stddef.h>

struct context;
struct detector;
struct end_key;
struct limits;
struct state;

/* All that it goes by. End with detector_free(). */
int detector_fill(struct detector *detector, struct state *state);
void detector_free(struct detector *detector);

/* This machine's addresses, as the detector in force was last told. */
struct own_told {
	struct end_key *keys;
	size_t n;
};

/* It learns of those that have come since, and of those that have gone; of none, where no limit asks for them. */
int detector_follow(const struct context *context, const struct limits *limits, struct own_told *told);
void own_told_free(struct own_told *told);

#endif
