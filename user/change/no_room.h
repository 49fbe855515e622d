/* SPDX-License-Identifier: GPL-2.0-only */
/* What is to be filtered is so where the state cannot be written: others may fill its disk for as long as they like. */
#ifndef CHANGE_NO_ROOM_H
#define CHANGE_NO_ROOM_H

#include <stdbool.h>
#include <stddef.h>

struct ahead;
struct restore_options;

/*
 * Attaches what is in the state and what has become a port since, of which the state gets its entries when there is
 * room. Who is dropped is said where it begins to filter anywhere. *missing: as of restore(). False: more was to be
 * done than that, or not even that could be.
 */
bool attach_without_room(const struct ahead *ahead, const struct restore_options *options, size_t *missing);

#endif
