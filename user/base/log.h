/* SPDX-License-Identifier: GPL-2.0-only */
/* One line for the user, on standard error. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/options.h"

enum { EXIT_DONE = 0, EXIT_PASSES = 1, EXIT_MISSING = 1, EXIT_ERROR = 2 };

#define PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))

/* "xdp-bloom: message", and EXIT_ERROR, so that a verb can return it. */
PRINTF(1, 2) int fail(const char *fmt, ...);
/* Likewise, but not with --quiet; note() only with --verbose. */
PRINTF(1, 2) void warn(const char *fmt, ...);
PRINTF(1, 2) void note(const char *fmt, ...);

/* From now on every line begins with that as well: "lists.conf:7"; NULL ends it. */
void log_where(const char *where);

/* What fail() said last. */
const char *log_last(void);

/*
 * Whoever finds out why something fails records it and hands the -errno up; whoever is the verb says it, once.
 * reason() is what was recorded for the last failure, or the errno's own words.
 */
PRINTF(2, 3) int because(int err, const char *fmt, ...);
const char *reason(int err);

#endif
