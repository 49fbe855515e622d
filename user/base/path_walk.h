/* SPDX-License-Identifier: GPL-2.0-only */
/* Every name that is looked up on the way to a file, also through symbolic links. */
#ifndef BASE_PATH_WALK_H
#define BASE_PATH_WALK_H

#include <stdbool.h>

#include "base/mounts.h"

struct stat;

/*
 * Calls `step` for each name, before it is looked up, with the directory that it is looked up in (a path without links,
 * and its descriptor, of O_PATH), and what that is. `last`: it is the last name, unless it is a link. Returns the error
 * of step, or that of a name which cannot be looked up (-ENOENT, -ELOOP, ...), or 0 at the file. A way that goes on for
 * more than 256 names behind a link ends there, as behind too many links: -ELOOP.
 *
 * Under /proc a look at a name may last for ever, as long as the process likes that it leads to. So whoever has a say
 * in where the way leads, by a link or a directory on it that is not root's, nor ours, leads nobody there: -EXDEV, with
 * the reason recorded, and no name has been looked up there. Who does not wait for users (way_waits_for()) looks up
 * nothing of another user's process either, nor follows a link to what a process has, as /proc/PID/root.
 */
typedef int way_step(void *arg, int at, const char *directory, const struct stat *is, const char *name, bool last);
int way_walk(const char *path, way_step *step, void *arg);

/*
 * For whom this process waits from now on: where others answer for what is there, a way ends in front of it (-EREMOTE,
 * with the reason recorded). Returns what it was before.
 */
enum answers way_waits_for(enum answers most);

/* What is there; of a link, where it leads, or the link. */
int way_look(const char *path, bool follow, struct stat *is);
/*
 * A descriptor of what is there, to read: a regular file, or a directory. Nothing else is opened (-EISDIR, -ENOTDIR,
 * -EINVAL), and nobody's lease is waited for (-EAGAIN). `theirs`: the path itself may be somebody else's word.
 */
enum way_end { WAY_FILE, WAY_DIRECTORY };
int way_open(const char *path, enum way_end end, bool theirs);

/*
 * A descriptor of what a command line names, whatever it is, to read; a pipe's writer is waited for. But nobody else's
 * link or directory leads to a device, which may do something when it is opened, as a watchdog does (-EPERM).
 */
int way_open_named(const char *path);

/* By which a descriptor of O_PATH is opened, whatever is called so by now. */
#define FD_PATH_MAX (sizeof("/proc/self/fd/") + 3 * sizeof(int))
const char *fd_path(char path[FD_PATH_MAX], int fd);

/* Is that file no file on a disk, but the kernel's, which may have its reader wait for ever, as /proc/kmsg does? */
bool way_is_of_the_kernel(int fd);

#endif
