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

/*
 * Since the machine was started, in ns: suspended or not, and whatever becomes of the date. It is the kernel's own
 * count, which programs read: in a time namespace ours has an offset.
 */
int64_t clock_boot(void);
/* Which start of the machine that counts from; "" where the kernel does not say. */
#define BOOT_ID_MAX 40
const char *clock_boot_id(char id[BOOT_ID_MAX]);
/* The same as a number that a double keeps exactly; never 0. */
#define BOOT_UNKNOWN 1
int64_t clock_boot_number(void);

static inline int64_t clock_ms(void)
{
	return clock_ns(CLOCK_MONOTONIC) / 1000000;
}

/* The last second of the year 9999: what is later has no such text, and none of ours is. */
#define TIME_MOST 253402300799

#define UTC_TEXT_MAX 32

/* UTC, as 2026-01-01T00:00:00Z; "-" where that cannot be. Unlike gmtime(3) it does not read the local time zone's file.
 */
const char *utc_text(char buf[UTC_TEXT_MAX], int64_t seconds);

#endif
