/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * This machine's own ban beside an agent's (BAN_BY_CROWDSEC) of the same prefix: in force is the one that ends later;
 * the other's end and reason are kept behind it (state/behind.h). 0 or -errno with the reason recorded.
 */
#ifndef CHANGE_BEHIND_H
#define CHANGE_BEHIND_H

#include "sets/prefixes.h"
#include "state/behind.h"

struct change;
struct touched;

/* What is there and not over; -ENOENT where nothing is. This machine's ban in force is the agent's. */
int behind_of(struct state *state, struct addr first, unsigned int length, struct ban *behind);
/* It is kept there, in place of what was. */
int behind_keep(struct change *change, const struct ban *ban);
int behind_drop(struct change *change, const struct prefix *prefix);
/* It takes the agent's place. */
int behind_comes(struct change *change, const struct ban *behind);
/* These have run out. Where the date was set and the machine started anew, an agent's may end before what is behind. */
int behind_expired(struct state *state, const struct ban *bans, size_t n, struct touched *touched);

#endif
