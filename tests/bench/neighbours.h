/* SPDX-License-Identifier: GPL-2.0-only */
/* What shares the caches with a filter: a process on another CPU that walks through memory, and this one between
 * probes. */
#ifndef NEIGHBOURS_H
#define NEIGHBOURS_H

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define NEIGHBOURS_BYTES (64 << 20)

static struct {
	volatile unsigned char *memory;
	pid_t other;
	cpu_set_t before; /* where this process may run */
} neighbours = { .other = -1 };

/* Each line is written, so that it is taken from whoever has it. */
static inline void neighbours_walk(void)
{
	for (size_t at = 0; at < NEIGHBOURS_BYTES; at += 64)
		neighbours.memory[at]++;
}

/* The n-th of those where it may run, alone; false: there are fewer. */
static inline bool neighbours_pin(int n)
{
	cpu_set_t one;

	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &neighbours.before) && !n--) {
			CPU_ZERO(&one);
			CPU_SET(cpu, &one);
			return !sched_setaffinity(0, sizeof(one), &one);
		}
	return false;
}

/* With one CPU there is none beside it, and what lies between probes remains. */
static inline int neighbours_begin(void)
{
	if (sched_getaffinity(0, sizeof(neighbours.before), &neighbours.before))
		return -errno;
	neighbours.memory = mmap(NULL, NEIGHBOURS_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (neighbours.memory == MAP_FAILED)
		return -errno;
	neighbours.other = fork();
	if (!neighbours.other) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (neighbours_pin(1))
			neighbours_walk();
		_exit(0);
	}
	return neighbours.other < 0 || !neighbours_pin(0) ? -errno : 0;
}

static inline void neighbours_end(void)
{
	if (neighbours.other > 0) {
		kill(neighbours.other, SIGKILL);
		waitpid(neighbours.other, NULL, 0);
	}
	neighbours.other = -1;
	sched_setaffinity(0, sizeof(neighbours.before), &neighbours.before);
	munmap((void *)(uintptr_t)neighbours.memory, NEIGHBOURS_BYTES);
}

#endif
