/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A stream of lines over sockets, pipes, files and commands: feeds/stream.c, which is included here, with what it calls
 * in the hands of a unit, to fail, or to happen at a given time.
 */
#ifndef MADE_STREAM_H
#define MADE_STREAM_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/close_fd.h"
#include "base/log.h"
#include "base/stop.h"
#include "ktap.h"

static int mallocs_left = -1;	 /* -1: all that are asked for */
static unsigned int interrupted; /* so often what it waits for is */

static void *given_malloc(size_t n)
{
	return mallocs_left && mallocs_left-- ? malloc(n) : NULL;
}

static int reads_fail; /* once, with that */
static bool no_sends;
static int64_t now_given;	 /* 0: the real time */
static unsigned int sends_until; /* it has no room for this one; 0: for all */

static ssize_t given_send(int fd, const void *bytes, size_t n, int flags)
{
	errno = EAGAIN;
	return no_sends || (sends_until && !--sends_until) ? -1 : send(fd, bytes, n, flags);
}

static ssize_t given_read(int fd, void *to, size_t n)
{
	errno = reads_fail;
	reads_fail = 0;
	return errno ? -1 : read(fd, to, n);
}

/* Is there a terminal? */
static bool terminal;

static int given_open(const char *path, int flags)
{
	bool is_terminal = !strcmp(path, "/dev/tty");

	errno = ENXIO;
	return is_terminal && !terminal ? -1 : open(is_terminal ? "/dev/null" : path, flags);
}

static bool no_pidfd;

static long given_syscall(long number, pid_t pid, unsigned int flags)
{
	errno = EPERM;
	return no_pidfd ? -1 : syscall(number, pid, flags);
}

static int64_t given_ms(void)
{
	return now_given ?: clock_ms();
}

static pid_t given_waitpid(pid_t pid, int *status, int flags)
{
	errno = EINTR;
	return interrupted && interrupted-- ? -1 : waitpid(pid, status, flags);
}

#define malloc	 given_malloc
#define waitpid	 given_waitpid
#define send	 given_send
#define read	 given_read
#define clock_ms given_ms
#define open	 given_open
#define syscall	 given_syscall
#include "feeds/stream.c"
#undef open
#undef syscall
#undef malloc
#undef waitpid
#undef send
#undef read
#undef clock_ms

static char directory[200], file[220];

#define NEEDED(is)               \
	do {                     \
		if (!(is))       \
			abort(); \
	} while (0)

/* --- A socket --- */

static int other;

__attribute__((unused)) static bool shared(struct stream *s, bool json)
{
	int pair[2], room = 1; /* the least that there is */

	*s = (struct stream){ .json = json };
	if (!CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), "no sockets"))
		return false;
	setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	other = pair[1];
	return CHECK(!stream_share(s, "a test", pair[0]), "no memory");
}

/* All that has been told by now. */
__attribute__((unused)) static size_t heard(char *text, size_t size)
{
	size_t n = 0;
	ssize_t got;

	while (n + 1 < size && (got = read(other, text + n, size - n - 1)) > 0)
		n += (size_t)got;
	text[n] = '\0';
	return n;
}

/* --- Files, pipes, commands --- */

__attribute__((unused)) static struct stream opened(const char *path, char *const *command, int error)
{
	struct stream s = { 0 };
	int err = stream_open(&s, path, command);

	CHECK(error ? err_is(err, error) : !err, "%s: %s", path ?: command[0], err ? reason(err) : "no error");
	return s;
}

/* The next, waited for; NULL: the end. */
static char *next_line(struct stream *s, size_t *length)
{
	char *line;

	while (!(line = stream_line(s, length)) && !s->ended) {
		stream_wait(s);
		while (stream_read(s))
			;
	}
	if (line)
		line[*length] = '\0';
	return line;
}

__attribute__((unused)) static void expect(struct stream *s, const char *wanted)
{
	size_t length;
	char *line = next_line(s, &length);

	CHECK(wanted ? line && !strcmp(line, wanted) : !line, "'%s', and not '%s'", line ?: "its end",
	      wanted ?: "its end");
}

static int closed(struct stream *s)
{
	return stream_close(s);
}

/* --- Where something fails --- */

static bool no_process;
static int drained = -1; /* read while something is waited for */
static unsigned int waits;
static int64_t waits_s;
static int waits_for; /* what it would read from, or -1 */
static void (*on_wait)(void);
static bool does_not_wait;
static char waited_for[80];
pid_t __real_fork(void);
pid_t __wrap_fork(void);
void __real_stop_poll(struct pollfd *fds, nfds_t n, const struct timespec *time);
void __wrap_stop_poll(struct pollfd *fds, nfds_t n, const struct timespec *time);

pid_t __wrap_fork(void)
{
	errno = EAGAIN;
	return no_process ? -1 : __real_fork();
}

/* As much of what was written as is there. */
static size_t drain(int fd, char *text, size_t size)
{
	size_t n = 0;
	ssize_t got;

	fcntl(fd, F_SETFL, O_NONBLOCK);
	while (n + 1 < size && (got = read(fd, text + n, size - n - 1)) > 0)
		n += (size_t)got;
	text[n] = '\0';
	return n;
}

void __wrap_stop_poll(struct pollfd *fds, nfds_t n, const struct timespec *time)
{
	static char text[1 << 17];

	waits++;
	waits_for = fds[0].fd;
	waits_s = time ? time->tv_sec : -1;
	if (on_wait)
		on_wait();
	if (does_not_wait) {
		snprintf(waited_for, sizeof(waited_for), "%d %d, %lld.%09ld s", fds[0].fd, fds[1].fd,
			 time ? (long long)time->tv_sec : -1, time ? time->tv_nsec : 0);
		return;
	}
	if (drained >= 0)
		drain(drained, text, sizeof(text));
	__real_stop_poll(fds, n, time);
}

static int was_error, said_to;

__attribute__((unused)) static void hush(void)
{
	was_error = dup(STDERR_FILENO);
	said_to = memfd_create("said", MFD_CLOEXEC);
	dup2(said_to, STDERR_FILENO);
}

/* What was said meanwhile is this, word for word. */
__attribute__((unused)) static void said_is(const char *wanted)
{
	static char text[4096];
	ssize_t got = pread(said_to, text, sizeof(text) - 1, 0);

	text[got > 0 ? got : 0] = '\0';
	dup2(was_error, STDERR_FILENO);
	close(was_error);
	close(said_to);
	CHECK(!strcmp(text, wanted), "it says '%s', and not '%s'", text, wanted);
}

__attribute__((unused)) static int next_fd(void)
{
	int fd = dup(STDIN_FILENO);

	close(fd);
	return fd;
}

__attribute__((unused)) static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* A pipe with no room, whose reader is there. */
__attribute__((unused)) static struct stream deaf(int ends[2])
{
	struct stream s = { .name = "name", .in = -1, .room = 4096, .text = malloc(4097) };
	static const char some[4096];

	NEEDED(s.text && !pipe2(ends, O_NONBLOCK | O_CLOEXEC));
	while (write(ends[1], some, sizeof(some)) > 0)
		;
	s.out = ends[1];
	return s;
}

static int stream_run(const struct ktap_case *cases, size_t n)
{
	int status;

	alarm(60); /* nothing here waits for long */
	snprintf(directory, sizeof(directory), "%s/unit_stream.XXXXXX", getenv("TMPDIR") ?: "/tmp");
	if (!mkdtemp(directory))
		return KTAP_FAIL;
	snprintf(file, sizeof(file), "%s/file", directory);
	status = ktap_run(cases, n);
	unlink(file);
	rmdir(directory);
	return status;
}

#endif
