/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What interfaces need that ask about destinations, or about both addresses: a slot, and in it a program of each
 * generation, by the same arrays. While no interface does, there is none of it.
 */
#ifndef KERNEL_MATCH_H
#define KERNEL_MATCH_H

#include <linux/types.h>
#include <stdbool.h>

struct candidate;
struct context;

/* The roots that interfaces are attached by, a bit each. */
#define MATCH_BIT(match, bare) (1U << (2 * (match) + !!(bare)))
unsigned int match_uses(const struct context *context);

/* Is, or was, anything but sources asked about? */
bool match_known(const struct context *context);
/* Their roots and slots are there, made again if they were lost. 0 or -errno. */
int match_ready(const struct context *context);
/* A new slot, with the program of the generation in force, which is loaded for that. */
int match_fill(const struct context *context, unsigned int match, int slot);

/* Of the candidate: loads the programs of what is in use, and pins them. */
int match_load(const struct context *context, struct candidate *c, const int *maps);
int match_pin(const struct context *context, const struct candidate *c);
/* Into the slots: those of the generation, or those on trial. */
int match_switch(const struct context *context, const struct candidate *c);
/* Those for good. */
int match_keep(const struct context *context, __u64 number);
/* What is not in use goes. */
void match_sweep(const struct context *context);
void match_release(struct candidate *c);

#endif
