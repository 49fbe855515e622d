/* SPDX-License-Identifier: GPL-2.0-only */
/* What is granted for a while is not granted for good: when needs are dropped, compared with what was. */
#ifndef CHANGE_GUARD_UNTIL_H
#define CHANGE_GUARD_UNTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct context;
struct own_address;
struct state;

/*
 * Compared with what was committed last: does the state, as it is about to be committed, drop a need, or packets of it,
 * at a time from now on at which that did not? Until when what does so drops it, unless it is confirmed; 0: it does
 * not. Asked is of all that waits to go back, and of each one and all that goes back later to be confirmed. What was
 * committed and cannot be read dropped nothing.
 */
int guard_longer(struct state *state, const struct context *context, const struct own_address *own, size_t n,
		 int64_t *longer);
/* Is it dropped at all, now or when what waits has gone back? What cannot be read may drop all of them. */
int guard_ever(struct state *state, const struct own_address *own, size_t n, bool *ever);
/* And behind that time, if what waits is not confirmed? */
bool guard_after(struct state *state, const struct own_address *own, int64_t after);
/* Would a list of that scope drop nothing of it, from now on and without an end, that is not dropped anyway? */
int guard_anyway(struct state *state, const struct own_address *own, size_t n, const char *scope, bool *anyway);

#endif
