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

/* "90", "60s", "10m", "2h", "1d" as seconds, or -1. */
long change_seconds(const char *text);

/*
 * With a time in seconds: the change that follows waits for confirmation. Without (0): -EBUSY where that thing already
 * waits, because what waits must stay what it was.
 */
int change_pending(struct state *state, enum pending_kind kind, const char *name, long seconds);

/* After the commit: leaves a process behind that takes it back in time, also when the session is cut off. */
void change_watch(long seconds);

/* The two parts of the verb: what ran out goes back; what waits stays. */
int change_expire(struct state *state);
int change_confirm(struct state *state);

#endif
