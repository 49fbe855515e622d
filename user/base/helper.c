// SPDX-License-Identifier: GPL-2.0-only
#include "base/helper.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/beside.h"
#include "base/close_fd.h"
#include "base/log.h"

__attribute__((noreturn)) static void become(const struct helper *helper, const char *path, int asked, pid_t parent)
{
	char *const argv[] = { (char *)helper->name, NULL };
	/* Nothing that leads elsewhere, such as a proxy or another authority. */
	char *const environment[] = { (char *)"PATH=/usr/bin:/bin", NULL };
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(asked, STDIN_FILENO) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(EXIT_ERROR);
	execve(path, argv, environment);
	_exit(EXIT_ERROR);
}

static int start(const struct helper *helper, const char *path, pid_t *pid)
{
	pid_t self = getpid();
	int pair[2], err;

	if (socketpair(AF_UNIX, helper->type | SOCK_CLOEXEC, 0, pair))
		return because(-errno, "%s cannot be started: %s", helper->name, strerror(errno));
	*pid = fork();
	if (!*pid)
		become(helper, path, pair[1], self);
	close(pair[1]);
	if (*pid != -1)
		return pair[0];
	*pid = 0;
	err = because(-errno, "no process could be started: %s", strerror(errno));
	close(pair[0]);
	return err;
}

static int connect_started(const struct helper *helper)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, helper->type | SOCK_CLOEXEC, 0);

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", helper->socket);
	if (fd >= 0 && !connect(fd, (const struct sockaddr *)&to, sizeof(to)))
		return fd;
	close_fd(fd);
	return -1;
}

int helper_start(const struct helper *helper, pid_t *pid)
{
	int fd = connect_started(helper), err;
	char path[BESIDE_MAX];

	*pid = 0;
	if (fd >= 0)
		return fd;
	err = beside_find(path, helper->places);
	if (err)
		return because(err, "%s, %s, is not where it was installed: %s", helper->name, helper->what, path);
	return start(helper, path, pid);
}

void helper_stop(int fd, pid_t pid)
{
	if (pid) {
		kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	close(fd);
}
