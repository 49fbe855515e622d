/* SPDX-License-Identifier: GPL-2.0-only */
/* For how long the lists and bans of a state drop an address. */
#ifndef STATE_UNTIL_H
#define STATE_UNTIL_H

#include <stddef.h>
#include <stdint.h>

#include "sets/address.h"
#include "sets/ranges.h"

struct state;

#define UNTIL_ENDLESS INT64_MAX

/*
 * Until that date, in seconds since the epoch; 0: it is not dropped. What waits for confirmation goes back at its
 * deadline, and what it took the place of comes back.
 */
struct until {
	int64_t all;  /* its packets */
	int64_t some; /* those of a scope */
};

/* Of n addresses, what is allowed left out of account. */
int state_until(struct state *state, const struct addr *addrs, size_t n, struct until *until);
/* What is allowed only until what waits goes back. */
int state_allowed_waiting(struct state *state, struct ranges *waiting);

#endif
