// SPDX-License-Identifier: GPL-2.0-only
#include "base/log.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clean_text.h"

#define LINE_MAX_BYTES 2048

static char recorded[LINE_MAX_BYTES];
static int recorded_err;
static const char *place;

static char last[LINE_MAX_BYTES];

const char *log_last(void)
{
	return last;
}

/* For programs that read along. */
static void say_json(const char *level, const char *line)
{
	time_t now = time(NULL);
	char when[32];
	struct tm utc;
	json_t *object;

	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
	object = json_pack("{s:s, s:s, s:s}", "time", when, "level", level, "message", line);
	if (object)
		json_dumpf(object, stderr, JSON_COMPACT);
	json_decref(object);
	fputc('\n', stderr);
}

/* One line, whatever names and texts of other people are quoted in it. */
static void say(const char *level, const char *fmt, va_list args)
{
	char line[LINE_MAX_BYTES];

	vsnprintf(line, sizeof(line), fmt, args);
	clean_text(line);
	if (level[0] == 'e')
		memcpy(last, line, sizeof(last));
	fflush(stdout);
	if (opt_log_json)
		say_json(level, line);
	else
		fprintf(stderr, "xdp-bloom: %s%s%s\n", place ? place : "", place ? ": " : "", line);
}

#define SAY_IF(condition, level, fmt)          \
	do {                                   \
		va_list args;                  \
		va_start(args, fmt);           \
		if (condition)                 \
			say(level, fmt, args); \
		va_end(args);                  \
	} while (0)

int fail(const char *fmt, ...)
{
	SAY_IF(true, "error", fmt);
	return EXIT_ERROR;
}

void warn(const char *fmt, ...)
{
	SAY_IF(!opt_quiet, "warning", fmt);
}

void note(const char *fmt, ...)
{
	SAY_IF(opt_verbose, "info", fmt);
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
