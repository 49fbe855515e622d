// SPDX-License-Identifier: GPL-2.0-only
#include "base/line_probe.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/memory.h"

#define READS 1024
/* Of the memory that is free, the most that is taken for this. */
#define SHARE 16

/* A test sees which are read. */
#ifndef READ
#define READ(memory, at) ((memory)[at])
#endif

#define NEXT(x) ((x)*6364136223846793005ULL + 1442695040888963407ULL)

/*
 * Each read waits for the one before, as a packet does for its line. What others have taken of the caches meanwhile is
 * brought back first, as far as it has room there, and the clock stands still while they have the CPU.
 */
static double round_ns(const volatile unsigned char *memory, uint64_t bytes, uint64_t x)
{
	unsigned int seen = 0;
	int64_t began;

	for (uint64_t at = 0; at < bytes; at += 64)
		seen |= READ(memory, at);
	began = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	for (int i = 0; i < READS; i++) {
		x = NEXT(x + seen);
		seen = READ(memory, ((x >> 32) * (bytes >> 6) >> 32) << 6);
	}
	return (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - began) / READS;
}

unsigned int line_probe(line_rounds ns[LINE_SIZES])
{
	const size_t most = LINE_SIZE(LINE_SIZES - 1);
	int64_t began = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t available = memory_available(), x = 1;
	unsigned char *memory = mmap(NULL, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t there = 0;
	unsigned int n = 0;

	if (memory == MAP_FAILED)
		return 0;
	madvise(memory, most, MADV_NOHUGEPAGE);
	for (; n < LINE_SIZES && clock_ns(CLOCK_THREAD_CPUTIME_ID) - began < LINE_BUDGET; n++) {
		if (LINE_SIZE(n) > available / SHARE)
			break;
		for (; there < LINE_SIZE(n); there += 4096)
			memory[there] = 0;
		for (int round = 0; round < LINE_ROUNDS; round++)
			ns[n][round] = round_ns(memory, LINE_SIZE(n), x++);
	}
	munmap(memory, most);
	return n;
}

/* What /proc/cpuinfo says of the first CPU and stays the same: of x86, and of arm64. */
static bool tells(const char *line)
{
	static const char *const keys[] = { "vendor_id", "model",	    "cpu family", "stepping", "cache size",
					    "isa",	 "CPU implementer", "CPU part",	  "cpu\t" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (!strncmp(line, keys[i], strlen(keys[i])))
			return true;
	return false;
}

/* FNV-1a. */
uint64_t line_machine(void)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	uint64_t hash = 0xcbf29ce484222325;
	bool any = false;
	char line[256];

	while (file && fgets(line, sizeof(line), file) && line[0] != '\n')
		for (const char *at = tells(line) ? line : ""; *at; at++, any = true)
			hash = (hash ^ (unsigned char)*at) * 0x100000001b3;
	if (file)
		fclose(file);
	return any ? hash >> 11 : 0;
}
