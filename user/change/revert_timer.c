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

#include "base/clock.h"
#include "base/close_fd.h"
#include "base/lock.h"
#include "base/log.h"
#include "change/ports.h"
#include "kernel/attach.h"
#include "kernel/dispatcher_refresh.h"
#include "kernel/generation.h"
#include "state/kept_image.h"
#include "state/settings.h"

#define SECOND ((int64_t)1000000000)
/* How often the timer looks whether anything still waits, and retries what it could not take back. */
#define LOOK_AGAIN (5 * SECOND)

/* Of a list it is either what it holds or its kind that waits. */
static bool is_same(const struct pending *one, enum pending_kind kind, const char *name)
{
	bool lists = (one->kind == PENDING_LIST || one->kind == PENDING_LIST_KIND) &&
		     (kind == PENDING_LIST || kind == PENDING_LIST_KIND);

	return (one->kind == kind || lists) && !strcmp(one->name, name);
}

int because_it_waits(const char *name)
{
	return because(-EBUSY, "%s: a change of it waits for confirmation: xdp-bloom confirm, or let it go back", name);
}

static int wait_for(struct change *change, enum pending_kind kind, const char *name, long seconds,
		    int (*put)(struct state *state, const struct pending *pending))
{
	bool again = change->waits && seconds == change->waits;
	struct pending *pending, mine = { .kind = kind };
	size_t n;
	int err = state_pending(change->state, &pending, &n);

	for (size_t i = 0; i < n && !err; i++)
		if (is_same(&pending[i], kind, name))
			err = because_it_waits(name);
	free(pending);
	if (err || !seconds)
		return err;
	/* After a start of the machine, say: in the kernel there is nothing to go back to. */
	if (kind != PENDING_INTERFACE && !change->live.g.number &&
	    state_setting(change->state, SETTING_GENERATION, 0) > 0)
		return because(-EBUSY, "what was in force is gone, and --confirm could not go back to it:"
				       " 'xdp-bloom restore' first, or 'xdp-bloom rotate', which attaches nothing");
	/* What one command does goes back at one time: between two of them lists would come back beside an image. */
	if (!again) {
		change->due = clock_boot() + seconds * SECOND;
		change->deadline = time(NULL) + seconds;
	}
	mine.due = change->due;
	mine.deadline = change->deadline;
	strncpy(mine.name, name, sizeof(mine.name) - 1);
	change->line_waits = true;
	if (kind != PENDING_INTERFACE && change->last_due < change->due)
		change->last_due = change->due;
	err = put(change->state, &mine);
	if (err || again)
		return err;
	change->waits = seconds;
	if (change->guard.waits < change->deadline)
		change->guard.waits = change->deadline;
	change->context->waits = true;
	/* Before the commit: after it the timer must run, even if we are killed. */
	return revert_timer_start(change->context, seconds);
}

int change_pending(struct change *change, enum pending_kind kind, const char *name, long seconds)
{
	return wait_for(change, kind, name, seconds, state_pending_add);
}

int change_pending_drop(struct change *change, const char *list, long seconds)
{
	return wait_for(change, PENDING_LIST, list, seconds, state_pending_drop);
}

int trial_until(struct state *state, __u64 *until)
{
	struct pending *pending;
	size_t n;
	int err = state_pending(state, &pending, &n);

	*until = 0;
	for (size_t i = 0; i < n && !err; i++) {
		__u64 due = (__u64)pending[i].due;

		if (pending[i].kind != PENDING_INTERFACE && due && !pending[i].rebooted && (!*until || due < *until))
			*until = due;
	}
	free(pending);
	return err;
}

/* What ends a session, a service or a container's command ends all of its control group. */
static void leave_group(void)
{
	static const char *const roots[] = { "/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/systemd/cgroup.procs",
					     "/sys/fs/cgroup/unified/cgroup.procs" };

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		int fd = open(roots[i], O_WRONLY | O_CLOEXEC);

		/* Where that is not allowed the deadline is the kernel's alone. */
		if (fd >= 0 && write(fd, "0", 1) < 0)
			note("%s: %s", roots[i], strerror(errno));
		close_fd(fd);
	}
}

/* Away from the terminal, its signals, its descriptors and its session. */
static void leave_session(void)
{
	int null = open("/dev/null", O_RDWR);

	leave_group();
	setsid();
	signal(SIGHUP, SIG_IGN);
	for (int fd = 0; fd < 3 && null >= 0; fd++)
		dup2(null, fd);
	close_from(3);
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

/*
 * In how many ns the first change is due; 0: now. By then the kernel has let go by itself, so what is left to do waits
 * for the lock: whoever holds it may just be confirming the change.
 */
#define NOTHING_WAITS (-1)

static int64_t first_due(const struct context *context, int64_t at_least)
{
	struct pending *pending = NULL;
	struct state *state = NULL;
	int64_t first = 0;
	size_t n;

	/* A running command, perhaps the one that started us, may not have committed yet. */
	if (!state_open(&state, context, false) && !state_pending(state, &pending, &n)) {
		first = n || lock_is_held(context->state, STATE_LOCK) ? LOOK_AGAIN : NOTHING_WAITS;
		for (size_t i = 0; i < n; i++) {
			int64_t left = pending_left(&pending[i], at_least);

			first = left < first ? left : first;
		}
	}
	free(pending);
	state_close(state);
	return first;
}

/* A command may have been killed between its commit and the kernel: the next change puts that right. */
static bool is_on_trial(const struct context *context)
{
	struct live live;
	bool is;

	live_open(&live, context);
	is = live.on_trial;
	live_close(&live);
	return is;
}

static void sleep_for(int64_t ns)
{
	int64_t now = ns < LOOK_AGAIN ? ns : LOOK_AGAIN;
	struct timespec wait = { now / SECOND, now % SECOND };

	while (now && clock_nanosleep(CLOCK_BOOTTIME, 0, &wait, &wait) == EINTR)
		;
}

/* Nothing waits any more, in the state and in the kernel. */
static bool is_over(const struct context *context, int64_t left)
{
	return left == NOTHING_WAITS && !is_on_trial(context);
}

void revert_timer_run(struct context *context, long seconds)
{
	int64_t end = time(NULL) + seconds, due = clock_boot() + seconds * SECOND, left = seconds * SECOND;
	struct change *change;

	while (true) {
		sleep_for(left);
		/* The date may have been set back meanwhile. */
		left = first_due(context, clock_boot() < due ? 0 : end);
		if (left > 0)
			continue;
		if (is_over(context, left))
			return;
		(void)change_begin_at(&change, context, clock_boot() < due ? 0 : end);
		change_end(change);
		left = first_due(context, 0);
		if (is_over(context, left))
			return;
		left = left > 0 ? left : LOOK_AGAIN;
	}
}

/* Behind a dispatcher each interface has a program of its own. */
static int keep_shared(const struct context *context)
{
	struct attachment *list = NULL;
	size_t n = 0;
	int err = attach_list(context, &list, &n);

	if (!err)
		attach_refresh(context, list, n);
	free(list);
	return err;
}

int change_keep(struct live *live)
{
	int err;

	if (!live->on_trial)
		return 0;
	err = kernel_keep(live);
	for (int i = 0, again = !err; again && i < TRIES_ONCE_COMMITTED; i++)
		again = err = keep_shared(live->context);
	return err;
}

/*
 * Before the commit: were we killed after it, nothing would tell that an interface is still to let everything pass. So
 * it waits for the command that takes it back, until the commit is made. A generation on trial tells.
 */
static int keep_interfaces(const struct context *context, const struct pending *pending, size_t n)
{
	bool any = false;

	for (size_t i = 0; i < n; i++)
		any = any || pending[i].kind == PENDING_INTERFACE;
	return any ? attach_keep(context) ?: keep_shared(context) : 0;
}

int change_confirm(struct change *change)
{
	struct pending *pending;
	size_t n;
	int err = state_pending(change->state, &pending, &n);

	/* It could not be taken back a moment ago. In the kernel it is gone; to confirm it now would bring it back. */
	for (size_t i = 0; i < n && !err; i++)
		if (!pending_left(&pending[i], 0))
			err = because(-ETIME, "%s: its time is over: it goes back as soon as it can", pending[i].name);
	err = err ?:
	      keep_interfaces(change->context, pending, n) ?:
	      state_pending_confirm(change->state) ?:
	      state_commit(change->state);
	free(pending);
	/* Of what fails from here on, the next command does the rest: nothing waits any more. */
	if (err)
		return err;
	image_sweep(change->state, image_kept(change->state));
	err = change_keep(&change->live);
	if (err || change->context->abroad)
		return err;
	/* What came or went while the rule waited whose port it is. The rule is kept, whatever comes of that. */
	err = state_again(change->state) ?: ports_settle(change);
	if (err)
		warn("it is kept, but the next command has to look at its ports: %s", reason(err));
	return 0;
}
