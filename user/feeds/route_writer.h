/* SPDX-License-Identifier: GPL-2.0-only */
/* Blackhole routes of ours in a table of the kernel: those that there are, and others in their place. */
#ifndef FEEDS_ROUTE_WRITER_H
#define FEEDS_ROUTE_WRITER_H

#include <stdbool.h>
#include <stddef.h>

#include "sets/prefixes.h"

/* Who has put a route there; whatever has another number is somebody else's. No other program is known to have this. */
#define ROUTE_WRITER_PROTOCOL 153

struct nl_socket;

struct route_writer {
	struct nl_socket *socket;
	unsigned int table;
	int family;	   /* 4 or 6; 0: both */
	struct prefix *at; /* that are there, in the order of route_order() */
	size_t n;
	size_t came, went, taken; /* of the last time; taken: somebody else has a route of that prefix */
};

/* 0 or -errno with the reason recorded. */
int route_writer_open(struct route_writer *writer, unsigned int table, int family);
void route_writer_close(struct route_writer *writer);

/* For qsort(3) and bsearch(3). */
int route_order(const void *a, const void *b);
/* What is there is read anew: others may have changed it. */
int route_writer_read(struct route_writer *writer);
/* These, in the order of route_order(), are to be there, and no others of ours. */
int route_writer_make(struct route_writer *writer, const struct prefix *wanted, size_t n);

#endif
