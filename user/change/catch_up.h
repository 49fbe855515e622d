/* SPDX-License-Identifier: GPL-2.0-only */
/* What is overdue when a command begins. */
#ifndef CHANGE_CATCH_UP_H
#define CHANGE_CATCH_UP_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct live;
struct pending;
struct state;

/*
 * In a commit of its own: unconfirmed changes go back, bans expire, and a commit that never reached the kernel is
 * built. `at_least` is a time that has come, even if the clock was set back. Failures are only warnings, but a damaged
 * state is an error. If anything was done, the state is opened again and live looked up again.
 */
int catch_up(struct state **state, struct live *live, time_t at_least);

/* What of the filter was not confirmed in time, and is there yet: it could not go back, or its time came just now. */
struct overdue {
	struct pending *at;
	size_t n;
};

/* It goes back with the change that is about to be committed, but for that change's own, which is due then. */
int overdue_undo(struct overdue *overdue, struct state *state, int64_t own_due);
/* How that change ended: says what has gone back (not where live is NULL), or why nothing was changed. Returns err. */
int overdue_end(struct overdue *overdue, const struct live *live, int err);

#endif
