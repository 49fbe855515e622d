// SPDX-License-Identifier: GPL-2.0-only
#include "state/unshown.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/state_path.h"

/* What fails is tried again after an hour at most, and takes its time. */
#define AGAIN 4200

#define MODE	 0600
#define NOTED_BY S_IXUSR

void unshown_note(const char *directory)
{
	char path[STATE_PATH_MAX];

	if (!chmod(state_path(path, directory, STATE_LOCK), MODE | NOTED_BY))
		utimensat(AT_FDCWD, path, NULL, 0);
}

int64_t unshown_at(const char *directory, int64_t now)
{
	char path[STATE_PATH_MAX];
	struct stat is;

	if (stat(state_path(path, directory, STATE_LOCK), &is) || !(is.st_mode & NOTED_BY))
		return 0;
	return is.st_mtime <= TIME_MOST && now - is.st_mtime < AGAIN ? is.st_mtime : 0;
}

bool unshown_trouble(const char *directory, int64_t now, char text[UNSHOWN_TEXT_MAX])
{
	int64_t at = unshown_at(directory, now);
	char when[UTC_TEXT_MAX];

	text[0] = '\0';
	if (at)
		snprintf(text, UNSHOWN_TEXT_MAX,
			 "something that is wrong is not shown: at %s it could not be kept, as where the disk is full;"
			 " the log says what",
			 utc_text(when, at));
	return at;
}
