// SPDX-License-Identifier: GPL-2.0-only
#include "service/expiry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/close_fd.h"
#include "change/change.h"
#include "base/log.h"
#include "state/state.h"
#include "state/bans.h"

#define AGAIN	   5  /* seconds, after a failure */
#define CLOCK_NEWS 30 /* seconds: less is the usual correction */

int expiry_open(struct expiry *e)
{
	*e = (struct expiry){ .timer = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC) };
	return e->timer < 0 ? because(-errno, "%s", strerror(errno)) : 0;
}

void expiry_close(struct expiry *e)
{
	close_fd(e->timer);
	e->timer = -1;
}

static int64_t first_end(struct state *state)
{
	struct pending *pending;
	int64_t at = state_bans_next(state);
	size_t n = 0;

	if (!state_pending(state, &pending, &n))
		for (size_t i = 0; i < n; i++) {
			/* Once the date was set, this tells the same time by another number. */
			int64_t left = pending_left(&pending[i], 0);
			int64_t end = time(NULL) + (left ? left / 1000000000 + 1 : 0);

			if (!at || end < at)
				at = end;
		}
	free(pending);
	return at;
}

/* It also fires when the wall clock is set. */
static void set_timer(struct expiry *e)
{
	int64_t at = e->first > e->again ? e->first : e->first ? e->again : 0;
	struct itimerspec timer = { .it_value.tv_sec = at };

	timerfd_settime(e->timer, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &timer, NULL);
}

/* How far the date is from the time since the machine was started, seconds. */
static int64_t date_offset(void)
{
	return time(NULL) - clock_ns(CLOCK_BOOTTIME) / 1000000000;
}

void expiry_look(struct expiry *e, struct state *state)
{
	/* While nothing ends, whoever sets the date moves nothing. */
	if (!e->first)
		e->offset = date_offset();
	e->first = state ? first_end(state) : 0;
	set_timer(e);
}

/* Bans end by the date: whoever sets it moves their ends. */
static void say_clock(struct expiry *e)
{
	int64_t now = date_offset(), by = now - e->offset;

	e->offset = now;
	if (by > CLOCK_NEWS || by < -CLOCK_NEWS)
		warn("the date was set %lld seconds %s: bans with an end go on for so much %s",
		     (long long)(by < 0 ? -by : by), by < 0 ? "back" : "ahead", by < 0 ? "longer" : "less");
}

bool expiry_due(struct expiry *e)
{
	uint64_t times;
	ssize_t got = read(e->timer, &times, sizeof(times));

	if (got == sizeof(times) && e->first && time(NULL) >= e->first)
		return true;
	/* The clock was set: `again` was of the old time. */
	if (got < 0 && errno == ECANCELED) {
		e->again = 0;
		say_clock(e);
	}
	set_timer(e);
	return false;
}

/* A change begins by ending what has run out: one that changes nothing else is enough. */
int expiry_run(const struct context *context, void *unused)
{
	struct context own = *context;
	struct change *change;
	int64_t end;
	int err = change_begin(&change, &own);

	(void)unused;
	end = err ? 0 : first_end(change->state);
	change_end(change);
	if (err)
		return fail("%s", reason(err));
	/* If something could not be ended, change_begin() only warns. */
	return end && end <= time(NULL) ? EXIT_ERROR : EXIT_DONE;
}

void expiry_ran(struct expiry *e, bool done)
{
	e->again = done ? 0 : time(NULL) + AGAIN;
}
