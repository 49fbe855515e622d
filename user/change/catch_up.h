/* SPDX-License-Identifier: GPL-2.0-only */
/* What is overdue when a command begins. */
#ifndef CHANGE_CATCH_UP_H
#define CHANGE_CATCH_UP_H

#include <time.h>

struct live;
struct state;

/*
 * In a commit of its own: unconfirmed changes go back, bans expire, and a commit that never reached the kernel is
 * built. `at_least` is a time that has come, even if the clock was set back. Failures are only warnings, but a damaged
 * state is an error. If anything was done, the state is opened again and live looked up again.
 */
int catch_up(struct state **state, struct live *live, time_t at_least);

#endif
