/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * This machine's own bans behind those of an agent (BAN_BY_CROWDSEC), of the same prefix, that end later: what is
 * banned when the agent takes its word back. A row holds only while this machine's ban in force is the agent's.
 */
#ifndef STATE_BEHIND_H
#define STATE_BEHIND_H

#include "state/bans.h"

/* Is there any? 1, 0 or -errno. */
int state_behind_any(struct state *state);
/* That of exactly this prefix, also one that is over; -ENOENT where there is none. */
int state_behind_get(struct state *state, struct addr first, unsigned int length, struct ban *ban);
/* Adds or replaces it. */
int state_behind_put(struct state *state, const struct ban *ban);
/* It is no fault if there is none. */
int state_behind_drop(struct state *state, struct addr first, unsigned int length);

#endif
