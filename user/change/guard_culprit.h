/* SPDX-License-Identifier: GPL-2.0-only */
/* Which list, line and entry a guard rail speaks of. */
#ifndef CHANGE_GUARD_CULPRIT_H
#define CHANGE_GUARD_CULPRIT_H

#include "sets/address.h"

struct context;
struct guard;
struct state;

#define CULPRIT_TEXT_MAX 512

/* "it is 203.0.113.0/24 in list 'drop', drop.txt:7"; "" where no list bans it, or it cannot be told. */
const char *culprit_text(char text[CULPRIT_TEXT_MAX], const struct guard *guard, struct state *state, struct addr addr);

/*
 * "; the filter in force drops what comes from 192.0.2.1 (list 'drop')", behind why that address does not answer; ""
 * where it does not, or it cannot be told.
 */
#define DROPPED_TEXT_MAX 256
const char *dropped_text(char text[DROPPED_TEXT_MAX], const struct context *context, const char *address);

#endif
