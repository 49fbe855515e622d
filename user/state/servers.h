/* SPDX-License-Identifier: GPL-2.0-only */
/* Where that is which this machine fetches: lists that a server keeps fresh, and a CrowdSec agent's decisions. */
#ifndef STATE_SERVERS_H
#define STATE_SERVERS_H

#include <stddef.h>

#include "sets/address.h"
#include "sets/list.h"

struct state;

struct feed_server {
	char list[LIST_NAME_MAX]; /* that it keeps fresh; "": it is the agent */
	struct addr addr;
};

/* Of feeds, and of an agent that answered in the last 30 days; free() the array. */
int state_feed_servers(struct state *state, struct feed_server **servers, size_t *n);
/*
 * In place of those before, of which those stay that a version came from which waits; list NULL: of the agent. Nothing
 * is written where it is so already.
 */
#define FEED_SERVERS 2
int state_feed_servers_put(struct state *state, const char *list, const struct addr *servers, size_t n);

#endif
