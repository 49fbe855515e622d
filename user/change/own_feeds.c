// SPDX-License-Identifier: GPL-2.0-only
/*
 * The servers of feeds, and of CrowdSec's agent, where they were reached last: another list that bans one would keep
 * this one from ever being renewed. No name is looked up for it. Their addresses are said by somebody's DNS.
 */
#include <stdlib.h>

#include "change/own_internal.h"
#include "state/servers.h"

static const char feed_is[] = "the server of a feed", agent_is[] = "the CrowdSec agent";

static bool is_here(const struct learned *l, struct addr addr)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->at[i].what == own_interface_is && l->at[i].addr.num == addr.num &&
		    l->at[i].addr.family == addr.family)
			return true;
	return false;
}

void own_from_feeds(struct learned *l, struct state *state)
{
	struct feed_server *servers;
	size_t n;
	int err = state_feed_servers(state, &servers, &n);

	if (err && !l->err)
		l->err = err;
	l->guests = l->fetched = true;
	for (size_t i = 0; i < n && !err; i++) {
		const struct feed_server *server = &servers[i];

		if (is_here(l, server->addr))
			continue;
		if (*server->list)
			own_learn(l, server->addr, feed_is, "list '%s'", server->list);
		else
			own_learn(l, server->addr, agent_is, "follow crowdsec");
	}
	l->guests = l->fetched = false;
	free(servers);
}
