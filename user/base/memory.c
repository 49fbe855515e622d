// SPDX-License-Identifier: GPL-2.0-only
#include "base/memory.h"

#include <stdio.h>

uint64_t memory_available(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	unsigned long long kib = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file) && sscanf(line, "MemAvailable: %llu", &kib) != 1)
		;
	if (file)
		fclose(file);
	return (uint64_t)kib << 10;
}

uint64_t memory_half(uint64_t most)
{
	uint64_t half = memory_available() / 2;

	return half && half < most ? half : most;
}
