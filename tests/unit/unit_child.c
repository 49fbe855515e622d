// SPDX-License-Identifier: GPL-2.0-only
/* A program that is ended, and who is in its process group: who does not end is killed. */
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "ktap.h"

/* A process that ends when it is asked to, or another one of its group that does not; both hold the pipe. */
static pid_t begin(bool leader_stays, bool with_another, int pipes[2])
{
	pid_t pid;

	if (pipe(pipes))
		return -1;
	pid = fork();
	if (!pid) {
		bool another;

		setpgid(0, 0);
		another = with_another && !fork();
		signal(SIGTERM, another || leader_stays ? SIG_IGN : SIG_DFL);
		if (write(pipes[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(pipes[1]);
	return pid;
}

static bool is_ready(int fd)
{
	struct pollfd one = { .fd = fd, .events = POLLIN };

	return poll(&one, 1, 10000) == 1;
}

static void ends(const char *what, bool leader_stays, bool with_another, bool group, int signal_wanted)
{
	int pipes[2], status;
	char byte;
	pid_t pid = begin(leader_stays, with_another, pipes);

	for (int i = 0; i <= with_another; i++)
		CHECK(pid > 0 && is_ready(pipes[0]) && read(pipes[0], &byte, 1) == 1, "%s: it does not begin", what);
	status = child_end(pid, group);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == signal_wanted, "%s: its status is %#x", what, status);
	/* Nobody has the pipe any more. */
	if (!CHECK(is_ready(pipes[0]) && !read(pipes[0], &byte, 1), "%s: somebody is left", what))
		kill(-pid, SIGKILL);
	close(pipes[0]);
}

static void ended(void)
{
	ends("one that ends", false, false, false, SIGTERM);
	ends("a group that ends", false, false, true, SIGTERM);
	ends("one that stays", true, false, false, SIGKILL);
	ends("one of a group that stays", false, true, true, SIGTERM);
	ends("a group that stays", true, true, true, SIGKILL);
}

int main(void)
{
	static const struct ktap_case run[] = { { "all of them end", ended } };

	return ktap_run(run, sizeof(run) / sizeof(*run));
}
