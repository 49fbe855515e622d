// SPDX-License-Identifier: GPL-2.0-only
/* Memory that comes when it is touched, on a file in the place of a map: what is written through it is in the file. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "filter/arrays.h"
#include "kernel/pins.h"
#include "ktap.h"

/* The call of that name fails; a map is known by its file. */
static const char *volatile fails;

static bool is_to_fail(const char *name)
{
	bool is = fails && !strcmp(fails, name);

	errno = EMFILE;
	return is;
}

static int given_info(int fd, struct pinned *is)
{
	struct stat st;

	if (is_to_fail("info") || fstat(fd, &st))
		return -EIO;
	is->id = (__u32)st.st_ino;
	return 0;
}

#define pinned_info			    given_info
#define sigaction(number, act, before)	    (is_to_fail("sigaction") ? -1 : sigaction(number, act, before))
#define fcntl(fd, what, least)		    (is_to_fail("fcntl") ? -1 : fcntl(fd, what, least))
#define mprotect(at, size, how)		    (is_to_fail("mprotect") ? -1 : mprotect(at, size, how))
#define mmap(at, size, how, flags, fd, off) (is_to_fail("mmap") ? MAP_FAILED : mmap(at, size, how, flags, fd, off))
#include "kernel/map_window.c"
#undef sigaction
#undef fcntl
#undef mprotect
#undef mmap

#define BYTES ((4u << 20) + 4096) /* the last window is a page */

static int file_of(size_t bytes)
{
	int fd = memfd_create("window", 0);

	return fd >= 0 && !ftruncate(fd, (off_t)bytes) ? fd : -1;
}

/* Bytes of the file that this process has mapped. */
static size_t mapped(const char *at)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long from, to;
	char line[512];
	size_t bytes = 0;

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx", &from, &to) == 2 && from >= (unsigned long)at &&
		    to <= (unsigned long)at + BYTES && strstr(line, "memfd:window"))
			bytes += to - from;
	if (maps)
		fclose(maps);
	return bytes;
}

static void touched(unsigned int times, size_t most)
{
	int fd = file_of(BYTES);
	unsigned char *model = calloc(1, BYTES), *mem = window_open(fd, BYTES), byte;

	if (!CHECK(model && mem != MAP_FAILED, "no memory"))
		return;
	CHECK(!mapped((char *)mem), "mapped before it is touched: %zu", mapped((char *)mem));
	for (unsigned int i = 0; i < times; i++) {
		size_t at = i ? ktap_random() % BYTES : BYTES - 1;

		CHECK(mem[at] == model[at], "byte %zu is %d, not %d", at, mem[at], model[at]);
		mem[at] = model[at] = (unsigned char)ktap_random();
		CHECK(pread(fd, &byte, 1, (off_t)at) == 1 && byte == model[at], "byte %zu of the file", at);
	}
	CHECK(mapped((char *)mem) <= most, "%zu bytes are mapped for %u touches", mapped((char *)mem), times);
	CHECK(!memcmp(mem, model, BYTES), "what is there");
	CHECK(mapped((char *)mem) == BYTES, "not all of it is mapped in the end");
	window_close(mem, BYTES);
	close(fd);
	free(model);
}

static void few(void)
{
	touched(10, 10 << 16);
}

static void many(void)
{
	touched(5000, BYTES);
}

/* Of what is no larger than two windows all is mapped at once, and what is written is in the file, too. */
static void small(void)
{
	for (size_t bytes = 2 << 16; bytes <= (2 << 16) + 4096; bytes += 4096) {
		int fd = file_of(bytes);
		char *mem = window_open(fd, bytes), byte;

		if (!CHECK(mem != MAP_FAILED, "no memory"))
			return;
		CHECK(mapped(mem) == (bytes > 2 << 16 ? 0 : bytes), "of %zu bytes %zu are mapped", bytes, mapped(mem));
		CHECK(!mem[bytes - 1], "the last byte is %d", mem[bytes - 1]);
		mem[7] = 5;
		CHECK(pread(fd, &byte, 1, 7) == 1 && byte == 5, "it is not in the file");
		window_close(mem, bytes);
		CHECK(!mapped(mem), "%zu bytes stay", mapped(mem));
		close(fd);
	}
}

/* A fault outside every window ends the process as usual. */
static void elsewhere(void)
{
	int fd = file_of(BYTES), status = 0;
	char *mem = window_open(fd, BYTES);
	pid_t pid;

	if (!CHECK(mem != MAP_FAILED, "no memory"))
		return;
	mem[0] = 1;
	window_close(mem, BYTES);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		signal(SIGALRM, SIG_DFL);
		alarm(30);
		*(volatile char *)mem = 1;
		_exit(0);
	}
	waitpid(pid, &status, 0);
	CHECK(!WIFEXITED(status) || WEXITSTATUS(status), "a fault went by"); /* a sanitizer exits with a status */
	CHECK(!WIFSIGNALED(status) || WTERMSIG(status) == SIGSEGV, "signal %d", WTERMSIG(status));
	close(fd);
}

/* One whose map cannot be had: what is written into it goes nowhere, which is to be asked about that one. */
static void failed(void)
{
	int fd = file_of(BYTES), closed = file_of(BYTES);
	char *mem = window_open(fd, BYTES), *lost = window_open(closed, BYTES);

	if (!CHECK(mem != MAP_FAILED && lost != MAP_FAILED, "no memory"))
		return;
	close(closed);
	mem[0] = 1;
	CHECK(!window_failed(mem) && !window_failed(lost), "one has failed before its time");
	errno = EXDEV;
	lost[BYTES - 1] = 1;
	CHECK(errno == EXDEV, "to touch it says %s", strerror(errno));
	CHECK(!window_failed(mem) && window_failed(lost), "whether they failed: %d and %d", window_failed(mem),
	      window_failed(lost));
	window_close(mem, BYTES);
	window_close(lost, BYTES);
	close(fd);
}

/* Up to so many windows, one is mapped at a time; then all of it is. */
static void thirty_three(void)
{
	int fd = file_of(BYTES);
	char *mem = window_open(fd, BYTES);

	if (!CHECK(mem != MAP_FAILED, "no memory"))
		return;
	for (size_t i = 1; i <= WINDOWS_MAX; i++) {
		mem[i * WINDOW_BYTES + i] = 1;
		mem[i * WINDOW_BYTES] = mem[(i + 1) * WINDOW_BYTES - 1] = 1;
		CHECK(mapped(mem) == i * WINDOW_BYTES, "%zu windows: %zu bytes", i, mapped(mem));
	}
	mem[0] = 1;
	CHECK(mapped(mem) == BYTES, "%zu bytes", mapped(mem));
	window_close(mem, BYTES);
	CHECK(!mapped(mem), "%zu bytes stay", mapped(mem));
	close(fd);
}

/* One that has no place in the table is mapped whole. */
static void too_many(void)
{
	char *mem[ARRAYS + 1];
	int fd = file_of(BYTES);

	for (size_t i = 0; i <= ARRAYS; i++) {
		mem[i] = window_open(fd, BYTES);
		if (!CHECK(mem[i] != MAP_FAILED, "no memory for number %zu", i))
			return;
		CHECK(mapped(mem[i]) == (i < ARRAYS ? 0 : BYTES), "number %zu: %zu bytes", i, mapped(mem[i]));
		mem[i][i] = (char)(i + 1);
	}
	for (size_t i = 0; i <= ARRAYS; i++)
		CHECK(mem[0][i] == (char)(i + 1), "number %zu is not in the file", i);
	for (size_t i = 0; i <= ARRAYS; i++) {
		window_close(mem[i], BYTES);
		CHECK(!mapped(mem[i]), "number %zu: %zu bytes stay", i, mapped(mem[i]));
	}
	close(fd);
}

static void *opened(int fd, size_t size)
{
	void *mem = window_open(fd, size);

	if (mem == MAP_FAILED)
		abort();
	return mem;
}

static int next_fd(void)
{
	int fd = dup(STDOUT_FILENO);

	close(fd);
	return fd;
}

/* Closed and opened again by the same map, it is where it was, with what had been touched; by another it goes. */
static void kept(void)
{
	int fd = file_of(BYTES), other = file_of(BYTES), again = dup(fd), least = next_fd();
	char *mem, *second;

	windows_keep();
	mem = opened(fd, BYTES);
	mem[3 * WINDOW_BYTES] = 7;
	close(fd);
	mem[4 * WINDOW_BYTES] = 8; /* by a descriptor of its own */
	window_close(mem, BYTES);
	CHECK(mapped(mem) == 2 * WINDOW_BYTES, "%zu bytes stay", mapped(mem));
	second = opened(again, BYTES);
	CHECK(second == mem && mapped(mem) == 2 * WINDOW_BYTES && mem[3 * WINDOW_BYTES] == 7, "it is another");
	second = opened(again, BYTES);
	CHECK(second != mem, "two have the same memory");
	window_close(second, BYTES);
	window_close(mem, BYTES);
	/* Of the same map, of another size. */
	if (ftruncate(again, BYTES - 4096))
		abort();
	second = opened(again, BYTES - 4096);
	CHECK(!mapped(mem) || second == mem, "%zu bytes of the one before stay", mapped(mem));
	second[0] = 1;
	CHECK(mapped(second) == WINDOW_BYTES, "%zu bytes", mapped(second));
	window_close(second, BYTES - 4096);
	CHECK(mapped(second) == WINDOW_BYTES, "%zu bytes stay", mapped(second));
	mem = opened(other, BYTES);
	CHECK(!mapped(second) || mem == second, "%zu bytes of another map stay", mapped(second));
	mem[0] = 1;
	window_close(mem, BYTES);
	windows_forget();
	CHECK(!mapped(mem), "%zu bytes stay", mapped(mem));
	mem = opened(other, BYTES);
	mem[0] = 1;
	windows_forget();
	CHECK(mapped(mem) == WINDOW_BYTES, "one that is open went");
	window_close(mem, BYTES);
	windows_forget();
	close(other);
	close(again);
	CHECK(next_fd() <= least, "descriptors are left open");
	keeps = false;
}

/* Those that are too large, that failed, and whose number or descriptor cannot be had. */
static void not_kept(void)
{
	static const struct {
		const char *fails;
		size_t size;
		bool stays;
	} cases[] = {
		{ NULL, KEPT_MOST, true }, { NULL, KEPT_MOST + 4096, false },
		{ "info", BYTES, false },  { "fcntl", BYTES, false },
		{ NULL, BYTES, true },
	};

	windows_keep();
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int fd = file_of(cases[i].size), least = next_fd();
		char *mem;

		fails = cases[i].fails;
		mem = opened(fd, cases[i].size);
		fails = NULL;
		mem[0] = 1;
		CHECK(mapped(mem) == WINDOW_BYTES, "%zu: %zu bytes", i, mapped(mem));
		window_close(mem, cases[i].size);
		CHECK(mapped(mem) == (cases[i].stays ? WINDOW_BYTES : 0), "%zu: %zu bytes stay", i, mapped(mem));
		windows_forget();
		CHECK(!mapped(mem) && next_fd() == least, "%zu: something is left", i);
		/* A touch that failed. */
		mem = opened(fd, cases[i].size);
		fails = "mmap";
		*(volatile char *)mem = 1;
		fails = NULL;
		CHECK(window_failed(mem), "%zu: it has not failed", i);
		window_close(mem, cases[i].size);
		CHECK(next_fd() == least, "%zu: a descriptor of one that failed is left", i);
		close(fd);
	}
	keeps = false;
}

static void refused(void)
{
	static const char *const calls[] = { "mmap", "sigaction" };
	int fd = file_of(BYTES), status = 0;
	pid_t pid;

	for (size_t i = 0; i < 2; i++) {
		void *mem;

		fails = calls[i];
		mem = window_open(fd, BYTES);
		fails = NULL;
		CHECK(mem == MAP_FAILED, "%s fails, and it is open", calls[i]);
		for (size_t w = 0; w < ARRAYS; w++)
			CHECK(!windows[w].at, "%s fails: a window is left", calls[i]);
	}
	/* Neither the map nor other memory can be had: the touch ends the process. */
	fflush(stdout);
	pid = fork();
	if (!pid) {
		char *mem = opened(fd, BYTES);

		signal(SIGALRM, SIG_DFL);
		alarm(30);
		close(fd);
		fails = "mprotect";
		*(volatile char *)mem = 1;
		_exit(0);
	}
	waitpid(pid, &status, 0);
	CHECK(!WIFEXITED(status) || WEXITSTATUS(status), "a fault went by");
	CHECK(!WIFSIGNALED(status) || WTERMSIG(status) == SIGSEGV, "signal %d", WTERMSIG(status));
	close(fd);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "a few touches", few },
		{ "many touches", many },
		{ "small ones", small },
		{ "one that cannot be mapped", failed },
		{ "a fault elsewhere", elsewhere },
		{ "window by window", thirty_three },
		{ "more than there are places for", too_many },
		{ "kept", kept },
		{ "not kept", not_kept },
		{ "what the kernel refuses", refused },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
