// SPDX-License-Identifier: GPL-2.0-only
#include "base/clock.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From the kernel's own: in a time namespace, which nobody leaves. */
static int64_t boot_offset(void)
{
	FILE *file = fopen("/proc/self/timens_offsets", "re");
	long long seconds = 0, ns = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file) && sscanf(line, "boottime %lld %lld", &seconds, &ns) != 2)
		seconds = ns = 0;
	if (file)
		fclose(file);
	return (int64_t)seconds * 1000000000 + ns;
}

int64_t clock_boot(void)
{
	static int64_t offset;
	static bool known;

	/* A batch asks for each of its lines. */
	if (!known) {
		offset = boot_offset();
		known = true;
	}
	return clock_ns(CLOCK_BOOTTIME) - offset;
}

const char *clock_boot_id(char id[BOOT_ID_MAX])
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (!file || !fgets(id, BOOT_ID_MAX, file))
		id[0] = '\0';
	if (file)
		fclose(file);
	id[strcspn(id, "\n")] = '\0';
	return id;
}

int64_t clock_boot_number(void)
{
	char id[BOOT_ID_MAX], digits[BOOT_ID_MAX] = "";
	size_t n = 0;

	clock_boot_id(id);
	for (const char *at = id; *at && n < 13; at++)
		if (*at != '-')
			digits[n++] = *at;
	return (int64_t)(strtoull(digits, NULL, 16) | BOOT_UNKNOWN);
}

/* Years begin in March, so that a leap day is the last: 400 of them have 146,097 days, and five months 153. */
const char *utc_text(char buf[UTC_TEXT_MAX], int64_t seconds)
{
	unsigned int day, second, centuries, year, month;

	if (seconds < 0 || seconds > TIME_MOST)
		return "-";
	day = (unsigned int)(seconds / 86400) + 719468; /* since March 1st of the year 0 */
	second = (unsigned int)(seconds % 86400);
	centuries = (4 * day + 3) / 146097;
	day -= 146097 * centuries / 4;
	year = (4 * day + 3) / 1461;
	day -= 1461 * year / 4;
	month = (5 * day + 2) / 153;
	day -= (153 * month + 2) / 5;
	year += 100 * centuries + (month > 9);
	month += month > 9 ? -9 : 3;
	snprintf(buf, UTC_TEXT_MAX, "%04u-%02u-%02uT%02u:%02u:%02uZ", year, month, day + 1, second / 3600,
		 second / 60 % 60, second % 60);
	return buf;
}
