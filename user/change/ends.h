/* SPDX-License-Identifier: GPL-2.0-only */
/* When bans end, from the state to the kernel. */
#ifndef CHANGE_ENDS_H
#define CHANGE_ENDS_H

#include "kernel/generation.h"
#include "sets/address.h"

struct prefixes;
struct ranges;
struct state;

/*
 * Of all bans that end; with `within`, at least of those that touch it. An address ends with the last of its bans, and
 * the kernel asks the narrowest alone: each has the latest end of those that hold it.
 */
int ends_read(struct ends *ends, struct state *state, const struct ranges *within);
/* A prefix as the kernel's tries have it. */
struct end_key end_key_of(struct addr first, unsigned int length);
/* These prefixes have no end of their own any more, unless one was read. The order becomes another. */
int ends_drop(struct ends *ends, const struct prefixes *each);
void ends_free(struct ends *ends);

#endif
