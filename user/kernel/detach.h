/* SPDX-License-Identifier: GPL-2.0-only */
/* The filter leaves an interface. */
#ifndef KERNEL_DETACH_H
#define KERNEL_DETACH_H

struct context;

/* Both -ENOENT where the filter is not on that interface. */
int attach_find(const struct context *context, const char *name);
int detach_one(const struct context *context, const char *name);
/* The same where an attach() was killed before its pin was there. */
int attach_take_back(const struct context *context, const char *name);

#endif
