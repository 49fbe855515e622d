/* SPDX-License-Identifier: GPL-2.0-only */
/* What is late, when a command begins. */
#ifndef CHANGE_CATCH_UP_H
#define CHANGE_CATCH_UP_H

#include <time.h>

struct live;
struct state;

/*
 * In a commit of its own: what ran out of time unconfirmed goes back, bans end, and what was committed but never
 * reached the kernel is built. It is at least that late, even if the clock was set back. Failures here are only
 * warnings; a damaged state is an error. Where something was done the state is opened again, and live looked at.
 */
int catch_up(struct state **state, struct live *live, time_t at_least);

#endif
