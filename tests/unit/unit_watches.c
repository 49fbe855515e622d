// SPDX-License-Identifier: GPL-2.0-only
/* When the service measures its rate, and when it ends bans: by what it is told of the kernel, the state and the clock.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "change/change.h"
#include "filter/measured_rate.h"
#include "kernel/generation.h"
#include "kernel/live.h"
#include "state/bans.h"
#include "state/kept_image.h"
#include "state/settings.h"
#include "state/state.h"

/* What there is, is made up here. */
static struct {
	int live, opened, state;
	struct generation g;
	bool image, passed;
	int64_t now, left[2]; /* of a ban, of what waits; 0: there is none */
	int released, closed;
} made_up;

static int live_is(const struct context *context, struct generation *g)
{
	(void)context;
	*g = made_up.g;
	return made_up.live;
}

static int open_is(const struct context *context, struct candidate *c)
{
	(void)context;
	(void)c;
	return made_up.opened;
}

static void released(struct candidate *c)
{
	(void)c;
	made_up.released++;
}

static void measured(const struct generation *g, struct rate *rate)
{
	(void)g;
	(void)rate;
}

static double is_asked(const struct settings *settings, const struct generation *g)
{
	(void)settings;
	(void)g;
	return 0.001;
}

static bool has_passed(const struct rate *rate, double rate_asked)
{
	(void)rate;
	(void)rate_asked;
	return made_up.passed;
}

static uint64_t image_is(struct state *state)
{
	(void)state;
	return made_up.image;
}

static struct settings settings_are(struct state *state)
{
	(void)state;
	return SETTINGS_DEFAULT;
}

static int state_is(struct state **state, const struct context *context, bool change)
{
	(void)context;
	(void)change;
	*state = NULL;
	return made_up.state;
}

static void closed(struct state *state)
{
	(void)state;
	made_up.closed++;
}

#define kernel_live	 live_is
#define kernel_open_live open_is
#define kernel_release	 released
#define rate_measure	 measured
#define rate_asked	 is_asked
#define rate_passed	 has_passed
#define image_kept	 image_is
#define settings_read	 settings_are
#define state_open	 state_is
#define state_close	 closed
#include "service/rate_watch.c"

static bool next_left(struct state *state, int64_t *left)
{
	(void)state;
	*left = made_up.left[0];
	return made_up.left[0];
}

static int what_waits(struct state *state, struct pending **pending, size_t *n)
{
	(void)state;
	*pending = calloc(1, sizeof(**pending));
	*n = made_up.left[1] != 0;
	return *pending ? made_up.state : -ENOMEM;
}

static int64_t left_of(const struct pending *pending, int64_t now)
{
	(void)pending;
	(void)now;
	return made_up.left[1];
}

static int64_t clock_is(clockid_t clock)
{
	(void)clock;
	return made_up.now;
}

#define state_bans_next_left next_left
#define state_pending	     what_waits
#define pending_left	     left_of
#define clock_ns	     clock_is
#include "service/expiry.c"

#include "ktap.h"

static void schedule(void)
{
	struct rate_watch w = { .at = 5, .next = 100, .number = 7, .edits = 3 };

	memset(&made_up, 0, sizeof(made_up));
	made_up.g.number = 7;
	made_up.g.edits = 3;
	rate_watch_schedule(&w, NULL, 50);
	CHECK(w.at == 5, "what was measured is measured again at %lld", (long long)w.at);
	made_up.live = -ENOENT;
	made_up.g.number = 8;
	rate_watch_schedule(&w, NULL, 50);
	CHECK(w.at == 5 && w.number == 7, "nothing in force is measured");
	made_up.live = 0;
	rate_watch_schedule(&w, NULL, 50);
	CHECK(w.at == 100 && w.number == 8 && w.edits == 3, "a new one at %lld", (long long)w.at);
	made_up.g.edits = 4;
	rate_watch_schedule(&w, NULL, 150);
	CHECK(w.at == 150 && w.edits == 4, "an edited one at %lld", (long long)w.at);
	rate_watch_begin(&w, 160);
	CHECK(w.at == INT64_MAX && w.began == 160, "it begins twice");
	rate_watch_end(&w, 163, false);
	CHECK(w.next == 163 + 300, "the next one at %lld", (long long)w.next);
	rate_watch_end(&w, 163, true);
	CHECK(w.next == 163 + ROTATE_AGAIN, "after a rotation at %lld", (long long)w.next);
}

/* Each answer of what it asks: the exit status of the job. */
static void measures(void)
{
	static const struct {
		int state, opened;
		bool image, passed;
		int is, released;
	} cases[] = {
		{ 0, 0, false, false, EXIT_DONE, 1 },	   { 0, 0, false, true, EXIT_PASSES, 1 },
		{ 0, 0, true, true, EXIT_DONE, 0 },	   { 0, -ENOENT, false, true, EXIT_DONE, 0 },
		{ 0, -EPERM, false, true, EXIT_ERROR, 0 }, { -EIO, 0, false, true, EXIT_ERROR, 0 },
		{ -EIO, 0, false, false, EXIT_ERROR, 0 },
	};
	int quiet = dup(STDERR_FILENO);

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int is;

		made_up = (typeof(made_up)){ .state = cases[i].state,
					     .opened = cases[i].opened,
					     .image = cases[i].image,
					     .passed = cases[i].passed };
		close(STDERR_FILENO);
		is = rate_watch_run(NULL, NULL);
		dup2(quiet, STDERR_FILENO);
		CHECK(is == cases[i].is && made_up.released == cases[i].released && made_up.closed == 1,
		      "case %zu: %d, %d released, %d closed", i, is, made_up.released, made_up.closed);
	}
	close(quiet);
}

#define SECOND 1000000000LL

/* The earlier end of the two, and never before it; what has ended already is due now. */
static void looks(void)
{
	static const struct {
		int64_t ban, pending, first; /* left, ns; in seconds from now; -1: nothing ends */
	} cases[] = {
		{ 0, 0, -1 },
		{ 5 * SECOND, 0, 6 },
		{ 0, 5 * SECOND, 6 },
		{ 5 * SECOND, 9 * SECOND, 6 },
		{ 9 * SECOND, 5 * SECOND, 6 },
		{ 5 * SECOND, 5 * SECOND, 6 },
		{ 1, 0, 1 },
		{ -1, 0, 0 },
		{ -SECOND, 5, 0 },
		{ 5, -SECOND, 0 },
	};
	struct expiry e;

	memset(&made_up, 0, sizeof(made_up));
	if (!CHECK(!expiry_open(&e), "no timer"))
		return;
	/* Beyond what the real clock shows, so that the timer stays quiet; at a whole second, and between two. */
	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(*cases); i++) {
		int64_t now = 1000000000, first;

		made_up.left[0] = cases[i / 2].ban;
		made_up.left[1] = cases[i / 2].pending;
		made_up.now = now * SECOND;
		expiry_look(&e, (struct state *)&made_up);
		first = cases[i / 2].first < 0 ? 0 : now + cases[i / 2].first;
		CHECK(e.first == first, "case %zu: %lld, not %lld", i / 2, (long long)e.first, (long long)first);
	}
	made_up.left[0] = 5;
	made_up.state = -EIO;
	expiry_look(&e, (struct state *)&made_up);
	CHECK(e.first == 1000000001, "what waits cannot be read, and no ban ends");
	made_up.state = 0;
	expiry_look(&e, NULL);
	CHECK(!e.first, "without a state something ends");
	expiry_close(&e);
	CHECK(e.timer == -1, "it is open");
}

/* When the timer is set to, in seconds; 0: it is not. */
static long set_to(const struct expiry *e)
{
	struct timespec real;
	struct itimerspec is;

	clock_gettime(CLOCK_BOOTTIME, &real);
	timerfd_gettime(e->timer, &is);
	return is.it_value.tv_sec || is.it_value.tv_nsec
		       ? real.tv_sec + is.it_value.tv_sec + (real.tv_nsec + is.it_value.tv_nsec + 500000000) / SECOND
		       : 0;
}

static void again(void)
{
	long now = 1000000000;
	struct expiry e;

	memset(&made_up, 0, sizeof(made_up));
	if (!CHECK(!expiry_open(&e), "no timer"))
		return;
	made_up.now = now * SECOND;
	made_up.left[0] = 99 * SECOND;
	expiry_look(&e, (struct state *)&made_up);
	CHECK(set_to(&e) == now + 100, "set to %ld", set_to(&e));
	CHECK(!expiry_due(&e), "due before its time");
	made_up.left[0] = -1;
	expiry_look(&e, (struct state *)&made_up);
	CHECK(set_to(&e) == now, "set to %ld", set_to(&e));
	/* A failure: not before five seconds; done: at its time. */
	expiry_ran(&e, false);
	expiry_look(&e, (struct state *)&made_up);
	CHECK(e.again == now + 5 && set_to(&e) == now + 5, "again at %ld", set_to(&e));
	expiry_ran(&e, true);
	expiry_look(&e, (struct state *)&made_up);
	CHECK(!e.again && set_to(&e) == now, "again at %ld", set_to(&e));
	expiry_look(&e, NULL);
	CHECK(!set_to(&e), "nothing ends, at %ld", set_to(&e));
	/* The timer fires: it is due only where something ends, and its time has come. */
	e.first = 1;
	for (int i = 0; i < 3; i++) {
		struct itimerspec soon = { .it_value.tv_nsec = 1 };
		bool due;

		timerfd_settime(e.timer, TFD_TIMER_ABSTIME, &soon, NULL);
		made_up.now = i == 1 ? 0 : SECOND;
		e.first = i != 2;
		due = expiry_due(&e);
		CHECK(due == (i == 0), "turn %d: due %d", i, due);
	}
	expiry_close(&e);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "when it is measured", schedule },
		{ "what is measured", measures },
		{ "the first end", looks },
		{ "the timer", again },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
