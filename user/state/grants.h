/* SPDX-License-Identifier: GPL-2.0-only */
/* What the operator told the guard rails: which of the machine's needs may be banned, and whose guests are guarded. */
#ifndef STATE_GRANTS_H
#define STATE_GRANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sets/address.h"

struct state;

/*
 * --force was given for the ban of this address, and it is banned since; or it is until what waits goes back, which has
 * that deadline (0: it does not wait).
 */
int state_grant(struct state *state, struct addr addr, int64_t waits);
/* 0: it is not. GRANTED_ENDLESS, or when what it waits with goes back. */
#define GRANTED_ENDLESS INT64_MAX
int64_t state_granted(struct state *state, struct addr addr);
int state_grant_drop(struct state *state, struct addr addr);
/*
 * One that waits goes, or back sooner, where nothing that waits as long bans its address any more; `ban` is the prefix
 * that alone waits no more, or NULL. Those that are left stay, where all that waits does.
 */
int state_grants_undo(struct state *state, const char *ban);
int state_grants_confirm(struct state *state);
/* All of them; free() the array. */
int state_grants(struct state *state, struct addr **grants, size_t *n);

/* A TCP port whose guests are guarded. */
int state_guard_port(struct state *state, unsigned int port, bool guarded);
/* `ports` has TCP_PORTS entries, which are false so far. */
#define TCP_PORTS 65536
int state_guarded_ports(struct state *state, bool *ports);

/* Where the fleet's server was when it was reached last; free() the array. */
int state_fleet_servers(struct state *state, struct addr **servers, size_t *n);
int state_fleet_servers_put(struct state *state, const struct addr *servers, size_t n);

#endif
