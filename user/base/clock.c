// SPDX-License-Identifier: GPL-2.0-only
#include "base/clock.h"

#include <stdio.h>
#include <string.h>

int64_t clock_boot(void)
{
	FILE *file = fopen("/proc/self/timens_offsets", "re");
	long long seconds = 0, ns = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file) && sscanf(line, "boottime %lld %lld", &seconds, &ns) != 2)
		seconds = ns = 0;
	if (file)
		fclose(file);
	return clock_ns(CLOCK_BOOTTIME) - (int64_t)seconds * 1000000000 - ns;
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
