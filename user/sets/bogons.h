/* SPDX-License-Identifier: GPL-2.0-only */
/* Ranges that no packet from outside should have as its source, and whose ban would lock out the local network. */
#ifndef SETS_BOGONS_H
#define SETS_BOGONS_H

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

#endif
