// SPDX-License-Identifier: GPL-2.0-only
/* The room on the disk that is kept for the start of the machine: when it is taken, and given; with a disk made up. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/log.h"
#include "ktap.h"

static uint64_t blocks, files, free_files;
static bool unknown, no_room;
static unsigned int said;

static int given_statvfs(const char *path, struct statvfs *is)
{
	(void)path;
	*is = (struct statvfs){ .f_bfree = blocks,
				.f_bavail = 1,
				.f_frsize = 4096,
				.f_bsize = 1,
				.f_files = files,
				.f_ffree = free_files };
	return unknown ? -1 : 0;
}

static int given_fallocate(int fd, off_t from, off_t n)
{
	return no_room ? ENOSPC : posix_fallocate(fd, from, n);
}

#define statvfs(path, is) given_statvfs(path, is)
#define posix_fallocate	  given_fallocate
#define warn(...)	  (said++)
#include "state/reserve.c"
#undef posix_fallocate

static char directory[200], path[STATE_PATH_MAX], second[STATE_PATH_MAX];

/* Its size; -1: it is not there. */
static int size(void)
{
	struct stat is;

	return stat(path, &is) ? -1 : (int)is.st_size;
}

static void kept(void)
{
	blocks = 255;
	reserve_keep(directory);
	CHECK(size() == -1, "kept where there is hardly more");
	blocks = 256;
	reserve_keep(directory);
	CHECK(size() == 256 << 10, "%d bytes", size());
	CHECK(!truncate(path, 7), "not there");
	reserve_keep(directory);
	CHECK(!unlink(second), "no second name");
	reserve_keep(directory);
	CHECK(size() == 7, "made again: %d bytes", size());
	CHECK(!access(second, F_OK) && !unlink(path), "no second name");
	CHECK(reserve_give(directory) && size() == -1 && access(second, F_OK) && said == 1, "not given");
	CHECK(!reserve_give(directory) && said == 1, "given twice");
	unknown = true;
	blocks = 0;
	reserve_keep(directory);
	CHECK(size() == 256 << 10, "%d bytes where the room is not known", size());
	reserve_give(directory);
	unknown = false;
	blocks = 1000;
	no_room = true;
	reserve_keep(directory);
	CHECK(size() == -1, "left with %d bytes", size());
	no_room = false;
	/* What another has put there is not followed. */
	CHECK(!symlink("/nonexistent/one", path), "no link");
	reserve_keep(directory);
	CHECK(reserve_give(directory), "no link any more");
	reserve_keep("/nonexistent");
	CHECK(!reserve_give("/nonexistent"), "it was there");
}

static void needed(void)
{
	blocks = 63;
	CHECK(reserve_is_needed(directory), "not needed");
	blocks = 64;
	CHECK(!reserve_is_needed(directory), "needed");
	files = 9;
	CHECK(reserve_is_needed(directory), "not needed without a name");
	free_files = 1;
	CHECK(!reserve_is_needed(directory), "needed with one");
	free_files = 0;
	unknown = true;
	CHECK(!reserve_is_needed(directory), "needed where nobody knows");
	files = 0;
	unknown = false;
}

int main(void)
{
	static const struct ktap_case cases[] = { { "kept, and given", kept }, { "needed", needed } };
	const char *temporary = getenv("TMPDIR");
	int status;

	snprintf(directory, sizeof(directory), "%s/unit_reserve.XXXXXX", temporary ? temporary : "/tmp");
	if (!mkdtemp(directory)) {
		perror(directory);
		return KTAP_FAIL;
	}
	state_path(path, directory, STATE_RESERVE);
	state_path(second, directory, STATE_RESERVE ".2");
	status = ktap_run(cases, sizeof(cases) / sizeof(*cases));
	unlink(path);
	unlink(second);
	rmdir(directory);
	return status;
}
