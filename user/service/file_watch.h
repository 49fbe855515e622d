/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files whose every new version is told, however it comes: written in place, renamed into place, behind a symbolic link
 * that is turned, or with a directory that another takes the place of. It is told when its writer has closed it.
 */
#ifndef SERVICE_FILE_WATCH_H
#define SERVICE_FILE_WATCH_H

#include <stdbool.h>
#include <stddef.h>

struct follow;

/* -errno in *err when it cannot be had. follow_fd() becomes readable when there is something to read. */
struct follow *follow_open(int *err);
int follow_fd(const struct follow *f);
void follow_close(struct follow *f);

/*
 * From now on these and no others, under the numbers that follow_read() tells. A file is followed where it is now: when
 * it is told, the way to it may be another, and all are to be added anew before anybody looks at it. `gone`: it is told
 * as well when the file is no longer there.
 */
void follow_begin(struct follow *f);
int follow_add(struct follow *f, const char *path, size_t number, bool gone);
void follow_end(struct follow *f);

/* Calls `changed` for what has a new version. */
void follow_read(struct follow *f, void (*changed)(void *arg, size_t number), void *arg);

#endif
