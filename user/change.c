// SPDX-License-Identifier: GPL-2.0-only
#include "change.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "apply.h"
#include "attach.h"
#include "kernel.h"
#include "log.h"

/* Undoes what is overdue, in the state; interfaces are let go at once. *undone says whether there was anything. */
static int undo_overdue(struct state *state, bool *undone)
{
	struct pending *pending;
	time_t now = time(NULL);
	size_t n;
	int err = state_pending(state, &pending, &n);

	*undone = false;
	for (size_t i = 0; i < n && !err; i++) {
		if (pending[i].deadline > now)
			continue;
		err = state_pending_undo(state, &pending[i]);
		if (!err && pending[i].kind == PENDING_INTERFACE && !attach_find(pending[i].name))
			err = detach_one(pending[i].name);
		if (!err)
			warn("%s: was not confirmed in time and has gone back", pending[i].name);
		*undone = true;
	}
	free(pending);
	return err;
}

int change_expire(struct state *state)
{
	bool undone;
	int err = undo_overdue(state, &undone);

	return err || !undone ? err : apply(state);
}

int change_begin(struct state **state)
{
	bool undone = false;
	int err = kernel_ready();

	*state = NULL;
	if (!err)
		err = state_open(state, true);
	if (!err)
		err = undo_overdue(*state, &undone);
	if (err || !undone)
		return err;
	/* A commit of its own: the change that follows may still be refused. */
	err = apply(*state);
	state_close(*state);
	*state = NULL;
	return err ? err : state_open(state, true);
}

long change_seconds(const char *text)
{
	static const char units[] = "smhd";
	static const long seconds[] = { 1, 60, 3600, 86400 };
	const char *unit;
	char *end;
	long n = strtol(text, &end, 10);

	if (end == text || n < 1 || n > 366L * 86400)
		return -1;
	if (!*end)
		return n;
	unit = strchr(units, *end);
	return unit && !end[1] ? n * seconds[unit - units] : -1;
}

int change_pending(struct state *state, enum pending_kind kind, const char *name, long seconds)
{
	struct pending *pending, mine = { .kind = kind, .deadline = time(NULL) + seconds };
	size_t n;
	int err = state_pending(state, &pending, &n);

	for (size_t i = 0; i < n && !err; i++)
		if (pending[i].kind == kind && !strcmp(pending[i].name, name))
			err = because(-EBUSY,
				      "%s: a change of it waits for confirmation: xdp-bloom confirm, or let it go back",
				      name);
	free(pending);
	if (err || !seconds)
		return err;
	strncpy(mine.name, name, sizeof(mine.name) - 1);
	return state_pending_add(state, &mine);
}

int change_confirm(struct state *state)
{
	int err = state_pending_confirm(state);

	return err ? err : state_commit(state);
}

/* Away from the terminal, its signals, its descriptors and its session. */
static void become_watcher(void)
{
	int null = open("/dev/null", O_RDWR);

	setsid();
	signal(SIGHUP, SIG_IGN);
	for (int fd = 0; fd < 3 && null >= 0; fd++)
		dup2(null, fd);
	for (int fd = 3; fd < 256; fd++)
		close(fd);
	if (chdir("/"))
		return; /* only a courtesy to whoever unmounts */
}

void change_watch(long seconds)
{
	struct timespec left = { .tv_sec = seconds };
	struct state *state;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid) {
		if (pid < 0)
			warn("nobody watches the time (%s): the next command takes it back when it is due",
			     strerror(errno));
		return;
	}
	become_watcher();
	while (nanosleep(&left, &left) && errno == EINTR)
		;
	/* Nothing is due any more where it was confirmed; a change that waits longer has a watcher of its own. */
	if (!change_begin(&state))
		state_close(state);
	_exit(0);
}
