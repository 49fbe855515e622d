/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's routes over rtnetlink: what its messages say, and a thread that keeps a table up to them. */
#ifndef FEEDS_ROUTE_SOURCE_H
#define FEEDS_ROUTE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "feeds/route_table.h"

struct nlmsghdr;
struct route_source;

struct route_wish {
	unsigned int table;
	int family;	/* 4 or 6; 0: both */
	uint64_t types; /* a bit for each RTN_... */
};

enum route_says {
	SAYS_NOTHING,	  /* of this table and family */
	SAYS_OTHER,	  /* a route of another type */
	SAYS_HERE,	  /* such a route */
	SAYS_GONE,	  /* no such route any more */
	SAYS_REPLACED,	  /* another took its place, which is not of these types */
	SAYS_TAKES_PLACE, /* such a route, in the place of another */
	SAYS_MAYBE,	  /* routes may have gone without a word */
};

enum route_says route_read(struct route *route, const struct route_wish *wish, const struct nlmsghdr *message);

/* Reads the whole table, and follows it from then on. 0 or -errno with the reason recorded. */
int route_source_open(struct route_source **source, const struct route_wish *wish, int64_t grace);
void route_source_close(struct route_source *source);

/* Readable where there is something to do. */
int route_source_fd(const struct route_source *source);
/* The table is the caller's until it is given back. NULL: it cannot be followed any more, for that reason. */
struct route_table *route_source_take(struct route_source *source, int *err);
void route_source_give(struct route_source *source);
/* Another number where routes elsewhere have changed, with what they go through; 0: that is not told. While it is
 * taken. */
uint64_t route_source_elsewhere(const struct route_source *source);
/* One of the table that is of no type that is wanted, as it was seen; NULL: there was none. While it is taken. */
const struct route *route_source_other(const struct route_source *source);
/* How often it was read whole. */
unsigned int route_source_readings(const struct route_source *source);

#endif
