// SPDX-License-Identifier: GPL-2.0-only
#include "base/mapped.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define AREAS 16

static struct {
	char *at; /* NULL: free */
	size_t bytes;
	volatile sig_atomic_t cut;
} areas[AREAS];

/* Another read of the same place then finds a page. */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
	uintptr_t address = (uintptr_t)info->si_addr;
	int before = errno;

	(void)context;
	for (int i = 0; i < AREAS; i++) {
		if (!areas[i].at || address - (uintptr_t)areas[i].at >= areas[i].bytes)
			continue;
		if (mmap(areas[i].at, areas[i].bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
			 -1, 0) == MAP_FAILED)
			break;
		areas[i].cut = 1;
		errno = before;
		return;
	}
	signal(number, SIG_DFL);
}

void *mapped_file(int fd, size_t bytes, int protection, int flags)
{
	struct sigaction action = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };
	void *memory = mmap(NULL, bytes, protection, flags, fd, 0);
	int i = 0;

	if (memory == MAP_FAILED)
		return NULL;
	while (i < AREAS && areas[i].at)
		i++;
	if (i == AREAS) {
		munmap(memory, bytes);
		errno = ENOMEM;
		return NULL;
	}
	areas[i].bytes = bytes;
	areas[i].cut = 0;
	areas[i].at = memory;
	sigaction(SIGBUS, &action, NULL);
	return memory;
}

void mapped_end(void *memory, size_t bytes)
{
	for (int i = 0; i < AREAS; i++)
		if (areas[i].at == memory)
			areas[i].at = NULL;
	munmap(memory, bytes);
}

int mapped_own(void *memory, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), n = (bytes + page - 1) / page * page;
	void *own = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int err;

	if (own == MAP_FAILED)
		return -errno;
	/* A page that is written to would be the file's again once that was cut. */
	memcpy(own, memory, n);
	if (!mprotect(own, n, PROT_READ) && mremap(own, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, memory) == memory)
		return 0;
	err = -errno;
	munmap(own, n);
	return err;
}

bool mapped_is_cut(const void *memory)
{
	for (int i = 0; i < AREAS; i++)
		if (areas[i].at == memory)
			return areas[i].cut;
	return false;
}
