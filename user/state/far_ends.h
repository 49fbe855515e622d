/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The far ends of tunnels that have many, as they were when all of them could be asked for last. A file beside the
 * state: looking alone, which waits for no one, keeps it.
 */
#ifndef STATE_FAR_ENDS_H
#define STATE_FAR_ENDS_H

#include "sets/ranges.h"

struct state;

/* None where none are kept, or where that cannot be read. 0 or -ENOMEM. */
int far_ends_kept(const struct state *state, struct ranges *ends);
/* Where they cannot be kept, those before stay. */
void far_ends_keep(const struct state *state, const struct ranges *ends);

typedef void far_end_fn(void *arg, struct addr end);
void far_ends_each(const struct ranges *ends, far_end_fn *each, void *arg);

#endif
