/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Behind dispatchers the generation's own program runs: each new generation replaces it, one interface after the other.
 * If a command is killed in between, the next one finishes.
 */
#ifndef KERNEL_DISPATCHER_REFRESH_H
#define KERNEL_DISPATCHER_REFRESH_H

#include <stddef.h>

#include "kernel/attach.h"

/* Before anything is changed: will attach_refresh() be allowed to? */
int attach_may_refresh(const struct attachment *list, size_t n);
/*
 * Replaces the program of the generation before. The new one is in force everywhere else by then, so a failure is a
 * warning, and the next command tries again.
 */
void attach_refresh(const struct context *context, struct attachment *list, size_t n);
/* Finishes what attach_refresh() could not. */
void attach_catch_up(const struct context *context);
/* After an exchange that was cut short: of ours, only the pinned programs stay on that interface. */
int attach_end_exchange(const struct context *context, const struct attachment *at);
/* The same in any case. */
int attach_sweep(const struct context *context, const struct attachment *at);

#endif
