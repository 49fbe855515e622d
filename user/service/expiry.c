// SPDX-License-Identifier: GPL-2.0-only
#include "service/expiry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/close_fd.h"
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

/* *waits: so many changes; as it was where that cannot be read. */
static int64_t first_end(struct state *state, size_t *waits)
{
	struct pending *pending;
	int64_t left, at = state_bans_next_left(state, &left) ? end_of(left) : 0;
	size_t n = 0;

	if (!state_pending(state, &pending, &n))
		for (size_t i = 0; i < (*waits = n); i++) {
			int64_t end = end_of(pending_left(&pending[i], 0));

			if (!at || end < at)
				at = end;
		}
	free(pending);
	return at;
}

static void set_timer(struct expiry *e)
{
	int64_t at = e->first > e->again ? e->first : e->first ? e->again : 0;
	struct itimerspec timer = { .it_value.tv_sec = at };

	timerfd_settime(e->timer, TFD_TIMER_ABSTIME, &timer, NULL);
}

bool expiry_look(struct expiry *e, struct state *state)
{
	size_t before = e->waits;

	e->first = state ? first_end(state, &e->waits) : 0;
	set_timer(e);
	return e->waits < before;
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
	size_t waits;
	int64_t end;
	int err = change_begin(&change, &own);

	(void)unused;
	end = err ? 0 : first_end(change->state, &waits);
	change_end(change);
	if (err)
		return fail("%s", reason(err));
	/* If something could not be ended, change_begin() only warns. */
	return end && end <= seconds() ? EXIT_ERROR : EXIT_DONE;
}

void expiry_ran(struct expiry *e, bool done)
{
	e->again = done ? 0 : seconds() + AGAIN;
}
