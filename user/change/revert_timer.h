/* SPDX-License-Identifier: GPL-2.0-only */
/* --confirm: a process of its own takes the change back, unless it is confirmed in time. */
#ifndef CHANGE_REVERT_TIMER_H
#define CHANGE_REVERT_TIMER_H

#include "change/change.h"

/*
 * The change that follows waits for confirmation, for so many seconds (0: it does not). -EBUSY where an earlier change
 * of the same list or interface still waits.
 */
int change_pending(struct change *change, enum pending_kind kind, const char *name, long seconds);

/* Starts a process, in a session of its own, that does what revert_timer_run() does. */
int revert_timer_start(const struct context *context, long seconds);
/* Takes back overdue changes; returns when nothing waits any more. */
void revert_timer_run(struct context *context, long seconds);

/* All waiting changes stay. */
int change_confirm(struct change *change);

#endif
