// SPDX-License-Identifier: GPL-2.0-only
#include "base/child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"

#define END_MS 1000

int child_end(pid_t pid, bool group)
{
	int64_t until = clock_ms() + END_MS;
	pid_t all = group ? -pid : pid;
	bool ended = false;
	int status = 0;

	kill(all, SIGTERM);
	kill(all, SIGCONT); /* a stopped process would not get the signal */
	while (clock_ms() < until) {
		ended = ended || waitpid(pid, &status, WNOHANG) == pid;
		if (ended && (!group || kill(all, 0)))
			return status;
		poll(NULL, 0, 10);
	}
	kill(all, SIGKILL);
	while (!ended && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}
