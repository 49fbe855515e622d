/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whose is it? Whoever may write to a file, or to a directory on the way to it, decides what root reads and does. Ours
 * and root's are believed, where no other user may write; in a directory such as /tmp, what is ours or root's.
 * 0 or -errno with the reason recorded.
 */
#ifndef BASE_TRUSTED_DIR_H
#define BASE_TRUSTED_DIR_H

#include <stdbool.h>
#include <sys/types.h>

/* Root, whom we run as, or, in a user namespace, a user of outside. */
bool trust_user(uid_t uid);
int trust_directory(const char *path);
/* what: what others could change with it, as in "what the service does". */
int trust_file(const char *path, const char *what);
/* The same of what is open; a pipe is its owner's. */
int trust_open_file(int fd, const char *path, const char *what);
/* A descriptor of a regular file that no other user may write to. */
int open_trusted(const char *path, const char *what);
/* And that no other may read, as passwords are in it? */
int trust_secret(int fd, const char *path);

#endif
