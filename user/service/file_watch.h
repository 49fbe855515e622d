/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reports each new version of a file: written in place, renamed into place, or by changing a symbolic link or a
 * directory on its path. It is reported when its writer has closed it.
 */
#ifndef SERVICE_FILE_WATCH_H
#define SERVICE_FILE_WATCH_H

#include <stdbool.h>
#include <stddef.h>

struct file_watch;

/* NULL: there is no memory. */
struct file_watch *file_watch_open(void);
/* Readable when there is something to read. -1: the kernel has none; each begin tries again, and adding says why. */
int file_watch_fd(const struct file_watch *f);
void file_watch_close(struct file_watch *f);

/*
 * Between begin and end, add all files that are to be watched, with the numbers that file_watch_read() reports. After a
 * report a path may lead elsewhere: add all again before reading a file. `gone`: also report that the file is gone.
 */
void file_watch_begin(struct file_watch *f);
int file_watch_add(struct file_watch *f, const char *path, size_t number, bool gone);
void file_watch_end(struct file_watch *f);

/* Calls `changed` for each file with a new version: of so many events as one read brings. */
void file_watch_read(struct file_watch *f, void (*changed)(void *arg, size_t number), void *arg);

#endif
