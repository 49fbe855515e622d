/* SPDX-License-Identifier: GPL-2.0-only */
/* A program of the user's that is run for each event: one after the other, and none for longer than a minute. */
#ifndef SERVICE_HOOK_H
#define SERVICE_HOOK_H

#include <stdint.h>
#include <sys/types.h>

#include "state/events.h"

struct hook {
	const struct context *context;
	const char *program;
	struct events_tail tail;
	pid_t running; /* 0: none */
	int64_t since; /* clock_ms() */
};

/* From now on; events before do not count. */
void hook_begin(struct hook *hook, const struct context *context, const char *program);
/* Another program from now on, or none (NULL). */
void hook_change(struct hook *hook, const char *program);
/* About once a second: sees to the one that runs, starts the next. */
void hook_turn(struct hook *hook);
void hook_end(struct hook *hook);

#endif
