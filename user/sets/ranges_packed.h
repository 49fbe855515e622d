/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sorted IPv4 ranges as bytes: for each the gap to the one before, and one bit that says whether a length follows; both
 * numbers in groups of seven bits, the low ones first. A host of a large list takes one or two bytes instead of eight.
 */
#ifndef SETS_RANGES_PACKED_H
#define SETS_RANGES_PACKED_H

#include <sys/types.h>

#include "sets/ranges.h"

/* At most so many bytes for a range. */
#define PACKED4_MAX 10

/* Packs ranges until they or the room end; *done is how many. Returns the bytes used. */
size_t packed4_put(const struct range4 *from, size_t n, size_t *done, unsigned char *to, size_t room);

/* Returns how many ranges the bytes hold, or -EUCLEAN: not what packed4_put() writes. `to` may be NULL. */
ssize_t packed4_get(const unsigned char *from, size_t bytes, struct range4 *to);

#endif
