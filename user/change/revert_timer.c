// SPDX-License-Identifier: GPL-2.0-only
#include "change/revert_timer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/log.h"

/* How often the timer looks whether anything still waits, and retries what it could not take back. */
#define LOOK_AGAIN 5

int change_pending(struct change *change, enum pending_kind kind, const char *name, long seconds)
{
	struct pending *pending, mine = { .kind = kind, .deadline = time(NULL) + seconds };
	size_t n;
	int err = state_pending(change->state, &pending, &n);

	for (size_t i = 0; i < n && !err; i++)
		if (pending[i].kind == kind && !strcmp(pending[i].name, name))
			err = because(-EBUSY,
				      "%s: a change of it waits for confirmation: xdp-bloom confirm, or let it go back",
				      name);
	free(pending);
	if (err || !seconds)
		return err;
	strncpy(mine.name, name, sizeof(mine.name) - 1);
	err = state_pending_add(change->state, &mine);
	/* Before the commit: after it the timer must run, even if we are killed. */
	return err ?: revert_timer_start(change->context, seconds);
}

/* Away from the terminal, its signals, its descriptors and its session. */
static void leave_session(void)
{
	int null = open("/dev/null", O_RDWR);

	setsid();
	signal(SIGHUP, SIG_IGN);
	for (int fd = 0; fd < 3 && null >= 0; fd++)
		dup2(null, fd);
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	if (chdir("/"))
		return; /* it would only have let the directory be unmounted */
}

int revert_timer_start(const struct context *context, long seconds)
{
	char state[PATH_MAX], bpffs[PATH_MAX], number[32];
	pid_t pid;

	if (!realpath(context->state, state))
		return because(-errno, "%s: %s", context->state, strerror(errno));
	if (!realpath(context->bpffs, bpffs))
		return because(-errno, "%s: %s", context->bpffs, strerror(errno));
	snprintf(number, sizeof(number), "%ld", seconds);
	pid = fork();
	if (pid < 0)
		return because(-errno, "no process can be started to take it back in time: %s", strerror(errno));
	if (pid)
		return 0;
	leave_session();
	/* exec frees our memory and the open state. */
	execl("/proc/self/exe", "xdp-bloom", "-S", state, "-B", bpffs, "confirm", "--watch", number, NULL);
	_exit(2);
}

/* When the first change is due; 0: none waits; 1 (overdue) if that cannot be found out. */
static time_t first_deadline(const struct context *context)
{
	struct pending *pending = NULL;
	struct state *state = NULL;
	time_t first = 1;
	size_t n;

	/* A running command, perhaps the one that started us, may not have committed yet. */
	if (!lock_is_held(context->state, STATE_LOCK) && !state_open(&state, context, false) &&
	    !state_pending(state, &pending, &n))
		first = n ? pending[0].deadline : 0;
	free(pending);
	state_close(state);
	return first;
}

void revert_timer_run(struct context *context, long seconds)
{
	time_t end = time(NULL) + seconds, now = 0, first = 1;

	while (first) {
		long left = seconds > 0 ? seconds : first > now ? first - now : LOOK_AGAIN;
		struct timespec wait = { .tv_sec = left < LOOK_AGAIN ? left : LOOK_AGAIN };
		struct change *change;

		seconds -= wait.tv_sec;
		while (clock_nanosleep(CLOCK_BOOTTIME, 0, &wait, &wait) == EINTR)
			;
		first = first_deadline(context);
		if (seconds > 0)
			continue;
		/* The clock may have been set back meanwhile. */
		now = time(NULL) > end ? time(NULL) : end;
		/* A later one has its own timer, or its time will come. */
		if (!first || first > now)
			continue;
		(void)change_begin_at(&change, context, end);
		change_end(change);
		first = first_deadline(context);
	}
}

int change_confirm(struct change *change)
{
	return state_pending_confirm(change->state) ?: state_commit(change->state);
}
