/* SPDX-License-Identifier: GPL-2.0-only */
/* --confirm: a process of its own takes the change back, unless it is confirmed in time. */
#ifndef CHANGE_REVERT_TIMER_H
#define CHANGE_REVERT_TIMER_H

#include "change/change.h"

/*
 * The change that follows waits for confirmation, for so many seconds (0: it does not). -EBUSY where an earlier change
 * of the same thing still waits.
 */
int change_pending(struct change *change, enum pending_kind kind, const char *name, long seconds);
/* The same of a list that is dropped here and now. */
int change_pending_drop(struct change *change, const char *list, long seconds);
/* Records that, and returns -EBUSY. */
int because_it_waits(const char *name);
/*
 * Until when what is built from this state is on trial; 0 where nothing of the filter waits, or since before the
 * machine was started: that is over, by a clock that began again.
 */
int trial_until(struct state *state, __u64 *until);

/*
 * Starts a process, in a session and where it may in a control group of its own, that does what revert_timer_run()
 * does. The deadline does not depend on it: the kernel keeps that by itself (kernel/generation.h). It brings the state
 * up to it.
 */
int revert_timer_start(const struct context *context, long seconds);
/* Takes back overdue changes; returns when nothing waits any more. */
void revert_timer_run(struct context *context, long seconds);

/* The generation in force is not on trial any more. */
int change_keep(struct live *live);
/* All waiting changes stay, in the state and in the kernel. */
int change_confirm(struct change *change);

#endif
