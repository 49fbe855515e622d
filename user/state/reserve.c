// SPDX-License-Identifier: GPL-2.0-only
#include "state/reserve.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/close_fd.h"
#include "base/log.h"
#include "base/state_path.h"

/* SQLite's index and log of a start that takes changes back, several times. */
#define RESERVE_BYTES (256 << 10)
#define MUCH_MORE     4

/* Each of the two wants a name as well, of which a disk may have so many. */
static const char *const names[] = { STATE_RESERVE, STATE_RESERVE ".2" };
#define NAMES (sizeof(names) / sizeof(names[0]))

/* Root has all of it. What is not known is enough. */
static uint64_t room_on(const char *directory)
{
	struct statvfs is;

	return statvfs(directory, &is) ? UINT64_MAX : (uint64_t)is.f_bfree * is.f_frsize;
}

/* Where a disk does not count them it says 0 of 0. */
static bool has_names(const char *directory)
{
	struct statvfs is;

	return statvfs(directory, &is) || is.f_ffree || !is.f_files;
}

static void keep(const char *path, off_t bytes)
{
	int fd = access(path, F_OK) ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;

	if (fd >= 0 && bytes && posix_fallocate(fd, 0, bytes))
		unlink(path);
	close_fd(fd);
}

void reserve_keep(const char *directory)
{
	char path[STATE_PATH_MAX];

	if (room_on(directory) < (uint64_t)RESERVE_BYTES * MUCH_MORE)
		return;
	for (size_t i = 0; i < NAMES; i++)
		keep(state_path(path, directory, names[i]), i ? 0 : RESERVE_BYTES);
}

bool reserve_give(const char *directory)
{
	char path[STATE_PATH_MAX];
	bool was = false;

	for (size_t i = 0; i < NAMES; i++)
		was = !unlink(state_path(path, directory, names[i])) || was;
	if (was)
		warn("%s: the disk is full: the room that was kept for this is used", directory);
	return was;
}

bool reserve_is_needed(const char *directory)
{
	return room_on(directory) < RESERVE_BYTES || !has_names(directory);
}
