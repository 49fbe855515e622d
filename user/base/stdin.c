// SPDX-License-Identifier: GPL-2.0-only
#include "base/stdin.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/context.h"
#include "base/list_most.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/out.h"

static bool taken;

int standard_input(const struct context *context)
{
	if (context->line)
		return because(-EINVAL, "'-': a line of a file of commands reads no standard input");
	if (taken)
		return because(-EBUSY, "'-': standard input can be read only once");
	taken = true;
	return 0;
}

void standard_again(void)
{
	taken = false;
}

/* Any user may fill the disk's part for such files. */
static bool has_room(FILE *file, uint64_t bytes)
{
	struct statvfs on;

	return fstatvfs(fileno(file), &on) || (uint64_t)on.f_bavail * on.f_frsize >= bytes;
}

FILE *file_without_name(uint64_t *most)
{
	FILE *file = tmpfile(), *in_memory;
	int fd;

	*most = LIST_PACKED_MOST;
	if (file && has_room(file, memory_half(LIST_PACKED_MOST)))
		return file;
	fd = memfd_create("copy", MFD_CLOEXEC);
	in_memory = fd < 0 ? NULL : fdopen(fd, "w+");
	if (!in_memory && fd >= 0)
		close(fd);
	if (!in_memory)
		return file;
	if (file)
		fclose(file);
	*most = memory_half(LIST_PACKED_MOST);
	return in_memory;
}

/* /dev/zero, full, random and urandom: a copy of them would fill the disk. */
static bool is_endless(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISCHR(st.st_mode) && major(st.st_rdev) == 1 &&
	       (minor(st.st_rdev) == 5 || (minor(st.st_rdev) >= 7 && minor(st.st_rdev) <= 9));
}

static int because_long(uint64_t most)
{
	char text[BYTES_TEXT_MAX];

	return because(-EFBIG, "more than %s, the most that is copied of a pipe, or of a file with --key",
		       bytes_text(text, most));
}

int standard_keep(int from)
{
	uint64_t most, kept = 0;
	FILE *copy;
	char buf[1 << 16];
	ssize_t got;
	int fd;

	if (is_endless(from))
		return -EFBIG;
	copy = file_without_name(&most);
	if (!copy)
		return -errno;
	while ((got = read(from, buf, sizeof(buf))) > 0 && (kept += (uint64_t)got) <= most)
		if (fwrite(buf, 1, (size_t)got, copy) != (size_t)got)
			break;
	if (kept > most)
		fd = because_long(most);
	else if (got || fseek(copy, 0, SEEK_SET) || (fd = dup(fileno(copy))) < 0)
		fd = -errno;
	fclose(copy);
	return fd;
}
