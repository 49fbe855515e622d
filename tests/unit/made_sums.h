/* SPDX-License-Identifier: GPL-2.0-only */
/* What samples found, made up: for those that show it. */
#ifndef MADE_SUMS_H
#define MADE_SUMS_H

#include "observe/history.h"

static void made_entry(struct history_sums *sums, enum top top, unsigned int at, uint64_t hi, uint64_t lo,
		       uint32_t family, uint32_t count)
{
	sums->top[top][at] = (struct top_entry){ .hi = hi,
						 .lo = lo,
						 .family = family,
						 .samples = count,
						 .packets = 60.0 * count,
						 .over = at,
						 .spread = 11.5 * count };
}

#endif
