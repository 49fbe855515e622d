/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SETS_WRITER_H
#define SETS_WRITER_H

#include <stddef.h>
#include <stdio.h>

#include "sets/address.h"

struct ranges;

/* Sets as text, in formats that the reader reads back. NULL, or why this set cannot be written so; then nothing was. */
const char *writer_write(FILE *out, const struct ranges *set, const char *format, const char *name);

/* The names that --output takes, with blanks between them. */
const char *writer_formats(void);

#define WRITER_NAME_MAX 30 /* of a set, so that ipset takes it with a 6 behind it */

/* Calls back for the fewest prefixes that are the set, IPv4 first; returns how many there are. each may be NULL. */
typedef void writer_prefix_fn(struct addr first, unsigned int length, void *arg);
size_t writer_prefixes(const struct ranges *set, writer_prefix_fn *each, void *arg);

#endif
