/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the service has found to be wrong, a line each, for whoever shows it: a file of the state while there is any:
 * STATE_LINES, lines of the config file that fail, STATE_NEEDS, what this machine needs and is dropped,
 * STATE_LISTEN, why nobody can ask the service, STATE_UNTOLD, why it sees late what others do, or STATE_BEHIND, that
 * its hook does.
 */
#ifndef OBSERVE_LINES_DOWN_H
#define OBSERVE_LINES_DOWN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/log.h"

#define LINE_DOWN_MAX  256
#define LINES_DOWN_MAX 8

struct lines_down {
	char text[LINES_DOWN_MAX][LINE_DOWN_MAX]; /* what is wrong, one each */
	size_t n;
};

/* Does not fail: what cannot be written is only not shown. */
void lines_down_keep(const struct context *context, const char *file, const struct lines_down *down);
/* One thing begins to be wrong, or is over: in the log, as an event, and there. */
PRINTF(4, 5)
void line_down_say(const struct context *context, const char *file, bool down, const char *fmt, ...);
/* served: a service runs; else there are none. */
void lines_down_take(struct lines_down *down, const struct context *context, const char *file, bool served);

#endif
