/* SPDX-License-Identifier: GPL-2.0-only */
/* What is granted for a while is not granted for good: for how long needs are dropped, compared with what was. */
#ifndef CHANGE_GUARD_UNTIL_H
#define CHANGE_GUARD_UNTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct context;
struct own_address;
struct state;

/*
 * Does the state, as it is about to be committed, drop a need for longer than what was committed last, or more of its
 * packets when a ban of it ends? Until then; 0: it does not. What was committed and cannot be read dropped nothing.
 */
int guard_longer(struct state *state, const struct context *context, const struct own_address *own, size_t n,
		 int64_t *longer);
/* Is it dropped at all, now or when what waits has gone back? What cannot be read may drop all of them. */
int guard_ever(struct state *state, const struct own_address *own, size_t n, bool *ever);
/* Would it still be dropped if all that ends had ended, and what waits had gone back? */
int guard_endless(struct state *state, const struct own_address *own, size_t n, bool *endless);

#endif
