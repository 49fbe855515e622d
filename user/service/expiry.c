// SPDX-License-Identifier: GPL-2.0-only
#include "service/expiry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/close_fd.h"
#include "change/agreement.h"
#include "change/change.h"
#include "base/log.h"
#include "state/state.h"
#include "state/bans.h"

#define AGAIN 5 /* seconds, after a failure */

int expiry_open(struct expiry *e)
{
	*e = (struct expiry){ .timer = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC) };
	return e->timer < 0 ? because(-errno, "%s", strerror(errno)) : 0;
}

void expiry_close(struct expiry *e)
{
	close_fd(e->timer);
	e->timer = -1;
	free(e->waiting);
	e->waiting = NULL;
	e->waits = 0;
}

/* Seconds since the machine was started, as our timer counts: setting the date moves no end. */
static int64_t seconds(void)
{
	return clock_ns(CLOCK_BOOTTIME) / 1000000000;
}

static int64_t end_of(int64_t left)
{
	return left <= 0 ? seconds() : (clock_ns(CLOCK_BOOTTIME) + left) / 1000000000 + 1;
}

static int64_t first_end(struct state *state, const struct pending *waiting, size_t n)
{
	int64_t left, at = state_bans_next_left(state, &left) ? end_of(left) : 0;

	for (size_t i = 0; i < n; i++) {
		int64_t end = end_of(pending_left(&waiting[i], 0));

		if (!at || end < at)
			at = end;
	}
	return at;
}

static void set_timer(struct expiry *e)
{
	int64_t at = e->first > e->again ? e->first : e->first ? e->again : 0;
	struct itimerspec timer = { .it_value.tv_sec = at };

	timerfd_settime(e->timer, TFD_TIMER_ABSTIME, &timer, NULL);
}

/* One that began anew is another. */
static int by_which(const void *a, const void *b)
{
	const struct pending *x = a, *y = b;
	int names = strcmp(x->name, y->name);

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return names ?: x->due < y->due ? -1 : x->due > y->due;
}

/* Is one of those that waited not among them? */
static bool any_is_over(const struct expiry *e, const struct pending *waiting, size_t n)
{
	for (size_t i = 0; i < e->waits; i++)
		if (!n || !bsearch(&e->waiting[i], waiting, n, sizeof(*waiting), by_which))
			return true;
	return false;
}

bool expiry_look(struct expiry *e, struct state *state, bool behind)
{
	struct pending *waiting = NULL;
	size_t n = 0;
	bool known = state && !state_pending(state, &waiting, &n), over;

	if (n)
		qsort(waiting, n, sizeof(*waiting), by_which);
	over = known && any_is_over(e, waiting, n);
	e->first = !state ? 0 : behind ? seconds() : first_end(state, waiting, n);
	if (known) {
		free(e->waiting);
		e->waiting = waiting;
		e->waits = n;
	}
	set_timer(e);
	return over;
}

bool expiry_waits(const struct expiry *e, const struct context *context)
{
	struct state *state = NULL;
	bool waits = e->waits || (!state_open(&state, context, false) && state_pending_any(state, PENDING_INTERFACE));

	state_close(state);
	return waits;
}

bool expiry_due(struct expiry *e)
{
	uint64_t times;
	ssize_t got = read(e->timer, &times, sizeof(times));

	if (got == sizeof(times) && e->first && seconds() >= e->first)
		return true;
	set_timer(e);
	return false;
}

/* A change begins by ending what has run out: one that changes nothing else is enough. */
int expiry_run(const struct context *context, void *unused)
{
	struct context own = *context;
	struct change *change;
	struct pending *waiting = NULL;
	size_t n = 0;
	int64_t end = 0;
	bool behind = false;
	int err = change_begin(&change, &own);

	(void)unused;
	if (!err) {
		state_pending(change->state, &waiting, &n); /* else none */
		end = first_end(change->state, waiting, n);
		behind = agreement(change->state, &change->live.g) == BEHIND;
		free(waiting);
	}
	change_end(change);
	if (err)
		return fail("%s", reason(err));
	/* If something could not be ended, change_begin() only warns. */
	return behind || (end && end <= seconds()) ? EXIT_ERROR : EXIT_DONE;
}

void expiry_ran(struct expiry *e, bool done)
{
	e->again = done ? 0 : seconds() + AGAIN;
}
