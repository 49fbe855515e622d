/* SPDX-License-Identifier: GPL-2.0-only */
/* What was done with --confirm: a process of its own takes it back, unless it is confirmed in time. */
#ifndef CHANGE_REVERT_TIMER_H
#define CHANGE_REVERT_TIMER_H

#include "change/change.h"

/*
 * With a time in seconds: the change that follows waits for confirmation, and its timer runs. Without (0): -EBUSY where
 * that thing already waits, because what waits must stay what it was.
 */
int change_pending(struct change *change, enum pending_kind kind, const char *name, long seconds);

/* Starts a process, in a session of its own, that does what revert_timer_run() does. */
int revert_timer_start(const struct context *context, long seconds);
/* Waits, and takes back what is overdue; returns when nothing waits any more. */
void revert_timer_run(struct context *context, long seconds);

/* What waits stays. */
int change_confirm(struct change *change);

#endif
