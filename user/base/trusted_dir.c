// SPDX-License-Identifier: GPL-2.0-only
#include "base/trusted_dir.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

int trust_directory(const char *path)
{
	struct stat is;

	if (stat(path, &is))
		return because(-errno, "%s: %s", path, strerror(errno));
	if (!S_ISDIR(is.st_mode))
		return because(-ENOTDIR, "%s: %s", path, strerror(ENOTDIR));
	if (is.st_uid && is.st_uid != geteuid())
		return because(-EPERM, "%s belongs to user %u, who could change what is kept there", path,
			       (unsigned int)is.st_uid);
	if (is.st_mode & (S_IWGRP | S_IWOTH))
		return because(-EPERM, "%s: others may write there; chmod go-w", path);
	return 0;
}
