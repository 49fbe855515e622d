/* SPDX-License-Identifier: GPL-2.0-only */
/* The way to a file: every name that is looked up on it, also where it leads through symbolic links. */
#ifndef BASE_PATH_WALK_H
#define BASE_PATH_WALK_H

#include <stdbool.h>

/*
 * Calls `step` for each name, before it is looked up, with the directory that it is looked up in (a path without
 * links). `last`: nothing comes behind the name but what it may be a link to. Ends with step's error, with that of the
 * name that cannot be looked up (-ENOENT, -ELOOP, ...), or with 0 at the file.
 */
int way_walk(const char *path, int (*step)(void *arg, const char *directory, const char *name, bool last), void *arg);

#endif
