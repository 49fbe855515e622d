// SPDX-License-Identifier: GPL-2.0-only
#include "base/stdin.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/context.h"
#include "base/log.h"

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

/* On the disk, as it may be large; where there is no place for it, in memory. */
static FILE *file_without_name(void)
{
	FILE *file = tmpfile();
	int fd = file ? -1 : memfd_create("copy", MFD_CLOEXEC);

	if (file)
		return file;
	file = fd < 0 ? NULL : fdopen(fd, "w+");
	if (!file && fd >= 0)
		close(fd);
	return file;
}

/* /dev/zero, full, random and urandom: a copy of them would fill the disk. */
static bool is_endless(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISCHR(st.st_mode) && major(st.st_rdev) == 1 &&
	       (minor(st.st_rdev) == 5 || (minor(st.st_rdev) >= 7 && minor(st.st_rdev) <= 9));
}

int standard_keep(int from)
{
	FILE *copy;
	char buf[1 << 16];
	ssize_t got;
	int fd;

	if (is_endless(from))
		return -EFBIG;
	copy = file_without_name();
	if (!copy)
		return -errno;
	while ((got = read(from, buf, sizeof(buf))) > 0)
		if (fwrite(buf, 1, (size_t)got, copy) != (size_t)got)
			break;
	fd = got || fseek(copy, 0, SEEK_SET) ? -1 : dup(fileno(copy));
	fd = fd < 0 ? -errno : fd;
	fclose(copy);
	return fd;
}
