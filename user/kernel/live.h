/* SPDX-License-Identifier: GPL-2.0-only */
/* The generation in force. */
#ifndef KERNEL_LIVE_H
#define KERNEL_LIVE_H

#include "filter/arrays.h"

/* The generation in force, as its maps say; -ENOENT where there is none. Map members are 0 or 1. */
int kernel_live(struct generation *g);
/* Its number; 0 where there is none, or it cannot be read. */
unsigned long long kernel_live_generation(void);
/* How long ago it was loaded. */
int kernel_age(double *seconds);

/* Descriptors of its description and its program. */
int kernel_live_meta(void);
int kernel_live_program(void);
/* Descriptors of its maps; -1 where it has none. The caller closes them. */
int kernel_live_maps(const struct generation *g, int maps[ARRAYS]);
/* A descriptor of any of its pins. */
int live_pin(const char *name);

#endif
