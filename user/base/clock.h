/* SPDX-License-Identifier: GPL-2.0-only */
/* Measuring durations: the monotonic clock. And the time of day as text. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline double clock_seconds(void)
{
	return (double)clock_ns(CLOCK_MONOTONIC) / 1e9;
}

static inline int64_t clock_ms(void)
{
	return clock_ns(CLOCK_MONOTONIC) / 1000000;
}

#define UTC_TEXT_MAX 32

/* UTC, as 2026-01-01T00:00:00Z. */
static inline const char *utc_text(char buf[UTC_TEXT_MAX], int64_t seconds)
{
	time_t when = (time_t)seconds;
	struct tm utc;

	if (!gmtime_r(&when, &utc)) /* a year beyond an int */
		return "-";
	strftime(buf, UTC_TEXT_MAX, "%Y-%m-%dT%H:%M:%SZ", &utc);
	return buf;
}

#endif
