/* SPDX-License-Identifier: GPL-2.0-only */
/* A file that is there whole, or as it was before. */
#ifndef BASE_NEW_FILE_H
#define BASE_NEW_FILE_H

#include <limits.h>
#include <sys/types.h>

struct new_file {
	const char *path;
	char beside[PATH_MAX];
	int fd;
};

/* Opens one beside it, for its owner alone. 0 or -errno with the reason recorded; then nothing is to be ended. */
int new_file_begin(struct new_file *file, const char *path);
/* Puts it into its place, for those who may read it by `mode`; on an error it goes. 0 or -errno, with the reason. */
int new_file_end(struct new_file *file, mode_t mode, int err);

#endif
