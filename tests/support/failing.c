// SPDX-License-Identifier: GPL-2.0-only
/*
 * To be preloaded: one allocation of a command fails. FAIL_ALLOCATION=N says which, counted from the start of the
 * process; FAIL_SEEN=FILE has all succeed, and writes there the numbers of those that came by a new way: another place
 * in the program, or in the library that it called there. A child counts on from where it was forked, and its ways are
 * in the file, too: it is mapped, since a child may have no files.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FRAMES	  48
#define WAYS_BITS 14
#define SEEN_MAX  ((size_t)1 << 20)

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);

static unsigned long number, failing;
static char *seen; /* [0, *seen_end) of the file is written */
static atomic_size_t *seen_end;
static uintptr_t program_from, program_to;
static uint64_t ways[1 << WAYS_BITS];
static __thread bool inside;

/* The program is the first object. */
static int find_program(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		if (part->p_type != PT_LOAD)
			continue;
		if (!program_from)
			program_from = info->dlpi_addr + part->p_vaddr;
		program_to = info->dlpi_addr + part->p_vaddr + part->p_memsz;
	}
	return 1;
}

static void open_seen(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, SEEN_MAX))
		abort();
	seen = mmap(NULL, SEEN_MAX, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	seen_end = mmap(NULL, sizeof(*seen_end), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (seen == MAP_FAILED || seen_end == MAP_FAILED)
		abort();
	close(fd);
}

__attribute__((constructor)) static void begin(void)
{
	const char *n = getenv("FAIL_ALLOCATION"), *path = getenv("FAIL_SEEN");
	void *first[2];

	backtrace(first, 2); /* loads what it needs, and allocates for that */
	dl_iterate_phdr(find_program, NULL);
	if (path)
		open_seen(path);
	failing = n ? strtoul(n, NULL, 10) : 0;
	number = 0;
}

/* From where it was called, as far as the program's innermost three functions. */
static uint64_t way_here(void)
{
	uint64_t way = 14695981039346656037ULL;
	void *frames[FRAMES];
	int n = backtrace(frames, FRAMES), own = 0;

	/* Where a library calls itself to and fro does not matter. */
	for (int i = 3; i < n && own < 3; i++) {
		uintptr_t at = (uintptr_t)frames[i];
		bool is_own = at >= program_from && at < program_to;

		own += is_own;
		if (is_own || i == 3)
			way = (way ^ at) * 1099511628211ULL;
	}
	return way | 1;
}

static bool is_new(uint64_t way)
{
	size_t at = way >> (64 - WAYS_BITS);

	while (ways[at] && ways[at] != way)
		at = (at + 1) % (1 << WAYS_BITS);
	if (ways[at])
		return false;
	ways[at] = way;
	return true;
}

static void write_number(unsigned long n)
{
	char text[24];
	size_t at = sizeof(text), to;

	text[--at] = '\n';
	do
		text[--at] = (char)('0' + n % 10);
	while (n /= 10);
	to = atomic_fetch_add(seen_end, sizeof(text) - at);
	if (to + sizeof(text) - at > SEEN_MAX)
		abort();
	memcpy(seen + to, text + at, sizeof(text) - at);
}

/* Other threads' are left alone: they come when they come. */
static bool fails(void)
{
	unsigned long mine;

	if (inside || gettid() != getpid())
		return false;
	mine = ++number;
	if (seen) {
		inside = true;
		if (is_new(way_here()))
			write_number(mine);
		inside = false;
	}
	if (mine == failing)
		errno = ENOMEM;
	return mine == failing;
}

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
	return fails() ? NULL : __libc_realloc(old, size);
}
