/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files named own_*.c share: each knows one source of what this machine needs. */
#ifndef CHANGE_OWN_INTERNAL_H
#define CHANGE_OWN_INTERNAL_H

#include <net/if.h>

#include "base/log.h"
#include "change/own_addresses.h"
#include "sets/ranges.h"

struct nlattr;

struct known {
	struct addr addr; /* family 0: nothing is here */
	bool wanted;	  /* the answer, */
	size_t at;	  /* and 1 + where in `at`; 0: it was only asked about */
};

struct learned {
	own_wanted_fn *wanted; /* NULL: all */
	const void *arg;
	bool guests;   /* what comes now is said by others than root */
	bool fetched;  /* and is where lists and decisions come from */
	bool groups;   /* destinations of what comes in are asked about: multicast and broadcast are needed, too */
	bool embedded; /* an IPv6 address is judged by the IPv4 address within, too: then that is needed as well */
	struct own_address *at;
	size_t n;
	/* By a secret hash of the address: they may come by the ten thousand, as connections and routes do. */
	struct known *slots;
	size_t used, room;
	uint64_t seed[2];
	const struct state *state;
	struct ranges ends, ends_before; /* of tunnels that have many: in their tables, and when all was known last */
	bool tables, cut_off;		 /* there are such tables; not all of one could be read */
	unsigned int long_tables;	 /* so many could not */
	int err;
};

/* `what` lives on. Unspecified and loopback addresses are nobody's need. */
PRINTF(4, 5) void own_learn(struct learned *l, struct addr addr, const char *what, const char *where, ...);
bool own_wanted(struct learned *l, struct addr addr);

/* An address from a message of the kernel; family 0 where it is none. */
struct addr own_bytes(int family, const void *bytes, size_t size);
struct addr own_attr(int family, const struct nlattr *at);

/* Interfaces, routes, tunnels: own_routes.c, own_tunnels.c. */
extern const char own_interface_is[], own_tunnel_is[], own_gateway_is[];
int own_from_routes(struct learned *l);
void own_from_wireguard(struct learned *l, unsigned int index, const char *name);
void own_from_xfrm(struct learned *l);
/* The other ends of an interface that has many: of VXLAN, and of GRE. */
void own_from_forwarding(struct learned *l, unsigned int index, const char *name);
void own_from_neighbours(struct learned *l, unsigned int index, const char *name);
/* Does a tunnel lead to it that a process holds, by this interface? Where it leads, the kernel does not know. */
bool own_leaves_by_process(struct addr addr, char name[IF_NAMESIZE]);
/* When all links were asked. Is one of those before in no table? Then all links are asked once more; */
bool own_ends_missed(struct learned *l);
/* and those that are known then are kept. Where a table was cut off, those before are among them. */
void own_ends_settle(struct learned *l);
/* Resolvers, leases, clocks, sessions of logind: own_files.c. */
int own_from_files(struct learned *l);
/* The time servers that a daemon says it uses, which may wait for 100 ms: own_clocks.c. */
void own_from_clocks(struct learned *l);
/* Of these systemd-timesyncd, until then, by clock_ms(): own_timesync.c. Returns whether it is there. */
bool own_from_timesyncd(struct learned *l, int64_t until);
bool own_comes(int fd, int64_t until);
/* Who is logged in or connected: own_people.c. */
void own_from_people(struct learned *l, struct state *state);
/* Is what has been so for long to be said again? *again: when, of this process; of the service's processes one says it.
 */
bool own_is_due(int64_t *again, const struct state *state, const char *name);
/*
 * What SSH_CONNECTION is in that process's environment, "192.0.2.1 50000 192.0.2.2 22": own_environment.c. 1, 0 where
 * there is none, or -EACCES where we may not know. It may wait for ever.
 */
int own_ssh_of(int pid, char text[SSH_TEXT_MAX]);
/* Are there processes that /proc does not even show us? */
bool own_processes_hidden(void);
/*
 * The SSH_CONNECTION of each process that has one: own_sessions.c. It takes 3 seconds at most, and says in a line which
 * processes could not be asked: those of whoever delays it, and no other's. *refused: some may not be asked. 0 or
 * -errno.
 */
typedef void own_session_fn(void *arg, int pid, const char *ssh);
int own_each_session(own_session_fn *each, void *arg, bool *refused);
/* The server of its fleet: own_fleet.c. */
void own_from_fleet(struct learned *l, struct state *state);
/* Those of feeds, and of CrowdSec's agent, once this machine's own addresses are known: own_feeds.c. */
void own_from_feeds(struct learned *l, struct state *state);

#endif
