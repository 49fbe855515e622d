// SPDX-License-Identifier: GPL-2.0-only
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LINE_MAX_BYTES 2048

static char recorded[LINE_MAX_BYTES];
static int recorded_err;
static const char *place;

/* One line, whatever names and texts of other people are quoted in it. */
static void say(const char *fmt, va_list args)
{
	char line[LINE_MAX_BYTES];

	vsnprintf(line, sizeof(line), fmt, args);
	for (char *c = line; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	fflush(stdout);
	fprintf(stderr, "xdp-bloom: %s%s%s\n", place ? place : "", place ? ": " : "", line);
}

#define SAY_IF(condition, fmt)          \
	do {                            \
		va_list args;           \
		va_start(args, fmt);    \
		if (condition)          \
			say(fmt, args); \
		va_end(args);           \
	} while (0)

int fail(const char *fmt, ...)
{
	SAY_IF(true, fmt);
	return EXIT_ERROR;
}

void warn(const char *fmt, ...)
{
	SAY_IF(!opt_quiet, fmt);
}

void note(const char *fmt, ...)
{
	SAY_IF(opt_verbose, fmt);
}

void log_where(const char *where)
{
	place = where;
}

int because(int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(recorded, sizeof(recorded), fmt, args);
	va_end(args);
	recorded_err = err;
	return err;
}

const char *reason(int err)
{
	return recorded[0] && recorded_err == err ? recorded : strerror(-err);
}
