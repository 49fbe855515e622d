/* SPDX-License-Identifier: GPL-2.0-only */
/* A clock that is made up, and what happens by it: each a line, for tests that include a source behind this. */
#ifndef MODEL_CLOCK_H
#define MODEL_CLOCK_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"

#define BEGINS 1000000	  /* ms */
#define DATE   1767225600 /* 2026-01-01T00:00:00Z */

static int64_t now_ms = BEGINS;

static bool in_words; /* a line of words is not at its end */

static void end_words(void)
{
	if (in_words)
		putchar('\n');
	in_words = false;
}

static void begin_line(void)
{
	end_words();
	printf("%6lld ", (long long)(now_ms - BEGINS));
}

/* What is asked and done one after the other stands in one line. */
__attribute__((unused, format(printf, 1, 2))) static void word(const char *fmt, ...)
{
	va_list args;

	if (in_words)
		putchar(' ');
	else
		begin_line();
	in_words = true;
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
}

__attribute__((format(printf, 1, 2))) static void line(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	begin_line();
	vprintf(fmt, args);
	putchar('\n');
	va_end(args);
}

__attribute__((format(printf, 1, 2))) static void given_warn(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	begin_line();
	printf("! ");
	vprintf(fmt, args);
	putchar('\n');
	va_end(args);
}

__attribute__((unused)) static int64_t given_ms(void)
{
	return now_ms;
}

__attribute__((unused)) static time_t given_time(time_t *to)
{
	(void)to;
	return DATE + (time_t)((now_ms - BEGINS) / 1000);
}

#endif
