// SPDX-License-Identifier: GPL-2.0-only
/* When the service ends what runs out, and what it makes of one that cannot be ended. Clock, state and change are made
 * up. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>

#include "base/clock.h"
#include "base/log.h"
#include "change/agreement.h"
#include "change/change.h"
#include "ktap.h"
#include "service/expiry.h"
#include "state/bans.h"
#include "state/state.h"

#define SECOND ((int64_t)1000000000)
#define NOW    (100 * SECOND + SECOND / 2) /* since the machine was started */

static int64_t clock_is;
static int64_t left_of[3]; /* a ban, and two changes that wait */
static enum agreement agrees;
static bool any_ban;
static size_t many;
static int64_t due_of[2] = { 5, 5 };
static char name_of[2][8] = { "one", "other" };
static int begin_err, pending_err, open_err;
static bool any_interface; /* one waits */
static int states;	   /* that are open */
static unsigned int begun, ended;
static int64_t timer_is;
static char said[100];

static int64_t given_clock(clockid_t clock)
{
	CHECK(clock == CLOCK_BOOTTIME, "clock %d", (int)clock);
	return clock_is;
}

static bool given_next(struct state *state, int64_t *left)
{
	CHECK(state != NULL, "no state");
	*left = left_of[0];
	return any_ban;
}

static int given_pending(struct state *state, struct pending **all, size_t *n)
{
	CHECK(state != NULL, "no state");
	*n = pending_err ? 0 : many;
	*all = pending_err ? NULL : calloc(2, sizeof(**all));
	for (size_t i = 0; i < *n; i++) {
		(*all)[i].deadline = (int64_t)i;
		(*all)[i].due = due_of[i];
		(*all)[i].kind = i ? PENDING_LIST : PENDING_INTERFACE;
		strcpy((*all)[i].name, name_of[i]);
	}
	return pending_err;
}

static int given_open(struct state **state, const struct context *context, bool change)
{
	CHECK(context && !change, "another state");
	*state = open_err ? NULL : (struct state *)(void *)said;
	states += !open_err;
	return open_err;
}

static void given_close(struct state *state)
{
	states -= state != NULL;
}

static int given_any(struct state *state, enum pending_kind kind)
{
	CHECK(state && kind == PENDING_INTERFACE, "kind %d", (int)kind);
	return any_interface;
}

static int64_t given_left(const struct pending *one, int64_t at_least)
{
	CHECK(!at_least, "at least %lld", (long long)at_least);
	return left_of[1 + one->deadline];
}

static int given_begin(struct change **change, struct context *context)
{
	static struct change one;
	static char state;

	begun++;
	CHECK(context->quiet, "it is another context");
	context->quiet = false; /* of its own: the service's stays as it is */
	*change = NULL;
	if (begin_err)
		return because(begin_err, "it is busy");
	one.state = (struct state *)(void *)&state;
	one.live.g.number = 3;
	*change = &one;
	return 0;
}

static enum agreement given_agreement(struct state *state, const struct generation *live)
{
	CHECK(state && live->number == 3, "another generation");
	return agrees;
}

static void given_end(struct change *change)
{
	CHECK(!change == !!begin_err, "another change");
	ended++;
}

__attribute__((format(printf, 1, 2))) static int given_fail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(said, sizeof(said), fmt, args);
	va_end(args);
	return EXIT_ERROR;
}

static int given_timer(int fd, int flags, const struct itimerspec *to, struct itimerspec *before)
{
	CHECK(fd == 7 && flags == TFD_TIMER_ABSTIME && !before && !to->it_value.tv_nsec && !to->it_interval.tv_sec,
	      "another timer");
	timer_is = to->it_value.tv_sec;
	return 0;
}

#define clock_ns	     given_clock
#define state_bans_next_left given_next
#define state_pending	     given_pending
#define state_pending_any    given_any
#define state_open	     given_open
#define state_close	     given_close
#define pending_left	     given_left
#define change_begin	     given_begin
#define change_end	     given_end
#define agreement	     given_agreement
#define fail		     given_fail
#define timerfd_settime	     given_timer
#include "service/expiry.c"

static void begin(void)
{
	clock_is = NOW;
	agrees = AGREED;
	any_ban = false;
	many = 0;
	begin_err = pending_err = open_err = 0;
	any_interface = false;
	begun = ended = 0;
	*said = '\0';
}

/* The job: done, unless something is over and still there, or no change can be made. */
static void the_job(void)
{
	static const struct {
		bool ban;
		size_t waiting;
		int64_t left[3];
		int begin_err, is;
		const char *says;
	} known[] = {
		{ false, 0, { 0, 0, 0 }, 0, EXIT_DONE, "" },
		{ true, 0, { 1, 0, 0 }, 0, EXIT_DONE, "" },
		{ true, 0, { 0, 0, 0 }, 0, EXIT_ERROR, "" },
		{ true, 2, { SECOND, SECOND, 0 }, 0, EXIT_ERROR, "" },
		{ true, 2, { SECOND, SECOND, 1 }, 0, EXIT_DONE, "" },
		{ false, 0, { 0, 0, 0 }, -EBUSY, EXIT_ERROR, "it is busy" },
		{ true, 0, { 0, 0, 0 }, -EBUSY, EXIT_ERROR, "it is busy" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct context context = CONTEXT_DEFAULT;
		int is;

		begin();
		context.quiet = true;
		any_ban = known[i].ban;
		many = known[i].waiting;
		memcpy(left_of, known[i].left, sizeof(left_of));
		begin_err = known[i].begin_err;
		is = expiry_run(&context, NULL);
		CHECK(is == known[i].is && !strcmp(said, known[i].says), "%zu: %d, it says '%s'", i, is, said);
		CHECK(begun == 1 && ended == 1 && context.quiet, "%zu: %u begun, %u ended", i, begun, ended);
		agrees = BEHIND;
		CHECK(expiry_run(&context, NULL) == EXIT_ERROR, "%zu: the kernel is behind", i);
	}
}

/* The first end, in whole seconds behind it; and later after a failure. */
static void the_timer(void)
{
	static struct state *const state = (struct state *)(void *)said;
	struct expiry e = { .timer = 7 };

	begin();
	expiry_look(&e, state, false);
	CHECK(!e.first && !timer_is, "with nothing to end: %lld", (long long)timer_is);
	any_ban = true;
	left_of[0] = 3 * SECOND;
	expiry_look(&e, state, false);
	CHECK(e.first == 104 && timer_is == 104, "a ban: %lld", (long long)timer_is);
	many = 2;
	left_of[1] = 9 * SECOND;
	left_of[2] = SECOND / 2 - 1;
	expiry_look(&e, state, false);
	CHECK(e.first == 101 && timer_is == 101, "a change that waits: %lld", (long long)timer_is);
	any_ban = false;
	left_of[2] = SECOND / 2;
	expiry_look(&e, state, false);
	CHECK(e.first == 102 && timer_is == 102, "without a ban: %lld", (long long)timer_is);
	expiry_ran(&e, false);
	expiry_look(&e, state, false);
	CHECK(e.first == 102 && timer_is == 105, "after a failure: %lld", (long long)timer_is);
	expiry_ran(&e, true);
	expiry_look(&e, state, false);
	CHECK(timer_is == 102, "after that: %lld", (long long)timer_is);
	expiry_look(&e, state, true);
	CHECK(e.first == 100 && timer_is == 100, "the kernel is behind: %lld", (long long)timer_is);
	pending_err = -EIO;
	expiry_look(&e, state, false);
	CHECK(!e.first && !timer_is, "what waits cannot be read: %lld", (long long)timer_is);
	expiry_look(&e, NULL, true);
	CHECK(!e.first && !timer_is, "without a state: %lld", (long long)timer_is);
	expiry_close(&e);
}

/* What waited is confirmed, or has gone back. */
static void what_waits(void)
{
	static struct state *const state = (struct state *)(void *)said;
	static const struct {
		size_t waiting;
		int err;
		bool none, over, known;
	} each[] = {
		{ 0, 0, false, false, false }, { 2, 0, false, false, true }, { 2, 0, false, false, true },
		{ 1, 0, false, true, true },   { 2, 0, false, false, true }, { 0, -EIO, false, false, true },
		{ 0, 0, true, false, true },   { 0, 0, false, true, false }, { 0, 0, false, false, false },
	};
	const struct context context = CONTEXT_DEFAULT;
	struct expiry e = { .timer = 7 };

	begin();
	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		bool over;

		many = each[i].waiting;
		pending_err = each[i].err;
		over = expiry_look(&e, each[i].none ? NULL : state, false);
		CHECK(over == each[i].over, "%zu: %d", i, over);
		CHECK(expiry_waits(&e, &context) == each[i].known, "%zu: what waits", i);
		CHECK(!states, "%zu: a state is open", i);
	}
	any_interface = true;
	CHECK(expiry_waits(&e, &context) && !states, "it waits since");
	expiry_close(&e);
	CHECK(!e.waiting && !e.waits, "closed, it knows of one");
	open_err = -EIO;
	CHECK(!expiry_waits(&e, &context) && !states, "nobody knows what waits");
}

/* One ends while another begins: as many as before, and yet one is over. */
static void another_waits(void)
{
	static struct state *const state = (struct state *)(void *)said;
	struct expiry e = { .timer = 7 };

	begin();
	many = 2;
	CHECK(!expiry_look(&e, state, false) && !expiry_look(&e, state, false), "nothing is over");
	strcpy(name_of[1], "third");
	CHECK(expiry_look(&e, state, false), "another list");
	CHECK(!expiry_look(&e, state, false), "it is the same");
	due_of[0] = 6;
	CHECK(expiry_look(&e, state, false), "it began anew");
	due_of[0] = 4;
	CHECK(expiry_look(&e, state, false) && !expiry_look(&e, state, false), "it began anew, for a shorter time");
	expiry_close(&e);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "the job", the_job },
		{ "the timer", the_timer },
		{ "what waits", what_waits },
		{ "another waits", another_waits },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
