/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The routes of a table of the kernel, as its messages tell of them, and what is to be in force of them. What has gone
 * goes on for a moment, so that it is seen whether all of it goes: then it stays for longer. It knows no clock and no
 * socket.
 */
#ifndef FEEDS_ROUTE_TABLE_H
#define FEEDS_ROUTE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sets/ranges.h"

/* So long goes on what is withdrawn. */
#define ROUTES_LINGER_MS 2000
/* Where many are withdrawn, it is waited until no more are, for so long at most. */
#define ROUTES_MANY	4096 /* a part of all of them; at least half of what goes must not be replaced by others */
#define ROUTES_QUIET_MS 10000
#define ROUTES_WAIT_MS	30000 /* or, while less than half have gone, for as long as the grace period is */
/* So many of so many may be a part of what a daemon had: one that is ended has often no time to withdraw all, and needs
 * some until its sessions are up again. */
#define ROUTES_PART_LEAST    64
#define ROUTES_PART	     1024
#define ROUTES_PART_QUIET_MS 60000 /* or the grace period, if that is shorter */
/* How many there were is remembered for one to two grace periods, of so much at least: what goes may go slowly. */
#define ROUTES_MEMORY_MS 60000
/* It is an accident where less than half of them are left, and at least so many have gone. */
#define ROUTES_LOST_LEAST 3
/* It is over where at least half of them are there, and for so long no more have come: a daemon that starts pauses. */
#define ROUTES_BACK_MS 10000

#define ROUTE_BY_NEXTHOP 1 /* an object of its own */
#define ROUTE_TWIN	 2 /* there may be another that differs in what is not looked at */

/* What tells one route from another. */
struct route {
	ip6 first;
	uint32_t metric;
	uint8_t family, length, tos, type, protocol;
	uint8_t has;	  /* ROUTE_... */
	uint8_t is, read; /* the table's own, as what follows */
	uint32_t went;
};

struct route_table {
	struct route *at; /* a hash table, by the prefix alone: all routes of one are found on the same way */
	unsigned int log2;
	size_t used;	   /* entries, those that are free again among them */
	size_t here, gone; /* routes that are there; and those that have gone, and are in force still */
	size_t high;	   /* as many were there at once, since any was let go */
	size_t most[2];	   /* and since `most_since`, and in the time before that */
	int64_t most_since;
	ip6 seed;
	uint8_t reading;	 /* which reading of all of them this is */
	bool reads;		 /* now */
	int64_t came;		 /* when the last of them did */
	size_t low;		 /* and as few were there, and when that was */
	int64_t low_at, back_at; /* and when the last came back that had gone */
	int64_t first_went;	 /* no later than when the first of those did that have gone */
	int64_t held, grace;	 /* since when all are kept that have gone, 0: they are not; and for how long, ms */
	bool changed;		 /* since routes_to_be() */
};

/* Returns 0 or -ENOMEM, as the others do. Times are ms of any clock, from 1 on. */
int routes_begin(struct route_table *table, int64_t grace);
void routes_end(struct route_table *table);

/* It is there, now. */
int routes_put(struct route_table *table, const struct route *route, int64_t now);
/* It is not. False: another that looks the same may still be there. */
bool routes_drop(struct route_table *table, const struct route *route, int64_t now);
/* Another takes the place of what has the same prefix, metric and TOS. Returns how many do; of several none goes. */
size_t routes_replaced(struct route_table *table, const struct route *route, int64_t now);
/* This prefix was in force before; it is as if its route had just gone, unless there is one. */
int routes_were(struct route_table *table, struct addr first, unsigned int length, int64_t now);

/* All of them are read, one by one, by routes_put(). At the end, if it is whole, those have gone that were not among
 * them. */
void routes_read_begin(struct route_table *table);
void routes_read_end(struct route_table *table, bool whole, int64_t now);

enum routes_news { ROUTES_NO_NEWS, ROUTES_HELD, ROUTES_BACK, ROUTES_OVER };

/*
 * Decides what becomes of routes that have gone. ROUTES_HELD: most have, and all are kept; ROUTES_BACK: that has ended,
 * as they are there again, or ROUTES_OVER, as they are not.
 */
enum routes_news routes_settle(struct route_table *table, int64_t now);
/* So many were there, lately. */
size_t routes_most(const struct route_table *table);
/* When it is to be called next; INT64_MAX: not before something changes. */
int64_t routes_due(const struct route_table *table);

/* What is to be in force, not in normal form yet; but for prefixes that `leave_out` says true to. */
typedef bool routes_leave_out_fn(void *arg, struct addr first, unsigned int length);
int routes_to_be(struct route_table *table, struct ranges *set, routes_leave_out_fn *leave_out, void *arg);

#endif
