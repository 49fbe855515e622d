// SPDX-License-Identifier: GPL-2.0-only
/*
 * A journal belongs to its file: were it left, it would be played into the new one. The file itself has both names
 * until the new one takes its place, so that it can be told where that was cut short.
 */
#include "state/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

static const char *const tails[] = { "", "-shm", "-wal" };

static void name_both(char file[PATH_MAX], char kept[PATH_MAX], const char *tail)
{
	snprintf(file, PATH_MAX, "%s/state.db%s", opt_state, tail);
	snprintf(kept, PATH_MAX, "%s/state.db.damaged%s", opt_state, tail);
}

static void clear_workshop(void)
{
	static const char *const names[] = {
		"state.db", "state.db-journal", "state.db-wal", "state.db-shm", "lock", ""
	};
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/" STATE_WORKSHOP, opt_state);
	if (access(path, F_OK)) /* as nearly always */
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/" STATE_WORKSHOP "/%s", opt_state, names[i]);
		if (*names[i])
			unlink(path);
		else
			rmdir(path);
	}
}

void state_exchange_undo(void)
{
	char file[PATH_MAX], kept[PATH_MAX];
	struct stat now, before;

	clear_workshop();
	name_both(file, kept, "");
	if (stat(kept, &before) || stat(file, &now) || before.st_ino != now.st_ino || before.st_dev != now.st_dev)
		return;
	name_both(file, kept, "-wal");
	if (!rename(kept, file)) {
		name_both(file, kept, "-shm"); /* of the time without a journal */
		unlink(file);
		unlink(kept);
	}
	name_both(file, kept, "");
	unlink(kept);
}

int state_exchange(char *kept, size_t size)
{
	char from[PATH_MAX], to[PATH_MAX];
	int directory;

	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		name_both(from, to, tails[i]);
		unlink(to);
	}
	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		name_both(from, to, tails[i]);
		if ((*tails[i] ? rename(from, to) : link(from, to)) && errno != ENOENT)
			return because(-errno, "%s: %s", to, strerror(errno));
	}
	name_both(to, from, "");
	snprintf(kept, size, "%s", from);
	snprintf(from, sizeof(from), "%s/" STATE_WORKSHOP "/state.db", opt_state);
	if (rename(from, to))
		return because(-errno, "%s: %s", to, strerror(errno));
	directory = open(opt_state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory >= 0) {
		fsync(directory);
		close(directory);
	}
	return 0;
}
