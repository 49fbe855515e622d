/* SPDX-License-Identifier: GPL-2.0-only */
/* Files that are installed with the command: found by where it is itself, so that nothing is fixed when it is built. */
#ifndef BASE_BESIDE_H
#define BASE_BESIDE_H

#include <limits.h>

#define BESIDE_MAX (PATH_MAX + 64)

/*
 * The first of these that may be read, seen from the directory of the command: "/../share/xdp-bloom/feeds". 0 or
 * -errno; then `path` is where the first was looked for.
 */
int beside_find(char path[BESIDE_MAX], const char *const *places);

#endif
