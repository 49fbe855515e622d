// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/map_window.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "filter/arrays.h"
#include "kernel/pins.h"

/* A fault costs as much as some ten pages more. */
#define WINDOW_BYTES (64u << 10)
/* After so many, the whole map is mapped. */
#define WINDOWS_MAX 32
/* A map that is mapped stays in memory, also when a new generation is in force: no larger one is kept. */
#define KEPT_MOST (64u << 20)

static struct window {
	char *at; /* NULL: none */
	size_t size;
	int fd;
	unsigned int opened;
	volatile sig_atomic_t failed;
	__u32 map; /* its number; 0: it is not to be kept, and the descriptor is the caller's */
	bool kept; /* nobody has it open */
} windows[ARRAYS];

static bool keeps;

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

static void forget(struct window *w)
{
	munmap(w->at, w->size);
	close(w->fd);
	*w = (struct window){ 0 };
}

void windows_forget(void)
{
	for (size_t i = 0; i < ARRAYS; i++)
		if (windows[i].kept)
			forget(&windows[i]);
}

void windows_keep(void)
{
	keeps = true;
}

/* The memory of that map, if it is kept. Of another generation none is of use any more. */
static void *take_kept(__u32 map, size_t size)
{
	for (size_t i = 0; i < ARRAYS; i++)
		if (windows[i].kept && windows[i].map == map && windows[i].size == size) {
			windows[i].kept = false;
			return windows[i].at;
		}
	windows_forget();
	return NULL;
}

void *window_open(int fd, size_t size)
{
	struct sigaction act = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct pinned is = { 0 };
	struct window *w = windows;
	void *at;

	if (size <= 2 * WINDOW_BYTES)
		return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (keeps && !pinned_info(fd, &is) && (at = take_kept(is.id, size)))
		return at;
	if (size > KEPT_MOST)
		is.id = 0;
	while (w < windows + ARRAYS && w->at)
		w++;
	if (w == windows + ARRAYS)
		return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	at = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at != MAP_FAILED && sigaction(SIGSEGV, &act, NULL)) {
		munmap(at, size);
		at = MAP_FAILED;
	}
	if (at == MAP_FAILED)
		return at;
	*w = (struct window){ .at = at, .size = size, .fd = is.id ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : fd, .map = is.id };
	if (w->fd < 0)
		*w = (struct window){ .at = at, .size = size, .fd = fd };
	return at;
}

static struct window *window_of(const void *at)
{
	for (size_t i = 0; i < ARRAYS; i++)
		if (at && windows[i].at == at)
			return &windows[i];
	return NULL;
}

bool window_failed(const void *at)
{
	const struct window *w = window_of(at);

	return w && w->failed;
}

void window_close(void *at, size_t size)
{
	struct window *w = window_of(at);

	if (w && w->map) {
		w->kept = !w->failed;
		if (w->failed)
			forget(w);
		return;
	}
	if (w)
		*w = (struct window){ 0 };
	munmap(at, size);
}
