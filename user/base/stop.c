// SPDX-License-Identifier: GPL-2.0-only
#include "base/stop.h"

volatile sig_atomic_t stop_asked;

static void on_signal(int signal)
{
	if (!stop_asked)
		stop_asked = signal;
}

void stop_on(int signal)
{
	sigaction(signal, &(struct sigaction){ .sa_handler = on_signal }, NULL);
}

void stop_poll(struct pollfd *fds, nfds_t n, const struct timespec *time)
{
	sigset_t ends, old;

	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGUSR1);
	sigprocmask(SIG_BLOCK, &ends, &old);
	if (!stop_asked)
		ppoll(fds, n, time, &old);
	sigprocmask(SIG_SETMASK, &old, NULL);
}
