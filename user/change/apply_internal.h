/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files named apply*.c share. */
#ifndef CHANGE_APPLY_INTERNAL_H
#define CHANGE_APPLY_INTERNAL_H

#include "change/apply.h"
#include "kernel/generation.h"

/* The number of the generation to come: neither state nor kernel has seen it. */
uint64_t apply_next_number(struct state *state, const struct live *live);

/* apply_image.c: the image in force into maps, up to the programs. With dry_run there are no maps. */
int apply_image(struct state *state, const struct live *live, const struct apply_options *options, struct candidate *c);

#endif
