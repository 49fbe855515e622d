/* SPDX-License-Identifier: GPL-2.0-only */
/* Who waits at a listener of a process that waits for others, too. */
#ifndef BASE_ACCEPT_H
#define BASE_ACCEPT_H

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/log.h"

#define ACCEPT_AGAIN_MS 1000

/*
 * The next one's descriptor, or -1. Without a descriptor that is free he stays there, and the listener readable:
 * whoever waits for it leaves it out until *shut, by clock_ms(), else he would turn in circles.
 */
static inline int accept_next(int listener, struct sockaddr *address, socklen_t *size, int64_t *shut)
{
	int fd = accept4(listener, address, size, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0 || errno == EAGAIN || errno == ECONNABORTED || errno == EINTR)
		return fd;
	if (!*shut)
		warn("nobody more can come in: %s", strerror(errno));
	*shut = clock_ms() + ACCEPT_AGAIN_MS;
	return fd;
}

#endif
