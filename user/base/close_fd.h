/* SPDX-License-Identifier: GPL-2.0-only */
/* Closing a descriptor that may not be open. */
#ifndef BASE_CLOSE_FD_H
#define BASE_CLOSE_FD_H

#include <sys/syscall.h>
#include <unistd.h>

static inline void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* All from that one on. Not every C library has a function for it. */
static inline int close_from(unsigned int first)
{
	return (int)syscall(SYS_close_range, first, ~0U, 0U);
}

#endif
