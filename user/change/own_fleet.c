// SPDX-License-Identifier: GPL-2.0-only
/*
 * The server of the fleet that this machine has joined: where it was reached last, and what its URL says. Without it
 * nobody could take back what cut it off.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "change/own_internal.h"
#include "state/fleet.h"
#include "state/grants.h"

static const char server_is[] = "the server of its fleet";

static void learn_url(struct learned *l, const char *text)
{
	struct fleet_url url;
	struct addr addr;

	if (*text && !fleet_url_read(&url, text) && url.way != FLEET_UNIX &&
	    !addr_parse(url.host, strlen(url.host), &addr))
		own_learn(l, addr, server_is, "fleet join %s", text);
}

void own_from_fleet(struct learned *l, struct state *state)
{
	struct fleet fleet;
	struct addr *servers = NULL;
	size_t n = 0;
	int err = state_joined(state) ? state_fleet(state, &fleet) : -ENOENT;

	if (err_is(err, ENOENT))
		return;
	if (!err) {
		learn_url(l, fleet.url);
		learn_url(l, fleet.read);
		err = state_fleet_servers(state, &servers, &n);
	}
	for (size_t i = 0; i < n && !err; i++)
		own_learn(l, servers[i], server_is, "fleet join %s", fleet.url);
	free(servers);
	if (err && !l->err)
		l->err = err;
}
