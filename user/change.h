/* SPDX-License-Identifier: GPL-2.0-only */
/* The frame of every command that changes something; and what goes back by itself unless it is confirmed. */
#ifndef CHANGE_H
#define CHANGE_H

#include "state.h"

/*
 * The kernel is ready, the state is open and ours alone, and what ran out of time unconfirmed has gone back. From here
 * apply() or state_commit() makes the change, state_close() alone leaves everything as it was.
 */
int change_begin(struct state **state);

/*
 * With --check a command that could be said ends here: change_begin() asks, and who does not call that. `words`: before
 * it reads any file, which --check=words does not want.
 */
void change_check(bool words);

/* "90", "60s", "10m", "2h", "1d" as seconds, or -1. */
long change_seconds(const char *text);

/*
 * With a time in seconds: the change that follows waits for confirmation. Without (0): -EBUSY where that thing already
 * waits, because what waits must stay what it was.
 */
int change_pending(struct state *state, enum pending_kind kind, const char *name, long seconds);

/*
 * Leaves a process behind, in a session of its own, that takes back what waits when its time has come; change_watch()
 * is what it does. change_pending() starts one.
 */
int change_start_watch(long seconds);
void change_watch(long seconds);

/* What waits stays. */
int change_confirm(struct state *state);

#endif
