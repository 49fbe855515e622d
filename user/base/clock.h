/* SPDX-License-Identifier: GPL-2.0-only */
/* How long something takes: a clock that nobody sets. */
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

#endif
