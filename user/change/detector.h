/* SPDX-License-Identifier: GPL-2.0-only */
/* The detector, from the state to the kernel. */
#ifndef CHANGE_DETECTOR_H
#define CHANGE_DETECTOR_H

struct detector;
struct state;

/* Whom it never judges, and on whose account it drops. free() what is trusted. */
int detector_trusts(struct detector *detector, struct state *state);

#endif
