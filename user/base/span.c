// SPDX-License-Identifier: GPL-2.0-only
#include "base/span.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct unit {
	char letter;
	int64_t seconds;
} units[] = { { 'y', 31536000 }, { 'w', 604800 }, { 'd', 86400 }, { 'h', 3600 }, { 'm', 60 }, { 's', 1 } };

#define UNITS  (sizeof(units) / sizeof(units[0]))
#define DIGITS "0123456789"
#define DAYS   2

double span_seconds(const char *text)
{
	const struct unit *unit = units;
	double sum = 0;

	do {
		size_t length = strspn(text, DIGITS ".");
		char *end;
		double n = strtod(text, &end);

		/* Not what else strtod() takes: signs, hexadecimal numbers, powers of ten. */
		if (!strspn(text, DIGITS) || end != text + length)
			return -1;
		if (!*end)
			return unit == units ? n : -1;
		while (unit < units + UNITS && unit->letter != *end)
			unit++;
		if (unit == units + UNITS)
			return -1;
		sum += n * (double)unit++->seconds;
		text = end + 1;
	} while (*text);
	return sum;
}

const char *span_text(char buf[SPAN_TEXT_MAX], int64_t seconds)
{
	size_t i = DAYS;
	int64_t most, least;

	seconds = seconds < 0 ? 0 : seconds;
	while (i + 1 < UNITS && seconds < units[i].seconds)
		i++;
	least = units[i + 1 < UNITS ? i + 1 : i].seconds;
	seconds = (seconds + least / 2) / least * least;
	/* Rounded up, it may be one of the unit before. */
	if (i > DAYS && seconds >= units[i - 1].seconds)
		i--;
	most = units[i].seconds;
	if (seconds % most)
		snprintf(buf, SPAN_TEXT_MAX, "%lld%c%lld%c", (long long)(seconds / most), units[i].letter,
			 (long long)(seconds % most / units[i + 1].seconds), units[i + 1].letter);
	else
		snprintf(buf, SPAN_TEXT_MAX, "%lld%c", (long long)(seconds / most), units[i].letter);
	return buf;
}
