/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Room on the disk that is kept for the start of the machine: what was in force comes back though the disk has become
 * full meanwhile. A file beside the state, which goes when its room is needed.
 */
#ifndef STATE_RESERVE_H
#define STATE_RESERVE_H

#include <stdbool.h>

/* Unless it is there, or the disk has not much more than that. */
void reserve_keep(const char *directory);
/* False: there was none. */
bool reserve_give(const char *directory);
/* The disk is full: what is written may not find room. */
bool reserve_is_needed(const char *directory);

#endif
