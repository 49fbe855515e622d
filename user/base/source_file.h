/* SPDX-License-Identifier: GPL-2.0-only */
/* A file that something was read from: where it is, and which version of it. */
#ifndef BASE_SOURCE_FILE_H
#define BASE_SOURCE_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#define SOURCE_STAMP_MAX 96

/* Its path from the root; -errno when it cannot be found, or where it leads through /proc (as /dev/stdin does). */
int source_locate(char absolute[PATH_MAX], const char *path);
/* The stamp of an open file, or of the file that the path names now. It differs where the file may differ. */
void source_stamp(char stamp[SOURCE_STAMP_MAX], const struct stat *st);
int source_look(char stamp[SOURCE_STAMP_MAX], const char *path);
/*
 * Could who may not read that open file have us read it by this path: by a link, or a name in a directory of his? Then
 * its lines are not to be shown. Not so of one that everybody may read, by its mode and those of all directories above.
 */
bool source_is_hidden(int fd, const char *absolute);
/* Does a process have the file open for writing? The kernel answers only the file's owner: for others it is false. */
bool source_is_written(const char *path);
/* Was it written a moment ago? Its writer may not be done yet. */
bool source_is_young(const char *path, long seconds);

#endif
