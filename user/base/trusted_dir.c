// SPDX-License-Identifier: GPL-2.0-only
#include "base/trusted_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/close_fd.h"
#include "base/log.h"
#include "base/path_walk.h"

#define NOBODY 65534

/* In a user namespace all users that it does not know are shown as nobody, those above it among them. */
static bool is_unknown(uid_t uid)
{
	unsigned long first, outside, n;
	bool known = false;
	FILE *map;

	if (uid != NOBODY)
		return false;
	map = fopen("/proc/self/uid_map", "re");
	while (map && !known && fscanf(map, "%lu %lu %lu", &first, &outside, &n) == 3)
		known = uid >= first && uid - first < n;
	if (map)
		fclose(map);
	return map && !known;
}

bool trust_user(uid_t uid)
{
	return !uid || uid == geteuid() || is_unknown(uid);
}

static int check_owner(const char *path, const struct stat *is, const char *what)
{
	if (!trust_user(is->st_uid))
		return because(-EPERM, "%s belongs to user %u, who could change %s; chown root", path,
			       (unsigned int)is->st_uid, what);
	return 0;
}

/* A mount that is read-only here, as under a service, may be written to elsewhere. */
static bool others_write(const struct stat *is)
{
	return is->st_mode & (S_IWGRP | S_IWOTH);
}

/* A directory on the way. Where others may write, but not take away what is not theirs, the name decides. */
static int check_step(void *what, int at, const char *directory, const struct stat *is, const char *name, bool last)
{
	char path[PATH_MAX];
	struct stat next;
	int err = check_owner(directory, is, what);

	(void)at;
	(void)last;
	if (err || !others_write(is))
		return err;
	if (!(is->st_mode & S_ISVTX))
		return because(-EPERM, "%s: others may write there, and so change %s; chmod go-w", directory,
			       (const char *)what);
	if ((size_t)snprintf(path, sizeof(path), "%s/%s", strcmp(directory, "/") ? directory : "", name) >=
	    sizeof(path))
		return because(-ENAMETOOLONG, "%s: the path is too long", name);
	/* One that is not there is reported by whoever wants it. */
	return lstat(path, &next) ? 0 : check_owner(path, &next, what);
}

static int check_way(const char *path, struct stat *is, const char *what)
{
	int err = way_walk(path, check_step, (void *)(uintptr_t)what);

	if (!err && stat(path, is))
		err = -errno;
	if (err && err == -error_number(err))
		return because(err, "%s: %s", path, errno_text(err));
	return err;
}

/*
 * The last directory that was found to be trusted. As long as it is the same, with the same owner and mode, nobody else
 * has changed it or the way to it, and need not be looked for again: what lies in it is judged by itself.
 */
static struct {
	char path[PATH_MAX];
	struct stat is;
} trusted;

static void remember(const char *path, const struct stat *is)
{
	if (strlen(path) >= sizeof(trusted.path))
		return;
	strcpy(trusted.path, path);
	trusted.is = *is;
}

static bool is_remembered(const char *path, size_t length)
{
	struct stat is;

	return length && strlen(trusted.path) == length && !memcmp(trusted.path, path, length) &&
	       !stat(trusted.path, &is) && is.st_ino == trusted.is.st_ino && is.st_dev == trusted.is.st_dev &&
	       is.st_uid == trusted.is.st_uid && is.st_mode == trusted.is.st_mode;
}

/* Straight in the directory that is remembered, and no link to somewhere else. */
static bool is_in_remembered(const char *path, struct stat *is)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] && strcmp(slash, "/.") && strcmp(slash, "/..") &&
	       is_remembered(path, (size_t)(slash - path)) && !lstat(path, is) && !S_ISLNK(is->st_mode);
}

int trust_directory(const char *path)
{
	static const char what[] = "what is kept there";
	struct stat is = { 0 };
	bool below;
	int err;

	if (is_remembered(path, strlen(path)))
		return 0;
	below = is_in_remembered(path, &is);
	err = (below ? 0 : check_way(path, &is, what)) ?: check_owner(path, &is, what);
	if (err)
		return err;
	if (!S_ISDIR(is.st_mode))
		return because(-ENOTDIR, "%s: %s", path, strerror(ENOTDIR));
	if (others_write(&is))
		return because(-EPERM, "%s: others may write there; chmod go-w", path);
	if (!below)
		remember(path, &is);
	return 0;
}

int trust_file(const char *path, const char *what)
{
	struct stat is = { 0 };
	int err = (is_in_remembered(path, &is) ? 0 : check_way(path, &is, what)) ?: check_owner(path, &is, what);

	if (!err && others_write(&is))
		err = because(-EPERM, "%s: others may write to it, and so change %s; chmod go-w", path, what);
	return err;
}

int trust_open_file(int fd, const char *path, const char *what)
{
	struct stat is, named;
	int err;

	if (fstat(fd, &is))
		return because(-errno, "%s: %s", path, strerror(errno));
	if (S_ISREG(is.st_mode)) {
		err = trust_file(path, what);
		if (!err && (stat(path, &named) || named.st_ino != is.st_ino || named.st_dev != is.st_dev))
			err = because(-EAGAIN, "%s: it is another file now; try again", path);
		return err;
	}
	return check_owner(path, &is, what);
}

int open_trusted(const char *path, const char *what)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err = 0;
	struct stat is;

	if (fd < 0 || fstat(fd, &is))
		err = because(-errno, "%s: %s", path, strerror(errno));
	else if (!S_ISREG(is.st_mode))
		err = because(-EINVAL, "%s: not a regular file", path);
	else
		err = trust_open_file(fd, path, what);
	if (!err)
		return fd;
	close_fd(fd);
	return err;
}

int trust_secret(int fd, const char *path)
{
	struct stat is;

	if (fstat(fd, &is))
		return because(-errno, "%s: %s", path, strerror(errno));
	if (is.st_mode & (S_IRWXG | S_IRWXO))
		return because(-EACCES, "%s: others may read it, and passwords are in it; chmod 600", path);
	return 0;
}
