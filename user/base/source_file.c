// SPDX-License-Identifier: GPL-2.0-only
#include "base/source_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <linux/magic.h>

#include "base/log.h"
#include "base/path_walk.h"

/* Under /proc another process finds another file by the same name. */
static int is_own(void *arg, const char *directory, const struct stat *is, const char *name, bool last)
{
	struct statfs fs;

	(void)arg;
	(void)is;
	(void)name;
	(void)last;
	return !statfs(directory, &fs) && fs.f_type == PROC_SUPER_MAGIC ? -EXDEV : 0;
}

int source_locate(char absolute[PATH_MAX], const char *path)
{
	char here[PATH_MAX] = "";
	int err;

	while (!strncmp(path, "./", 2))
		path += 2;
	if (*path != '/' && !getcwd(here, sizeof(here)))
		return because(-errno, "%s: %s", path, strerror(errno));
	if (strlen(here) + strlen(path) + 2 > PATH_MAX)
		return because(-ENAMETOOLONG, "%s: the path is too long", path);
	strcpy(absolute, here[1] ? here : "");
	if (*path != '/')
		strcat(absolute, "/");
	strcat(absolute, path);
	err = way_walk(absolute, is_own, NULL);
	return err ? because(err, "%s: %s", path, errno_text(err)) : 0;
}

/* Renaming an old file into place updates its change time. Devices get new numbers at every boot: left out. */
void source_stamp(char stamp[SOURCE_STAMP_MAX], const struct stat *st)
{
	snprintf(stamp, SOURCE_STAMP_MAX, "%llu:%lld:%lld.%09ld:%lld.%09ld", (unsigned long long)st->st_ino,
		 (long long)st->st_size, (long long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec,
		 (long long)st->st_ctim.tv_sec, st->st_ctim.tv_nsec);
}

int source_look(char stamp[SOURCE_STAMP_MAX], const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return because(-errno, "%s: %s", path, strerror(errno));
	source_stamp(stamp, &st);
	return 0;
}

struct way {
	bool open; /* to everybody: the group, too, as a mode can shut out a group alone */
	uid_t owner;
};

static int may_enter(void *arg, const char *directory, const struct stat *is, const char *name, bool last)
{
	struct way *way = arg;

	(void)directory;
	(void)name;
	(void)last;
	way->open = way->open && (is->st_mode & (S_IXGRP | S_IXOTH)) == (S_IXGRP | S_IXOTH);
	way->owner = is->st_uid;
	return 0;
}

/* Of the open file, as a link may lead elsewhere meanwhile. */
bool source_is_hidden(int fd, const char *absolute)
{
	char link[64], real[PATH_MAX];
	struct way way;
	struct stat st;
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, real, sizeof(real) - 1);
	if (length < 0 || fstat(fd, &st))
		return true;
	real[length] = '\0';
	way = (struct way){ (st.st_mode & (S_IRGRP | S_IROTH)) == (S_IRGRP | S_IROTH), st.st_uid };
	if (way_walk(real, may_enter, &way))
		return true;
	/* By its own name, and of whose the directory is: nobody else had it put there. */
	return !way.open && (strcmp(real, absolute) != 0 || way.owner != st.st_uid);
}

bool source_is_of_the_kernel(int fd)
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

bool source_is_written(const char *path)
{
	bool written = false;
	struct stat st;
	int fd;

	/* Opening a device or a pipe can have an effect. */
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return false;
	/* A lease is granted only while no process has the file open for writing; one that arrives is held back. */
	signal(SIGIO, SIG_IGN);
	if (fcntl(fd, F_SETLEASE, F_RDLCK))
		written = errno == EAGAIN;
	else
		fcntl(fd, F_SETLEASE, F_UNLCK);
	close(fd);
	return written;
}

bool source_is_young(const char *path, long seconds)
{
	struct stat st;
	time_t age = stat(path, &st) ? seconds : time(NULL) - st.st_mtime;

	return age < seconds && age > -seconds; /* a time far in the future is of another clock */
}
