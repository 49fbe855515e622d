// SPDX-License-Identifier: GPL-2.0-only
#include "change/change.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kernel/dispatcher_refresh.h"
#include "change/live_bans.h"
#include "state/events.h"
#include "change/guard.h"
#include "state/kept_image.h"
#include "kernel/kernel.h"
#include "base/lock.h"
#include "base/log.h"
#include "state/bans.h"

/* How often the watcher looks whether anything still waits; and tries again what it could not take back. */
#define WATCH_AGAIN 5

/* What has passed by another clock than the one that somebody may have set back. */
static time_t passed;

static const char *why(const struct pending *one)
{
	return one->deadline == PENDING_DOING ? "attaching it was cut short" : "was not confirmed in time";
}

/* The packets first: an interface waits on until the filter has left it. A list goes back with the next generation. */
static bool can_go(const struct pending *one)
{
	int err = one->kind == PENDING_INTERFACE ? attach_take_back(one->name) : 0;

	if (err)
		warn("%s: %s, and cannot go back: %s", one->name, why(one), reason(err));
	return !err;
}

/* Undoes what is overdue, but for interfaces in the state alone; *n says how much that is, *overdue what. */
static int undo_overdue(struct state *state, struct pending **overdue, size_t *n)
{
	time_t clock = time(NULL), now = clock > passed ? clock : passed;
	size_t all;
	int err = state_pending(state, overdue, &all);

	*n = 0;
	for (size_t i = 0; i < all && !err; i++) {
		if ((*overdue)[i].deadline > now || !can_go(&(*overdue)[i]))
			continue;
		(*overdue)[(*n)++] = (*overdue)[i];
		err = state_pending_undo(state, &(*overdue)[i]);
	}
	return err;
}

/* Everything that the change on its way comes to. */
static struct {
	struct state *joined; /* what all changes share, between change_join() and its end */
	bool build;
	struct apply_options options;
	struct touched touched;
	struct ranges guarded;
	bool zero[LABELS];
} change;

static void forget(void)
{
	struct state *joined = change.joined;

	touched_free(&change.touched);
	ranges_free(&change.guarded);
	memset(&change, 0, sizeof(change));
	change.joined = joined;
}

/* Takes out the bans that have run out, in the state alone; *first is the first of them. */
static int expire(struct state *state, struct touched *touched, size_t *n, char first[PREFIX_TEXT_MAX])
{
	struct ban *bans;
	int err = state_bans_expire(state, time(NULL), &bans, n);

	for (size_t i = 0; i < *n && !err; i++)
		err = touched_add(touched, bans[i].first, bans[i].length);
	if (!err && *n)
		prefix_text(first, bans[0].first, (int)bans[0].length);
	free(bans);
	return err;
}

/*
 * What is late, in a commit of its own: what ran out of time unconfirmed goes back, bans end, and what was committed
 * but never reached the kernel is built. What cannot be is said, and stops nobody; a damaged state stops everybody.
 */
static int catch_up(struct state **state)
{
	struct touched touched = { 0 };
	struct pending *overdue = NULL;
	char first[PREFIX_TEXT_MAX] = "";
	size_t n = 0, expired = 0;
	bool behind = bans_behind(*state), build = behind;
	int err = undo_overdue(*state, &overdue, &n);

	kernel_sweep();
	attach_catch_up();
	if (!err)
		err = expire(*state, &touched, &expired, first);
	if (err == -EUCLEAN)
		goto out;
	/* An interface needs no new generation: nobody stays shut out because there is no memory for one. */
	for (size_t i = 0; i < n; i++)
		build = build || overdue[i].kind == PENDING_LIST;
	if (!err && build)
		err = apply_with(*state, &(struct apply_options){ .back = n });
	else if (!err && (n || expired))
		err = bans_into_force(*state, &touched);
	for (size_t i = 0; i < n; i++) {
		if (err) {
			warn("%s: %s, and cannot go back: %s", overdue[i].name, why(&overdue[i]), reason(err));
			continue;
		}
		warn("%s: %s and has gone back", overdue[i].name, why(&overdue[i]));
		event((struct event){ EVENT_REVERTED, .generation = kernel_live_generation() }, "%s: %s",
		      overdue[i].name, why(&overdue[i]));
	}
	if (!err && expired == 1)
		event((struct event){ EVENT_EXPIRED, .generation = kernel_live_generation() }, "the ban of %s", first);
	else if (!err && expired)
		event((struct event){ EVENT_EXPIRED, .generation = kernel_live_generation() },
		      "%zu bans, among them %s", expired, first);
	if (err && !n)
		warn("what ran out, or was left half done, is still in force: %s", reason(err));
	if (n || expired || behind || err) {
		state_close(*state);
		err = state_open(state, true);
	}
out:
	free(overdue);
	touched_free(&touched);
	return err;
}

void change_check(bool words)
{
	if (!(words ? opt_check_words : opt_check))
		return;
	fflush(stdout);
	/* Whoever forked us reads on where it is: exit() would put back what it has in its buffer. */
	_exit(EXIT_DONE);
}

int change_begin(struct state **state)
{
	int err = 0;

	change_check(false);
	*state = change.joined;
	if (*state)
		return 0;
	/* Half of it done because nobody reads what it says: no. */
	signal(SIGPIPE, SIG_IGN);
	forget();
	err = kernel_ready();
	if (!err)
		err = state_open(state, true);
	return err ? err : catch_up(state);
}

int change_touch(struct addr first, unsigned int length, bool guarded)
{
	int err = touched_add(&change.touched, first, length);

	return err || !guarded ? err : ranges_add_prefix(&change.guarded, first, length);
}

void change_zero(uint8_t label)
{
	change.zero[label] = true;
}

void change_zero_given(uint8_t label)
{
	/* What a line before unloaded is in force until all of them are done. */
	if (change.joined)
		change_zero(label);
	else
		kernel_zero_label(label);
}

/* What is newly banned asks the guard rails, whether or not a new generation is built for it. */
static int guard_touched(struct state *state)
{
	struct ranges allowed = RANGES_EMPTY, bans = RANGES_EMPTY, open = RANGES_EMPTY, banned = RANGES_EMPTY;
	int err = ranges_finish(&change.guarded);

	if (err || (!change.guarded.n4 && !change.guarded.n6))
		return err;
	err = state_allowed(state, &allowed);
	if (!err)
		err = ranges_subtract(&open, &change.guarded, &allowed);
	/* A later line may have taken it back. */
	if (!err)
		err = state_bans_set(state, time(NULL), &open, &bans);
	if (!err)
		err = ranges_intersect(&banned, &open, &bans);
	if (!err)
		err = guard_own(&banned, kernel_drops);
	ranges_free(&allowed);
	ranges_free(&bans);
	ranges_free(&open);
	ranges_free(&banned);
	return err;
}

static int commit(struct state *state)
{
	int err = guard_touched(state);

	if (!err && change.build)
		err = apply_with(state, &change.options);
	else if (!err)
		err = bans_into_force(state, &change.touched);
	for (unsigned int label = 0; label < LABELS && !err && !change.options.dry_run; label++)
		if (change.zero[label])
			kernel_zero_label((uint8_t)label);
	return err;
}

int change_commit(struct state *state, const struct apply_options *options)
{
	if (!options)
		return change.joined ? 0 : commit(state);
	change.build = true;
	if (!change.joined) {
		change.options = *options;
		return commit(state);
	}
	if (options->dry_run)
		return because(-EINVAL, "--dry-run does not go together with other commands");
	change.options.guarded |= options->guarded;
	change.options.begin_anew |= options->begin_anew;
	return options->last ? options->last(state, options->arg) : 0;
}

void change_end(struct state *state)
{
	if (state == change.joined)
		return;
	image_end(state);
	state_close(state);
	forget();
}

int change_join(void)
{
	struct state *state;
	int err = change_begin(&state);

	change.joined = state;
	return err;
}

int change_join_end(int err)
{
	struct state *state = change.joined;

	if (!err)
		err = commit(state);
	change.joined = NULL;
	change_end(state);
	return err;
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
	return unit && !end[1] && n <= 366L * 86400 / seconds[unit - units] ? n * seconds[unit - units] : -1;
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
	err = state_pending_add(state, &mine);
	/* Before the commit: from then on nothing that cuts us off may leave the change unwatched. */
	return err ? err : change_start_watch(seconds);
}

/* Away from the terminal, its signals, its descriptors and its session. */
static void become_watcher(void)
{
	int null = open("/dev/null", O_RDWR);

	setsid();
	signal(SIGHUP, SIG_IGN);
	for (int fd = 0; fd < 3 && null >= 0; fd++)
		dup2(null, fd);
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	if (chdir("/"))
		return; /* only a courtesy to whoever unmounts */
}

int change_start_watch(long seconds)
{
	char state[PATH_MAX], bpffs[PATH_MAX], number[32];
	pid_t pid;

	if (!realpath(opt_state, state))
		return because(-errno, "%s: %s", opt_state, strerror(errno));
	if (!realpath(opt_bpffs, bpffs))
		return because(-errno, "%s: %s", opt_bpffs, strerror(errno));
	snprintf(number, sizeof(number), "%ld", seconds);
	pid = fork();
	if (pid < 0)
		return because(-errno, "nobody can watch the time: %s", strerror(errno));
	if (pid)
		return 0;
	become_watcher();
	/* A program of its own: nothing of ours, memory or open state, lives on in it. */
	execl("/proc/self/exe", "xdp-bloom", "-S", state, "-B", bpffs, "confirm", "--watch", number, NULL);
	_exit(2);
}

/* When the first of what waits is due, 0: nothing waits; where that cannot be seen, it may be due. */
static time_t first_deadline(void)
{
	struct pending *pending = NULL;
	struct state *state = NULL;
	time_t first = 1;
	size_t n;

	/* A command is at work, perhaps the one that started us, and has not committed yet. */
	if (!lock_is_held(LOCK_STATE) && !state_open(&state, false) && !state_pending(state, &pending, &n))
		first = n ? pending[0].deadline : 0;
	free(pending);
	state_close(state);
	return first;
}

void change_watch(long seconds)
{
	time_t end = time(NULL) + seconds, now = 0, first = 1;

	while (first) {
		long left = seconds > 0 ? seconds : first > now ? first - now : WATCH_AGAIN;
		struct timespec wait = { .tv_sec = left < WATCH_AGAIN ? left : WATCH_AGAIN };
		struct state *state = NULL;

		seconds -= wait.tv_sec;
		while (clock_nanosleep(CLOCK_BOOTTIME, 0, &wait, &wait) == EINTR)
			;
		first = first_deadline();
		if (seconds > 0)
			continue;
		passed = end;
		now = time(NULL) > passed ? time(NULL) : passed;
		/* What waits longer has somebody else who watches it, or its time is still to come. */
		if (!first || first > now)
			continue;
		(void)change_begin(&state);
		change_end(state);
		first = first_deadline();
	}
}

int change_confirm(struct state *state)
{
	int err = state_pending_confirm(state);

	return err ? err : state_commit(state);
}
