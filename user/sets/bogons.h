/* SPDX-License-Identifier: GPL-2.0-only */
/* Ranges that no packet from outside should have as its source, and whose ban would lock out the local network. */
#ifndef SETS_BOGONS_H
#define SETS_BOGONS_H

#include <stdbool.h>
#include <stddef.h>

#include "sets/address.h"

struct bogon {
	const char *prefix, *what;
};
extern const struct bogon bogon_table[];
extern const size_t bogon_table_n;

/* The one of such a table that holds all of the prefix; NULL: none. */
const struct bogon *bogon_among(const struct bogon *table, size_t n, struct addr first, unsigned int length);
/* The one that holds all of the prefix; NULL: none. */
const struct bogon *bogon_of(struct addr first, unsigned int length);

/* Is no host known by it? From 0.0.0.0 and :: those ask who have no address yet; and a machine talks to itself. */
bool source_is_nobodys(struct addr addr);
/* Nor by this: that of a group, of all, or one that is another host's on each link. */
bool source_is_shared(struct addr addr);

#endif
