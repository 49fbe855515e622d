/* SPDX-License-Identifier: GPL-2.0-only */
/* The root on interfaces: through a pinned link of its own, or beside other programs through libxdp. */
#ifndef KERNEL_ATTACH_H
#define KERNEL_ATTACH_H

#include <stddef.h>

#include "kernel/attachment.h"

/*
 * Attaches to one interface; fills in what came of mode and shared. -EEXIST where it is attached already, -EXDEV where
 * what was attached under this name filters on elsewhere, and this one is open.
 */
int attach_one(const struct context *context, struct attachment *at);
/* What of that can be said before it is tried. */
int attach_may(const struct context *context, const struct attachment *at);

/* Every link runs this root from now on: the one before was lost. */
int attach_new_root(const struct context *context, int root);

/* Every interface that the filter is on, by the kernel's word; free() the list. */
int attach_list(const struct context *context, struct attachment **list, size_t *n);

#endif
