/* SPDX-License-Identifier: GPL-2.0-only */
/* A program of the user's that this process has started. */
#ifndef BASE_CHILD_H
#define BASE_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * It is asked to end, also where it is stopped; what has not ended after a second is killed. group: with all that is in
 * its process group. Its status.
 */
int child_end(pid_t pid, bool group);

#endif
