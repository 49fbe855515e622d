/* SPDX-License-Identifier: GPL-2.0-only */
/* The detector, from the state to the kernel. */
#ifndef CHANGE_DETECTOR_H
#define CHANGE_DETECTOR_H

struct context;
struct detector;
struct limits;
struct state;

/* All that it goes by. End with detector_free(). */
int detector_fill(struct detector *detector, struct state *state);
void detector_free(struct detector *detector);

/* The one in force learns of addresses that this machine has got since; of none, where no limit asks for them. */
int detector_follow(const struct context *context, const struct limits *limits);

#endif
