// SPDX-License-Identifier: GPL-2.0-only
/* Reports to a service manager: what arrives, what is too long, and what becomes of one who does not read. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ktap.h"
#include "service/sd_notify.h"

static char path[108]; /* as long as one can be */

/* A manager's socket of that name: an abstract one where it begins with @. */
static int manager(const char *name)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	memcpy(to.sun_path, name, strlen(name));
	if (*name == '@')
		to.sun_path[0] = '\0';
	if (bind(fd, (struct sockaddr *)&to, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name)))) {
		close(fd);
		return -errno;
	}
	return fd;
}

/* In a process of its own, since it opens once: 0, or the number of what does not hold. */
static int in_process(int (*work)(int fd), int fd)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		_exit(work(fd));
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static bool arrives(int fd, const char *text)
{
	static char got[4096];
	ssize_t n = recv(fd, got, sizeof(got), 0);

	return n == (ssize_t)strlen(text) && !memcmp(got, text, (size_t)n);
}

static int reports(int fd)
{
	static char text[2048];

	notify_open();
	if (getenv("NOTIFY_SOCKET") || getenv("WATCHDOG_USEC") || getenv("WATCHDOG_PID"))
		return 1;
	if (!notify("READY=1\nSTATUS=%d", 42) || !arrives(fd, "READY=1\nSTATUS=42"))
		return 2;
	for (size_t n = 1020; n < 1030; n++) {
		memset(text, 'x', n);
		text[n] = '\0';
		if (!notify("%s", text))
			return 3;
		if (n < 1024 ? !arrives(fd, text) : recv(fd, text, sizeof(text), 0) >= 0 || errno != EAGAIN)
			return 4;
	}
	if (!notify("%s", "") || recv(fd, text, sizeof(text), 0) >= 0)
		return 5;
	/* Nobody reads: it is said, and nobody waits. */
	for (int n = 0; notify("WATCHDOG=1"); n++)
		if (n > 1000000)
			return 6;
	while (recv(fd, text, sizeof(text), 0) > 0)
		;
	if (!notify("STOPPING=1") || !arrives(fd, "STOPPING=1"))
		return 7;
	close(fd);
	return notify("gone") ? 0 : 8;
}

static int says_nothing(int fd)
{
	notify_open();
	return notify("READY=1") && !notify_watchdog() ? recv(fd, path, 1, 0) >= 0 : 2;
}

/* Its standard input is a socket, as behind inetd: nothing is written to that. */
static int leaves_its_input_alone(int fd)
{
	int pair[2];

	if (fd >= 0 || socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair) || dup2(pair[0], 0))
		return 9;
	return says_nothing(pair[1]);
}

static void sockets(void)
{
	char name[sizeof(path) + 2];
	int is;

	snprintf(path, sizeof(path), "/tmp/xdp-bloom-notify.%d.", (int)getpid());
	memset(path + strlen(path), 'x', sizeof(path) - 1 - strlen(path));
	/* The longest that there is; a longer one is no address. */
	for (size_t length = sizeof(path) - 3; length <= sizeof(path); length++) {
		for (int abstract = 0; abstract < 2; abstract++) {
			int fd;

			snprintf(name, sizeof(name), "%s", path);
			name[0] = abstract ? '@' : '/';
			memset(name + sizeof(path) - 1, 'x', 2);
			name[length] = '\0';
			fd = length < sizeof(path) ? manager(name) : socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
			if (!CHECK(fd >= 0, "%s: %d", name, fd))
				return;
			setenv("NOTIFY_SOCKET", name, 1);
			is = in_process(length < sizeof(path) ? reports : says_nothing, fd);
			CHECK(!is, "%zu bytes, abstract %d: %d", length, abstract, is);
			close(fd);
			if (!abstract && length < sizeof(path))
				unlink(name);
		}
	}
	setenv("NOTIFY_SOCKET", "x", 1);
	CHECK(!in_process(says_nothing, -1), "x is taken for a socket");
	unsetenv("NOTIFY_SOCKET");
	CHECK(!in_process(says_nothing, -1), "none is taken for one");
	CHECK(!in_process(leaves_its_input_alone, -1), "the input is taken for one");
}

static int watchdog_is(int expected)
{
	notify_open();
	return notify_watchdog() != (uint64_t)expected;
}

static void watchdog(void)
{
	static const struct {
		const char *usec, *pid; /* pid: what is added to our own */
		int is;
	} given[] = {
		{ "3000000", NULL, 3000000 },
		{ "3000000", "0", 3000000 },
		{ "3000000", "1", 0 },
		{ NULL, "0", 0 },
		{ "1", NULL, 1 },
		{ "010", NULL, 10 },
	};

	for (size_t i = 0; i < sizeof(given) / sizeof(*given); i++) {
		int status = -1;
		pid_t pid = fork();

		if (!pid) {
			char text[24];

			unsetenv("NOTIFY_SOCKET");
			given[i].usec ? setenv("WATCHDOG_USEC", given[i].usec, 1) : unsetenv("WATCHDOG_USEC");
			snprintf(text, sizeof(text), "%d", (int)getpid() + (given[i].pid ? atoi(given[i].pid) : 0));
			given[i].pid ? setenv("WATCHDOG_PID", text, 1) : unsetenv("WATCHDOG_PID");
			_exit(watchdog_is(given[i].is));
		}
		CHECK(waitpid(pid, &status, 0) == pid && !status, "%s, %s", given[i].usec ?: "none",
		      given[i].pid ?: "none");
	}
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "reports", sockets },
		{ "the watchdog", watchdog },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
