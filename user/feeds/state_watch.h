/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Has somebody written to the state? Who writes holds its lock until it is committed, so the end of that is waited for.
 * The database and its log say too little: what is in the log may not be committed yet, and when it is neither of them
 * changes.
 *
 * The kernel has so many notices for each user, and root of a container may be the same, and have all: then each second
 * counts as an end.
 */
#ifndef FEEDS_STATE_WATCH_H
#define FEEDS_STATE_WATCH_H

#include <stdbool.h>

/* A descriptor to wait for, or -errno with the reason recorded. */
int state_watch_open(const char *directory);

/* Since the last time. One who wrote nothing counts, too. The directory is that which it was opened for. */
bool state_watch_ended(int watch, const char *directory);

#endif
