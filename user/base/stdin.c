// SPDX-License-Identifier: GPL-2.0-only
#include "base/stdin.h"

#include <errno.h>
#include <stdio.h>
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

int standard_keep(int from)
{
	char buf[1 << 16];
	FILE *copy = tmpfile();
	ssize_t got;
	int fd;

	if (!copy)
		return -errno;
	while ((got = read(from, buf, sizeof(buf))) > 0)
		if (fwrite(buf, 1, (size_t)got, copy) != (size_t)got)
			break;
	fd = got || fseek(copy, 0, SEEK_SET) ? -1 : dup(fileno(copy));
	fclose(copy);
	return fd < 0 ? -errno : fd;
}
