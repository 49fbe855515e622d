/* SPDX-License-Identifier: GPL-2.0-only */
/* The root on interfaces: through a pinned link of its own, or beside other programs through libxdp. */
#ifndef KERNEL_ATTACH_H
#define KERNEL_ATTACH_H

#include <stddef.h>

#include "kernel/attachment.h"

/*
 * Attaches to one interface, and sets mode and shared to what it became. -EEXIST: it is attached already. -EXDEV: the
 * interface that had this name is still filtered under another; the one of this name is not.
 */
int attach_one(const struct context *context, struct attachment *at);
/* The same errors, as far as they can be found without attaching. */
int attach_may(const struct context *context, const struct attachment *at);

/* Every link runs this root from now on, in place of one that was lost. */
int attach_new_root(const struct context *context, int root);

/* Every interface that the filter is on, as the kernel has it; free() the list. */
int attach_list(const struct context *context, struct attachment **list, size_t *n);

/* Both -ENOENT where the filter is not on that interface. */
int attach_find(const struct context *context, const char *name);
int detach_one(const struct context *context, const char *name);
/* The same where an attach() was killed before its pin was there. */
int attach_take_back(const struct context *context, const char *name);

#endif
