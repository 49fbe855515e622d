// SPDX-License-Identifier: GPL-2.0-only
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

int source_locate(struct source *source, const char *path)
{
	const char *name = strrchr(path, '/');
	char directory[PATH_MAX], whole[PATH_MAX];

	name = name ? name + 1 : path;
	snprintf(directory, sizeof(directory), "%.*s", (int)(name - path), path);
	if (!realpath(*directory ? directory : ".", whole))
		return because(-errno, "%s: %s", path, strerror(errno));
	if (strlen(whole) + strlen(name) + 2 > sizeof(source->path))
		return because(-ENAMETOOLONG, "%s: the path is too long", path);
	strcpy(source->path, whole[1] ? whole : "");
	strcat(source->path, "/");
	strcat(source->path, name);
	return 0;
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
