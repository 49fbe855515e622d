/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A feed that runs until a signal: what it says, what it waits for, and what happens meanwhile, each a line; for tests
 * that include a source of feeds/ behind this.
 */
#ifndef MODEL_FEED_H
#define MODEL_FEED_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/stop.h"
#include "state/events.h"
#include "model_clock.h"
#include "shown.h"

/* What happens at which time, in ms from the beginning: after the last there is the end. */
static const struct step {
	int64_t at;
	const char *what;
} * steps;

/* The test's own: a step, and what a descriptor is that is waited for. */
static void happens(const char *what);
static const char *waits_for(int fd);

/* What fails: the call of that name, with that, the n-th from now on. */
static struct failure {
	char call[32];
	int err, left;
} failures[4];

#define FAILURES (sizeof(failures) / sizeof(failures[0]))

__attribute__((unused)) static int fails(const char *call)
{
	for (size_t i = 0; i < FAILURES; i++)
		if (failures[i].left && !strcmp(failures[i].call, call) && !--failures[i].left) {
			line("%s fails", call);
			return failures[i].err ? because(-failures[i].err, "no %s", call) : 0;
		}
	return 0;
}

/* "call errno n": true where it was one. */
static bool is_failure(const char *what)
{
	struct failure f;
	size_t i = 0;

	if (sscanf(what, "fail %31s %d %d", f.call, &f.err, &f.left) != 3)
		return false;
	while (failures[i].left)
		if (++i == FAILURES)
			abort();
	failures[i] = f;
	return true;
}

static void step(const char *what)
{
	if (!strcmp(what, "TERM") || !strcmp(what, "INT"))
		stop_asked = *what == 'T' ? SIGTERM : SIGINT;
	else if (!is_failure(what))
		happens(what);
}

/* Until that time, or until something happens. */
static void passes(int64_t until)
{
	int64_t at = BEGINS + steps->at;

	if (!steps->what) {
		line("the end");
		stop_asked = SIGTERM;
	} else if (at > until) {
		now_ms = until;
	} else {
		now_ms = at > now_ms ? at : now_ms;
		for (; steps->what && BEGINS + steps->at <= now_ms; steps++)
			step(steps->what);
	}
}

static void given_poll(struct pollfd *fds, nfds_t n, const struct timespec *time)
{
	int64_t ms = (int64_t)time->tv_sec * 1000 + (time->tv_nsec + 500000) / 1000000;

	const int64_t until = now_ms + ms;

	if (stop_asked)
		return;
	begin_line();
	printf("waits %lld ms", (long long)ms);
	for (nfds_t i = 0; i < n; i++)
		if (fds[i].fd >= 0)
			printf(", for %s%s%s", waits_for(fds[i].fd), fds[i].events & POLLOUT ? " and room" : "",
			       fds[i].events & POLLIN ? "" : " and nothing of it");
	putchar('\n');
	do
		passes(until);
	while (!n && steps->what && now_ms < until && !stop_asked);
	if (!n && !stop_asked)
		now_ms = until;
}

static void given_stop_on(int signal)
{
	line("%s ends it", signal == SIGTERM ? "TERM" : signal == SIGINT ? "INT" : "another signal");
}

__attribute__((unused, format(printf, 1, 2))) static void given_note(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	begin_line();
	printf(". ");
	vprintf(fmt, args);
	putchar('\n');
	va_end(args);
}

__attribute__((format(printf, 3, 4))) static void given_event(const struct context *context, struct event e,
							      const char *fmt, ...)
{
	static const char *const kinds[] = { [EVENT_DONE] = "done",
					     [EVENT_REFUSED] = "refused",
					     [EVENT_GUARD] = "guard",
					     [EVENT_FAULT] = "fault",
					     [EVENT_HEALED] = "healed" };
	va_list args;

	(void)context;
	va_start(args, fmt);
	begin_line();
	printf("event %s",
	       e.kind < sizeof(kinds) / sizeof(kinds[0]) && kinds[e.kind] ? kinds[e.kind] : "of another kind");
	if (e.verb)
		printf(" of %s", e.verb);
	if (e.generation)
		printf(" in generation %llu", e.generation);
	printf(": ");
	vprintf(fmt, args);
	putchar('\n');
	va_end(args);
}

static void model_begin(const struct step *all)
{
	now_ms = BEGINS;
	stop_asked = 0;
	memset(failures, 0, sizeof(failures));
	steps = all;
	/* What is to happen before it begins. */
	for (; steps->what && steps->at < 0; steps++)
		step(steps->what);
}

#define stop_poll  given_poll
#define stop_on	   given_stop_on
#define warn	   given_warn
#define note	   given_note
#define event(...) given_event(__VA_ARGS__)
#define clock_ms() given_ms()
#define time(to)   given_time(to)

#endif
