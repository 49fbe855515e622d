// SPDX-License-Identifier: GPL-2.0-only
/*
 * The old journal must go with its file: SQLite would play it into the new one. The old file has both names until the
 * new one replaces it, which shows that an exchange was cut short.
 */
#include "state/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

static const char *const tails[] = { "", "-shm", "-wal" };

static void name_both(const char *directory, char file[STATE_PATH_MAX], char kept[STATE_PATH_MAX], const char *tail)
{
	char name[64];

	snprintf(name, sizeof(name), STATE_DATABASE "%s", tail);
	state_path(file, directory, name);
	snprintf(name, sizeof(name), STATE_DATABASE ".damaged%s", tail);
	state_path(kept, directory, name);
}

static void clear_workshop(const char *directory)
{
	static const char *const names[] = { STATE_DATABASE, STATE_DATABASE "-journal", STATE_DATABASE "-wal",
					     STATE_DATABASE "-shm", STATE_LOCK };
	char workshop[STATE_PATH_MAX], path[STATE_PATH_MAX];

	if (access(state_path(workshop, directory, STATE_WORKSHOP), F_OK)) /* as nearly always */
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(state_path(path, workshop, names[i]));
	rmdir(workshop);
}

bool state_in_workshop(const char *directory)
{
	const char *name = strrchr(directory, '/');

	return name && !strcmp(name + 1, STATE_WORKSHOP);
}

int state_workshop(const char *directory, char file[STATE_PATH_MAX])
{
	if (mkdir(state_path(file, directory, STATE_WORKSHOP), 0700) && errno != EEXIST)
		return because(-errno, "%s: %s", directory, strerror(errno));
	state_path(file, directory, STATE_WORKSHOP "/" STATE_DATABASE);
	return 0;
}

void state_exchange_undo(const char *directory)
{
	char file[STATE_PATH_MAX], kept[STATE_PATH_MAX];
	struct stat now, before;

	clear_workshop(directory);
	name_both(directory, file, kept, "");
	if (stat(kept, &before) || stat(file, &now) || before.st_ino != now.st_ino || before.st_dev != now.st_dev)
		return;
	name_both(directory, file, kept, "-wal");
	if (!rename(kept, file)) {
		name_both(directory, file, kept, "-shm"); /* of the time without a journal */
		unlink(file);
		unlink(kept);
	} else if (errno != ENOENT) {
		return; /* whoever comes next tries again */
	}
	name_both(directory, file, kept, "");
	unlink(kept);
}

int state_exchange(const char *directory, char kept[STATE_PATH_MAX])
{
	char file[STATE_PATH_MAX], made[STATE_PATH_MAX];
	int fd;

	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		name_both(directory, file, kept, tails[i]);
		unlink(kept);
	}
	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		name_both(directory, file, kept, tails[i]);
		if ((*tails[i] ? rename(file, kept) : link(file, kept)) && errno != ENOENT)
			return because(-errno, "%s: %s", kept, strerror(errno));
	}
	name_both(directory, file, kept, "");
	if (rename(state_path(made, directory, STATE_WORKSHOP "/" STATE_DATABASE), file))
		return because(-errno, "%s: %s", file, strerror(errno));
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
	return 0;
}
