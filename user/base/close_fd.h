/* SPDX-License-Identifier: GPL-2.0-only */
/* Closing a descriptor that may not be open. */
#ifndef BASE_CLOSE_FD_H
#define BASE_CLOSE_FD_H

#include <unistd.h>

static inline void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

#endif
