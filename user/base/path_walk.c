// SPDX-License-Identifier: GPL-2.0-only
#include "base/path_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "base/close_fd.h"
#include "base/log.h"
#include "base/trusted_dir.h"

#define PROC_ROOT 1  /* the number of /proc itself */
#define LINKS_MAX 40 /* as many as the kernel follows */
/* From the first link on. Each link may have thousands, all of which who walks would look up, and watch. */
#define STEPS_MAX 256

static int join(char to[PATH_MAX], const char *a, const char *b)
{
	return (size_t)snprintf(to, PATH_MAX, "%s/%s", a, b) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static enum answers waits_for = USER_ANSWERS;

enum answers way_waits_for(enum answers most)
{
	enum answers before = waits_for;

	waits_for = most;
	return before;
}

/* Where we are: by a descriptor, as its name may be another's by now. */
struct place {
	int fd;
	unsigned long mount; /* one of those that are waited for; 0: for all */
	char at[PATH_MAX];   /* "": the root */
	struct stat is;
	bool theirs;	/* somebody else has a say in that */
	bool by_kernel; /* by a process, as /proc/self/fd/0: `at` begins there, and is no shorter above that */
};

/* What was opened there, of O_PATH, before anything is asked about it. */
static int asked(struct place *here, int fd, const char *name)
{
	unsigned long mount = fd < 0 || waits_for == USER_ANSWERS ? here->mount : mount_of(fd);

	if (fd < 0)
		return -errno;
	if (mount != here->mount && mount_answers(mount) > waits_for) {
		close(fd);
		return because(-EREMOTE, "%s/%s is of a file system that may not answer", here->at, name);
	}
	here->mount = mount;
	return fd;
}

static int go_to(struct place *here, int fd)
{
	close_fd(here->fd);
	here->fd = fd;
	return fd < 0 || fstat(fd, &here->is) ? -errno : 0;
}

static int go_from(struct place *here, const char *from)
{
	int err = go_to(here, open(from, O_PATH | O_DIRECTORY | O_CLOEXEC));

	here->mount = waits_for < USER_ANSWERS ? mount_of(here->fd) : 0;
	return err;
}

/* To ask for a directory mounts one that is mounted when it is asked for, and waits for whom that waits for. */
static int enter(int at, const char *name)
{
	bool waits = waits_for > KERNEL_ANSWERS;
	int fd = waits ? openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;

	return waits && (fd >= 0 || errno != ENOTDIR) ? fd : openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

bool way_is_of_the_kernel(int fd)
{
	static const unsigned int magics[] = { PROC_SUPER_MAGIC, SYSFS_MAGIC,	     DEBUGFS_MAGIC,
					       TRACEFS_MAGIC,	 SECURITYFS_MAGIC,   AAFS_MAGIC,
					       BPF_FS_MAGIC,	 CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC };
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return false;
	for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
		if ((unsigned int)fs.f_type == magics[i])
			return true;
	return false;
}

static bool is_of_processes(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == PROC_SUPER_MAGIC;
}

/*
 * Where others may write, but not take away what is not theirs, only links of theirs lead astray. In /proc the owner is
 * whose process it is, who has no say in where names lead, but in how long a look lasts.
 */
static int may_look_up(struct place *here)
{
	mode_t others = here->is.st_mode & S_ISVTX ? 0 : here->is.st_mode & (S_IWGRP | S_IWOTH);
	bool is_his = others || !trust_user(here->is.st_uid);

	here->theirs = here->theirs || (is_his && (waits_for < USER_ANSWERS || !is_of_processes(here->fd)));
	return here->theirs && way_is_of_the_kernel(here->fd)
		       ? because(-EXDEV, "another user's link leads to %s, where a look may last for ever", here->at)
		       : 0;
}

/* As the kernel refuses it by fs.protected_symlinks: where all may put links, others' lead nobody at the end of a way.
 */
static bool is_planted(const struct stat *directory, const struct stat *link)
{
	return (directory->st_mode & S_ISVTX) && (directory->st_mode & S_IWOTH) && link->st_uid != geteuid() &&
	       link->st_uid != directory->st_uid;
}

/* What a process has there is in its own file systems, of which nobody here knows who answers. */
static int follow_by_kernel(struct place *here, const char *name, uid_t owner)
{
	if (waits_for < USER_ANSWERS)
		return because(-EXDEV, "%s/%s leads where a process is, which may not answer", here->at, name);
	here->by_kernel = true;
	here->theirs = here->theirs || !trust_user(owner);
	return asked(here, openat(here->fd, name, O_PATH | O_CLOEXEC), name);
}

/* Looks up `name` there: goes to it, or, where it is a link, puts its target in front of `left` into `rest`. */
static int look_up(struct place *here, const char *name, const char *left, char rest[PATH_MAX], int *links, bool follow)
{
	char whole[PATH_MAX], target[PATH_MAX];
	int err = join(whole, here->at, name), fd = err ?: asked(here, enter(here->fd, name), name);
	bool planted, leads_on;
	struct stat is;
	ssize_t length;

	if (fd < 0)
		return fd;
	leads_on = !fstat(fd, &is) && S_ISLNK(is.st_mode) && (follow || *left);
	/* What such a link says is what the process calls it: here that may be another file, or none. */
	if (leads_on && here->is.st_ino != PROC_ROOT && is_of_processes(here->fd)) {
		close(fd);
		fd = follow_by_kernel(here, name, is.st_uid);
		if (fd < 0)
			return fd;
		leads_on = false;
	}
	if (!leads_on) {
		strcpy(here->at, whole);
		memmove(rest, left, strlen(left) + 1);
		return go_to(here, fd);
	}
	length = readlinkat(fd, "", target, sizeof(target) - 1);
	err = length < 0 ? -errno : 0;
	close(fd);
	if (!err && ++*links > LINKS_MAX)
		err = -ELOOP;
	if (err)
		return err;
	planted = !*left && is_planted(&here->is, &is);
	here->theirs = here->theirs || planted || !trust_user(is.st_uid);
	if (planted)
		return -EACCES;
	target[length] = '\0';
	err = join(whole, target, left);
	if (err)
		return err;
	strcpy(rest, whole);
	if (*target != '/')
		return 0;
	*here->at = '\0';
	here->by_kernel = false;
	return go_from(here, "/");
}

static int go_up(struct place *here)
{
	int fd;

	if (!*here->at)
		return 0;
	fd = asked(here, openat(here->fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC), "..");
	if (fd < 0)
		return fd;
	if (!here->by_kernel)
		*strrchr(here->at, '/') = '\0';
	else if (strlen(here->at) + sizeof("/..") <= PATH_MAX)
		strcat(here->at, "/..");
	return go_to(here, fd);
}

/* To the end, of which there is the descriptor then. */
static int walk(struct place *here, const char *path, bool follow, way_step *step, void *arg)
{
	char rest[PATH_MAX], name[NAME_MAX + 1];
	int links = 0, steps = 0, err;

	if (!*path)
		return -ENOENT;
	if (*path != '/' && !getcwd(here->at, sizeof(here->at)))
		return -errno;
	if (!strcmp(here->at, "/"))
		*here->at = '\0';
	if (strlen(path) >= sizeof(rest))
		return -ENAMETOOLONG;
	strcpy(rest, path);
	err = go_from(here, *path == '/' ? "/" : ".");
	while (!err) {
		const char *begin = rest + strspn(rest, "/");
		size_t length = strcspn(begin, "/");
		const char *left = begin + length + strspn(begin + length, "/");

		if (!length)
			break;
		if (links && ++steps > STEPS_MAX)
			return -ELOOP;
		if (length > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, begin, length);
		name[length] = '\0';
		if (!strcmp(name, ".") || !strcmp(name, "..")) {
			if (!S_ISDIR(here->is.st_mode))
				return -ENOTDIR;
			err = name[1] ? go_up(here) : 0;
			memmove(rest, left, strlen(left) + 1);
			continue;
		}
		err = may_look_up(here)
			      ?: step ? step(arg, here->fd, *here->at ? here->at : "/", &here->is, name, !*left)
				      : 0;
		if (!err)
			err = look_up(here, name, left, rest, &links, follow);
	}
	return !err && path[strlen(path) - 1] == '/' && !S_ISDIR(here->is.st_mode) ? -ENOTDIR : err;
}

const char *fd_path(char path[FD_PATH_MAX], int fd)
{
	snprintf(path, FD_PATH_MAX, "/proc/self/fd/%d", fd);
	return path;
}

int way_walk(const char *path, way_step *step, void *arg)
{
	struct place here = { .fd = -1 };
	int err = walk(&here, path, true, step, arg);

	close_fd(here.fd);
	return err;
}

int way_look(const char *path, bool follow, struct stat *is)
{
	struct place here = { .fd = -1 };
	int err = walk(&here, path, follow, NULL, NULL);

	*is = here.is;
	close_fd(here.fd);
	return err;
}

int way_open(const char *path, enum way_end end, bool theirs)
{
	struct place here = { .fd = -1, .theirs = theirs };
	int err = walk(&here, path, true, NULL, NULL), fd = -1;
	char again[FD_PATH_MAX];

	if (!err && end == WAY_DIRECTORY && !S_ISDIR(here.is.st_mode))
		err = -ENOTDIR;
	else if (!err && end == WAY_FILE && !S_ISREG(here.is.st_mode))
		err = S_ISDIR(here.is.st_mode) ? -EISDIR : because(-EINVAL, "not a regular file");
	if (!err) {
		fd = open(fd_path(again, here.fd), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		err = fd >= 0 ? 0 : errno == ENOENT ? -EIO : -errno; /* there is no /proc */
	}
	if (err_is(err, EAGAIN))
		err = because(err, "another process holds it (a lease), and was told to let it go; try again");
	close_fd(here.fd);
	return err ?: fd;
}

int way_open_named(const char *path)
{
	struct place here = { .fd = -1 };
	int err = walk(&here, path, true, NULL, NULL), fd;
	char again[FD_PATH_MAX];

	if (!err && here.theirs && (S_ISCHR(here.is.st_mode) || S_ISBLK(here.is.st_mode)))
		err = because(-EPERM, "another user's link leads to a device");
	/* Not by its name: somebody else may have put another there since. */
	fd = err ? -1 : open(fd_path(again, here.fd), O_RDONLY | O_CLOEXEC | O_NOCTTY);
	err = err ?: fd < 0 ? -errno : 0;
	close_fd(here.fd);
	return err ?: fd;
}
