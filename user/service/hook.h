/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The user's program that is run for each event: one at a time, for a minute at most. Those that matter are first; what
 * others can bring about in masses, as bans, waits behind them, and is lost where it would wait too long: that is an
 * event, too.
 */
#ifndef SERVICE_HOOK_H
#define SERVICE_HOOK_H

#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "state/events.h"

struct hook {
	const struct context *context;
	const char *program;
	struct events_tail first; /* what matters, */
	struct events_tail tail;  /* and the rest */
	bool behind;
	pid_t running; /* 0: none */
	int64_t since; /* clock_ms() */
	struct rlimit files;
};

/* Events from now on. The program may have as many files open as the service may at this moment. */
void hook_begin(struct hook *hook, const struct context *context, const char *program);
/* Another program from now on, or none (NULL). */
void hook_change(struct hook *hook, const char *program);
/* About once a second: stops a program that runs too long, starts the next. */
void hook_turn(struct hook *hook);
void hook_end(struct hook *hook);

#endif
