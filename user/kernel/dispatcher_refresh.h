/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Behind dispatchers the generation's own program runs: it is exchanged with each generation, one program after the
 * other. Where a command is killed in between, the next one finishes.
 */
#ifndef KERNEL_DISPATCHER_REFRESH_H
#define KERNEL_DISPATCHER_REFRESH_H

#include <stddef.h>

#include "kernel/attach.h"

/* Before anything is changed: will attach_refresh() be allowed to? */
int attach_may_refresh(const struct attachment *list, size_t n);
/*
 * Puts the program in force in the place of the one before. It is in force everywhere else by then, so nothing goes
 * back: where that cannot be, it says so, and the next command tries again.
 */
void attach_refresh(const struct context *context, struct attachment *list, size_t n);
/* What attach_refresh() did not come to, or not to its end. */
void attach_catch_up(const struct context *context);
/* On that interface only the pins' programs are left of ours, if an exchange was cut short there. */
int attach_end_exchange(const struct context *context, const char *name, unsigned int ifindex);
/* The same, whether or not one was. */
int attach_sweep(const struct context *context, const char *name, unsigned int ifindex);

#endif
