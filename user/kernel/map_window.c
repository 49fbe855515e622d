// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/map_window.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>

#include "filter/arrays.h"

/* A fault costs as much as some ten pages more. */
#define WINDOW_BYTES (64u << 10)
/* After so many, the whole map is mapped. */
#define WINDOWS_MAX 32

static struct window {
	char *at; /* NULL: none */
	size_t size;
	int fd;
	unsigned int opened;
	volatile sig_atomic_t failed;
} windows[ARRAYS];

static int bring_in(struct window *w, size_t offset)
{
	size_t size = w->size - offset;

	if (++w->opened > WINDOWS_MAX) {
		offset = 0;
		size = w->size;
	} else if (size > WINDOW_BYTES) {
		size = WINDOW_BYTES;
	}
	return mmap(w->at + offset, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, w->fd, (off_t)offset) ==
			       MAP_FAILED
		       ? -errno
		       : 0;
}

static void on_fault(int signo, siginfo_t *info, void *context)
{
	const char *at = info->si_addr;
	int err = errno;

	(void)context;
	for (size_t i = 0; i < ARRAYS; i++) {
		struct window *w = &windows[i];

		if (!w->at || at < w->at || at >= w->at + w->size)
			continue;
		if (bring_in(w, (size_t)(at - w->at) / WINDOW_BYTES * WINDOW_BYTES)) {
			w->failed = 1;
			if (mprotect(w->at, w->size, PROT_READ | PROT_WRITE))
				break;
		}
		errno = err;
		return;
	}
	/* Not in a window: it happens again, and ends the process. */
	signal(signo, SIG_DFL);
}

void *window_open(int fd, size_t size)
{
	struct sigaction act = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct window *w = windows;
	void *at;

	while (w < windows + ARRAYS && w->at)
		w++;
	if (w == windows + ARRAYS || size <= 2 * WINDOW_BYTES)
		return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	at = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at != MAP_FAILED && sigaction(SIGSEGV, &act, NULL)) {
		munmap(at, size);
		at = MAP_FAILED;
	}
	if (at != MAP_FAILED)
		*w = (struct window){ .at = at, .size = size, .fd = fd };
	return at;
}

bool window_failed(int fd)
{
	for (size_t i = 0; i < ARRAYS; i++)
		if (windows[i].at && windows[i].fd == fd)
			return windows[i].failed;
	return false;
}

void window_close(const void *at)
{
	for (size_t i = 0; i < ARRAYS; i++)
		if (windows[i].at == at)
			windows[i] = (struct window){ 0 };
}
