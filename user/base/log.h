/* SPDX-License-Identifier: GPL-2.0-only */
/* One line for the user, on standard error. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/context.h"

enum { EXIT_DONE = 0, EXIT_PASSES = 1, EXIT_MISSING = 1, EXIT_DEGRADED = 1, EXIT_REFUSED = 1, EXIT_ERROR = 2 };

#define PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))

/* What 'make static WITH=...' was not asked for, or a recipe leaves out, is ... */
#define LEFT_OUT "not in this command: it was made without"

/* How all lines of this process are written. */
struct log_settings {
	bool quiet, verbose, json;
	bool kept; /* in a log, for long: what lasts is said in it now and then */
};
extern struct log_settings log_settings;

/* "xdp-bloom: message", and EXIT_ERROR, so that a verb can return it. */
PRINTF(1, 2) int fail(const char *fmt, ...);
/* The same, but not with --quiet; note() only with --verbose. */
PRINTF(1, 2) void warn(const char *fmt, ...);
PRINTF(1, 2) void note(const char *fmt, ...);

/* What a line written as JSON is about, and when that began, by clock_seconds(). */
struct log_subject {
	const char *verb, *list; /* NULL: it says neither */
	double since;
};
extern struct log_subject log_subject;

/* A line about its subject, to standard output: only where lines are JSON; false: they are text. */
bool log_told(const struct log_subject *about, const char *text);

/* From now on every line begins with that as well: "lists.conf:7"; NULL ends it. */
void log_where(const char *where);

/* From now on only the first warning of each kind is printed; false: how many more there were is, and it ends. */
void log_by_kind(bool on);

/* What fail() printed last, and the errno of the reason() in it; 0: there was none. */
const char *log_last(void);
int log_last_errno(void);

/*
 * An error is negative: -errno, or -errno marked by because(), which keeps a text for it. The mark is in the upper
 * bits, so the text belongs to this error alone, not to a later one of the same errno: errors are compared by err_is().
 * The verb prints reason() once: the text, or that of the errno.
 */
PRINTF(2, 3) int because(int err, const char *fmt, ...);
const char *reason(int err);

#define ERRNO_BITS 12

static inline int error_number(int err)
{
	return -err & ((1 << ERRNO_BITS) - 1);
}

static inline bool err_is(int err, int number)
{
	return err < 0 && error_number(err) == number;
}

/* The text of its errno. */
const char *errno_text(int err);

#endif
