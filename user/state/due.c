// SPDX-License-Identifier: GPL-2.0-only
#include "state/due.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/close_fd.h"
#include "base/state_path.h"
#include "state/internal.h"

/* A date that was set back is no reason to be silent. */
static bool is_old(const struct stat *st, int seconds)
{
	time_t now = time(NULL);

	return st->st_mtime > now || st->st_mtime <= now - seconds;
}

bool state_is_due(const struct state *state, const char *name, int seconds)
{
	char path[STATE_PATH_MAX];
	struct stat st;

	return lstat(state_path(path, state->directory, name), &st) || !S_ISREG(st.st_mode) || is_old(&st, seconds);
}

bool state_due(const struct state *state, const char *name, int seconds)
{
	char path[STATE_PATH_MAX];
	struct stat st;
	bool due = true;
	int fd;

	state_path(path, state->directory, name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0) {
		fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		due = fd < 0 || fstat(fd, &st) || is_old(&st, seconds);
		if (fd >= 0 && due)
			futimens(fd, NULL);
	}
	close_fd(fd);
	return due;
}
