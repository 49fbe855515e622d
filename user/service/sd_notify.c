// SPDX-License-Identifier: GPL-2.0-only
#include "service/sd_notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int channel = -1;
static uint64_t watchdog;

void notify_open(void)
{
	const char *path = getenv("NOTIFY_SOCKET"), *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	if (usec && (!pid || atoi(pid) == getpid()))
		watchdog = strtoull(usec, NULL, 10);
	if (path && (*path == '/' || *path == '@') && strlen(path) < sizeof(to.sun_path)) {
		socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));

		strcpy(to.sun_path, path);
		if (*path == '@')
			to.sun_path[0] = '\0';
		channel = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (connect(channel, (struct sockaddr *)&to, size))
			warn("%s: %s: the service manager gets no reports", path, strerror(errno));
	}
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}

bool notify(const char *fmt, ...)
{
	char text[1024];
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	/* Do not wait for a manager that does not read. */
	if (channel < 0 || n <= 0 || (size_t)n >= sizeof(text))
		return true;
	return send(channel, text, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 || errno != EAGAIN;
}

uint64_t notify_watchdog(void)
{
	return watchdog;
}
