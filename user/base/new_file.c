// SPDX-License-Identifier: GPL-2.0-only
#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/close_fd.h"
#include "base/log.h"

int new_file_begin(struct new_file *file, const char *path)
{
	struct stat st;

	file->path = path;
	/* A device, a pipe or a directory is not to be replaced by a file. */
	if (!lstat(path, &st) && !S_ISREG(st.st_mode))
		return because(-EEXIST, "%s is a %s, and no file: name one that may be written over, or a new one",
			       path, S_ISDIR(st.st_mode) ? "directory" : "device, a pipe or a link");
	if (snprintf(file->beside, sizeof(file->beside), "%s.XXXXXX", path) >= (int)sizeof(file->beside))
		return because(-ENAMETOOLONG, "%s: the name is too long", path);
	file->fd = mkostemp(file->beside, O_CLOEXEC);
	return file->fd < 0 ? because(-errno, "%s: %s", path, strerror(errno)) : 0;
}

static int sync_directory_of(const char *path)
{
	char directory[PATH_MAX];
	char *slash;
	int fd, err;

	snprintf(directory, sizeof(directory), "%s", path);
	slash = strrchr(directory, '/');
	if (slash)
		slash[slash == directory] = '\0';
	fd = open(slash ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = fd < 0 || fsync(fd) ? -errno : 0;
	close_fd(fd);
	return err;
}

int new_file_end(struct new_file *file, mode_t mode, int err)
{
	bool told = err;

	if (!err && (fsync(file->fd) || fchmod(file->fd, mode)))
		err = -errno;
	if (close(file->fd) && !err)
		err = -errno;
	if (!err && rename(file->beside, file->path))
		err = -errno;
	if (err)
		unlink(file->beside);
	else
		err = sync_directory_of(file->path);
	return err && !told ? because(err, "%s: %s", file->path, errno_text(err)) : err;
}
