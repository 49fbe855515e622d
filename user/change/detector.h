/* SPDX-License-Identifier: GPL-2.0-only */
/* The detector, from the state to the kernel. */
#ifndef CHANGE_DETECTOR_H
#define CHANGE_DETECTOR_H

struct detector;
struct state;

/* All that it goes by. End with detector_free(). */
int detector_fill(struct detector *detector, struct state *state);
void detector_free(struct detector *detector);

#endif
