// SPDX-License-Identifier: GPL-2.0-only
/* What was not confirmed in time and has not gone back: from when on that is a trouble. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "ktap.h"
#include "observe/overdue.h"
#include "state/state.h"

#define DATE   2000000000
#define BOOT   (50 * SECOND)
#define SECOND ((int64_t)1000000000)

static struct pending given[2];
static size_t given_n;
static int fails;

static int given_pending(struct state *state, struct pending **all, size_t *n)
{
	(void)state;
	*n = given_n;
	*all = calloc(2, sizeof(**all));
	if (!*all)
		abort();
	memcpy(*all, given, sizeof(given));
	return fails;
}

static int64_t given_left(const struct pending *one, int64_t at_least)
{
	int64_t left = one->undated ? one->due - BOOT : (one->deadline - DATE) * SECOND;

	CHECK(!at_least, "a date that has come: %lld", (long long)at_least);
	return one->rebooted || left < 0 ? 0 : left;
}

#define state_pending given_pending
#define pending_left  given_left
#define clock_boot()  BOOT
#define time(to)      ((void)(to), (time_t)DATE)
#include "observe/overdue.c"

static void says(const char *expected)
{
	char text[OVERDUE_TEXT_MAX] = "?";
	int err = overdue_trouble(NULL, text);

	CHECK(err == fails, "it is %d", err);
	CHECK(err || !strncmp(text, expected, strlen(expected) ?: 1), "'%s', not '%s'", text, expected);
}

static void by_either_clock(void)
{
	says("");
	given_n = 1;
	given[0] = (struct pending){ .name = "exact", .undated = true, .deadline = 3000000000 };
	given[0].due = BOOT + 1;
	says("");
	given[0].due = BOOT - 10 * SECOND;
	says("");
	given[0].due--;
	says("exact was not confirmed in time, and has not gone back");
	/* Of an older version, or of the time before the machine was started again. */
	given[0].undated = false;
	says("");
	given[0].deadline = DATE - 10;
	says("");
	given[0].deadline = DATE - 11;
	says("exact was not confirmed in time");
	given[0].deadline = DATE + 100;
	given[0].rebooted = true;
	says("exact was");
}

/* It is open from then on. */
static void an_interface(void)
{
	given_n = 1;
	given[0] = (struct pending){ .kind = PENDING_INTERFACE, .name = "eth0", .deadline = DATE + 1 };
	says("");
	given[0].deadline = DATE;
	says("eth0 was not confirmed in time, and has not gone back");
	given[0].deadline = PENDING_IN_PROGRESS;
	says("");
}

static void the_first(void)
{
	given_n = 2;
	given[0] = (struct pending){ .name = "eth0", .deadline = PENDING_IN_PROGRESS };
	given[1] = (struct pending){ .name = "drop", .deadline = DATE - 20 };
	says("drop was");
	given[0].deadline = DATE - 11;
	says("eth0 was");
	fails = -EIO;
	says("");
	fails = 0;
}

int main(void)
{
	static const struct ktap_case cases[] = { { "by either clock", by_either_clock },
						  { "an interface", an_interface },
						  { "the first", the_first } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
