/* SPDX-License-Identifier: GPL-2.0-only */
/* How long something lasts, as people write it: 90, 60s, 1h30m, 2w. */
#ifndef BASE_SPAN_H
#define BASE_SPAN_H

#include <stdint.h>

/* For messages: what a time looks like. */
#define SPAN_EXAMPLES "a time such as 90s, 10m, 1h30m or 2w"

/* Seconds: a number alone, or numbers with y (365 days), w, d, h, m or s behind them, the longest first. -1: no time.
 */
double span_seconds(const char *text);

#define SPAN_TEXT_MAX 48

/* Its two largest units, the second one rounded: 2d23h, 1h, 59s. span_seconds() takes it. */
const char *span_text(char buf[SPAN_TEXT_MAX], int64_t seconds);

#endif
