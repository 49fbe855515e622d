/* SPDX-License-Identifier: GPL-2.0-only */
/* What lasts is said now and then, by one of the processes that share a state directory. */
#ifndef STATE_DUE_H
#define STATE_DUE_H

#include <stdbool.h>

struct state;

/*
 * Has nobody said it for so many seconds? Then it is said now, and not asked for again by others until then. `name`: of
 * the file that remembers it. Where that cannot be kept it is always due.
 */
bool state_due(const struct state *state, const char *name, int seconds);
/* Would it be? For whoever may yet leave it to another to say it. */
bool state_is_due(const struct state *state, const char *name, int seconds);

#endif
