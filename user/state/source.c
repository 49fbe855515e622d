// SPDX-License-Identifier: GPL-2.0-only
#include "state/source.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <linux/magic.h>

#include "base/log.h"
#include "base/path_walk.h"

/* What another process finds under that name is another file. */
static int is_own(void *arg, const char *directory, const char *name, bool last)
{
	struct statfs fs;

	(void)arg;
	(void)name;
	(void)last;
	return !statfs(directory, &fs) && fs.f_type == PROC_SUPER_MAGIC ? -EXDEV : 0;
}

int source_locate(struct source *source, const char *path)
{
	char here[PATH_MAX] = "";
	int err;

	while (!strncmp(path, "./", 2))
		path += 2;
	if (*path != '/' && !getcwd(here, sizeof(here)))
		return because(-errno, "%s: %s", path, strerror(errno));
	if (strlen(here) + strlen(path) + 2 > sizeof(source->path))
		return because(-ENAMETOOLONG, "%s: the path is too long", path);
	strcpy(source->path, here[0] && here[1] ? here : "");
	if (*path != '/')
		strcat(source->path, "/");
	strcat(source->path, path);
	err = way_walk(source->path, is_own, NULL);
	return err ? because(err, "%s: %s", path, errno_text(err)) : 0;
}

/* Renamed into place, a file of old has its change time anew. Devices are numbered anew at every boot: left out. */
void source_stamp(struct source *source, const struct stat *st)
{
	snprintf(source->stamp, sizeof(source->stamp), "%llu:%lld:%lld.%09ld:%lld.%09ld",
		 (unsigned long long)st->st_ino, (long long)st->st_size, (long long)st->st_mtim.tv_sec,
		 st->st_mtim.tv_nsec, (long long)st->st_ctim.tv_sec, st->st_ctim.tv_nsec);
}

int source_look(struct source *source)
{
	struct stat st;

	if (stat(source->path, &st))
		return because(-errno, "%s: %s", source->path, strerror(errno));
	source_stamp(source, &st);
	return 0;
}

bool source_is_written(const char *path)
{
	bool written = false;
	struct stat st;
	int fd;

	/* To open what is no file may do something. */
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return false;
	/* A lease for readers is had only while there is no writer; one who comes meanwhile waits, and we are told. */
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

	return age < seconds && age > -seconds; /* or its clock is another */
}

bool source_is_loaded(const struct source *source)
{
	struct source *sources = NULL;
	struct state *state = NULL;
	bool found = false;
	size_t n = 0;

	if (!state_open(&state, false) && !state_sources(state, &sources, &n))
		for (size_t i = 0; i < n && !found; i++)
			found = !strcmp(sources[i].list, source->list) && !strcmp(sources[i].path, source->path) &&
				!strcmp(sources[i].stamp, source->stamp) &&
				!strcmp(sources[i].options, source->options);
	free(sources);
	state_close(state);
	return found;
}
