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

/* Root has all of it. What is not known is enough. */
static uint64_t room_on(const char *directory)
{
	struct statvfs is;

	return statvfs(directory, &is) ? UINT64_MAX : (uint64_t)is.f_bfree * is.f_frsize;
}

void reserve_keep(const char *directory)
{
	char path[STATE_PATH_MAX];
	int fd;

	state_path(path, directory, STATE_RESERVE);
	if (!access(path, F_OK) || room_on(directory) < (uint64_t)RESERVE_BYTES * MUCH_MORE)
		return;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0 && posix_fallocate(fd, 0, RESERVE_BYTES))
		unlink(path);
	close_fd(fd);
}

bool reserve_give(const char *directory)
{
	char path[STATE_PATH_MAX];
	bool was = !unlink(state_path(path, directory, STATE_RESERVE));

	if (was)
		warn("%s: the disk is full: the room that was kept for this is used", directory);
	return was;
}

bool reserve_is_needed(const char *directory)
{
	return room_on(directory) < RESERVE_BYTES;
}
