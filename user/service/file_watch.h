/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reports each new version of a file, however it comes: written in place, renamed into place, by turning a symbolic
 * link, or by replacing a directory on its path. It is reported when its writer has closed it.
 */
#ifndef SERVICE_FILE_WATCH_H
#define SERVICE_FILE_WATCH_H

#include <stdbool.h>
#include <stddef.h>

struct file_watch;

/* On failure: NULL, and -errno in *err. file_watch_fd() becomes readable when there is something to read. */
struct file_watch *file_watch_open(int *err);
int file_watch_fd(const struct file_watch *f);
void file_watch_close(struct file_watch *f);

/*
 * From now on these and no others, under the numbers that file_watch_read() reports. A file is watched where it is now:
 * once it is reported, its path may lead elsewhere, so all are added again before anybody looks at it. `gone`: also
 * report that the file is no longer there.
 */
void file_watch_begin(struct file_watch *f);
int file_watch_add(struct file_watch *f, const char *path, size_t number, bool gone);
void file_watch_end(struct file_watch *f);

/* Calls `changed` for what has a new version. */
void file_watch_read(struct file_watch *f, void (*changed)(void *arg, size_t number), void *arg);

#endif
