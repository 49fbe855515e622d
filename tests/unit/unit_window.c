// SPDX-License-Identifier: GPL-2.0-only
/* Memory that comes when it is touched, on a file in the place of a map: what is written through it is in the file. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ktap.h"
#include "kernel/map_window.h"

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

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "a few touches", few },
		{ "many touches", many },
		{ "small ones", small },
		{ "one that cannot be mapped", failed },
		{ "a fault elsewhere", elsewhere },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
