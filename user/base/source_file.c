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
static int is_own(void *arg, int at, const char *directory, const struct stat *is, const char *name, bool last)
{
	struct statfs fs;

	(void)arg;
	(void)directory;
	(void)is;
	(void)name;
	(void)last;
	return !fstatfs(at, &fs) && fs.f_type == PROC_SUPER_MAGIC ? -EXDEV : 0;
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
	return err ? because(err, "%s: %s", path, reason(err)) : 0;
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
	int err = way_look(path, true, &st);

	if (err)
		return because(err, "%s: %s", path, reason(err));
	source_stamp(stamp, &st);
	return 0;
}

struct way {
	bool open; /* to everybody: the group, too, as a mode can shut out a group alone */
	uid_t owner;
};

static int may_enter(void *arg, int at, const char *directory, const struct stat *is, const char *name, bool last)
{
	struct way *way = arg;

	(void)at;
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
	struct stat st, named;
	struct way way;
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, real, sizeof(real) - 1);
	if (length < 0 || fstat(fd, &st))
		return true;
	real[length] = '\0';
	way = (struct way){ (st.st_mode & (S_IRGRP | S_IROTH)) == (S_IRGRP | S_IROTH), st.st_uid };
	/* What a process has in file systems of its own may be called as another file is here. */
	if (way_walk(real, may_enter, &way) || way_look(real, false, &named) || named.st_dev != st.st_dev ||
	    named.st_ino != st.st_ino)
		return true;
	/* By its own name, and of whose the directory is: nobody else had it put there. */
	return !way.open && (strcmp(real, absolute) != 0 || way.owner != st.st_uid);
}

bool source_is_written(const char *path)
{
	int fd = way_open(path, WAY_FILE, false);
	bool written = false;

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
	time_t age = way_look(path, true, &st) ? seconds : time(NULL) - st.st_mtime;

	return age < seconds && age > -seconds; /* a time far in the future is of another clock */
}
