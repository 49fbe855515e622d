// SPDX-License-Identifier: GPL-2.0-only
/*
 * To be preloaded: the clock is as many seconds ahead as the file CLOCK_AHEAD says, and while there is a file
 * CLOCK_STOPPED no time passes for those who measure it.
 *
 * CLOCK_JUMPS, a file of eight bytes: all clocks are so many ns ahead, and where the service would wait while none of
 * its commands runs, the time is added at once, a quarter of a minute at least. So a week takes as long as what is done
 * in it.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static time_t ahead(void)
{
	const char *path = getenv("CLOCK_AHEAD");
	FILE *file = path ? fopen(path, "re") : NULL;
	long seconds = 0;

	if (file && fscanf(file, "%ld", &seconds) != 1)
		seconds = 0;
	if (file)
		fclose(file);
	return seconds;
}

/* As on a machine that is slow to wake up: else what is done once a second is most of the work. In ms. */
#define JUMP_LEAST 15000

static _Atomic int64_t *jumps;
static bool jumping;

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("CLOCK_JUMPS");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	char command[512] = "";
	FILE *file;
	size_t n;

	if (fd < 0)
		return;
	jumps = mmap(NULL, sizeof(*jumps), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (jumps == MAP_FAILED)
		jumps = NULL;
	file = fopen("/proc/self/cmdline", "re");
	n = file ? fread(command, 1, sizeof(command) - 1, file) : 0;
	if (file)
		fclose(file);
	jumping = jumps && memmem(command, n, "\0run", 5);
}

int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	static int (*real)(struct pollfd *, nfds_t, int);
	siginfo_t info;
	int ready;

	if (!real)
		real = (int (*)(struct pollfd *, nfds_t, int))dlsym(RTLD_NEXT, "poll");
	if (!jumping || timeout <= 0 || !waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT))
		return real(fds, n, timeout);
	ready = real(fds, n, 0);
	if (!ready)
		atomic_fetch_add(jumps, (timeout > JUMP_LEAST ? timeout : JUMP_LEAST) * (int64_t)1000000);
	return ready;
}

static void jump(struct timespec *now)
{
	int64_t ns = jumps ? now->tv_nsec + atomic_load(jumps) : now->tv_nsec;

	now->tv_sec += ns / 1000000000;
	now->tv_nsec = ns % 1000000000;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	static int (*real)(clockid_t clock, struct timespec * now);
	static struct timespec last;
	const char *path = getenv("CLOCK_STOPPED");
	int err;

	if (!real)
		real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	if (clock == CLOCK_MONOTONIC && path) {
		if (!last.tv_sec || access(path, F_OK))
			real(clock, &last);
		*now = last;
		return 0;
	}
	err = real(clock, now);
	if (!err && (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC || clock == CLOCK_BOOTTIME))
		jump(now);
	if (!err && clock == CLOCK_REALTIME)
		now->tv_sec += ahead();
	return err;
}

time_t time(time_t *now)
{
	struct timespec is;

	clock_gettime(CLOCK_REALTIME, &is);
	if (now)
		*now = is.tv_sec;
	return is.tv_sec;
}
