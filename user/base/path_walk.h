/* SPDX-License-Identifier: GPL-2.0-only */
/* Every name that is looked up on the way to a file, also through symbolic links. */
#ifndef BASE_PATH_WALK_H
#define BASE_PATH_WALK_H

#include <stdbool.h>

struct stat;

/*
 * Calls `step` for each name, before it is looked up, with the directory that it is looked up in (a path without
 * links), and what that is. `last`: it is the last name, unless it is a link. Returns the error of step, or that of a
 * name which cannot be looked up (-ENOENT, -ELOOP, ...), or 0 at the file.
 */
typedef int way_step(void *arg, const char *directory, const struct stat *is, const char *name, bool last);
int way_walk(const char *path, way_step *step, void *arg);

#endif
