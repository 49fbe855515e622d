// SPDX-License-Identifier: GPL-2.0-only
#include "feeds/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clean_text.h"
#include "base/clock.h"
#include "base/close_fd.h"
#include "base/log.h"
#include "base/stop.h"

#define ROOM	    ((size_t)4 << 20)
#define SHARED_ROOM ((size_t)256 << 10)
#define ANSWER_ROOM ((size_t)8 << 10)
#define ANSWER_MOST 512 /* of one line */
#define PIPE_ROOM   (1 << 20)
#define PATIENCE_MS 10000 /* with whoever reads what is acknowledged */
#define SAID_MOST   20	  /* bad lines a second */
#define QUOTED_MOST 60

static int open_path(struct stream *s, const char *path)
{
	struct stat st;

	/* Whoever writes into a named pipe may come later. */
	s->in = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (s->in < 0 || fstat(s->in, &st))
		return because(-errno, "%s: %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return because(-EISDIR, "%s: %s", path, strerror(EISDIR));
	if (S_ISFIFO(st.st_mode))
		s->path = path;
	return 0;
}

/* There a command may ask for a password, and is ended by the keys that end this process. */
static bool on_terminal(void)
{
	int fd = open("/dev/tty", O_RDONLY | O_CLOEXEC);

	close_fd(fd);
	return fd >= 0;
}

__attribute__((noreturn)) static void become(const struct stream *s, char *const *command, int in, int out)
{
	sigset_t none;

	if (s->apart)
		setpgid(0, 0);
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0)
		execvp(command[0], command);
	_exit(errno == ENOENT ? 127 : 126);
}

static int start(struct stream *s, char *const *command)
{
	int lines[2] = { -1, -1 }, acknowledged[2] = { -1, -1 };

	s->apart = !on_terminal();
	if (pipe2(lines, O_CLOEXEC) || pipe2(acknowledged, O_CLOEXEC) || (s->child = fork()) < 0) {
		int err = because(-errno, "%s: %s", command[0], strerror(errno));

		close_fd(lines[0]);
		close_fd(lines[1]);
		close_fd(acknowledged[0]);
		close_fd(acknowledged[1]);
		s->child = 0;
		return err;
	}
	if (!s->child)
		become(s, command, acknowledged[0], lines[1]);
	if (s->apart)
		setpgid(s->child, 0); /* the child does it, too: one of them is first */
	close(lines[1]);
	close(acknowledged[0]);
	s->in = lines[0];
	s->out = acknowledged[1];
	return 0;
}

/* As execvp(3) looks for it. */
static bool is_program(const char *name)
{
	char path[PATH_MAX];
	const char *at = getenv("PATH") ?: "/usr/bin:/bin";
	size_t n;

	if (strchr(name, '/'))
		return !access(name, X_OK);
	for (;; at += n + 1) {
		n = strcspn(at, ":");
		if (snprintf(path, sizeof(path), "%.*s/%s", n ? (int)n : 1, n ? at : ".", name) < (int)sizeof(path) &&
		    !access(path, X_OK))
			return true;
		if (!at[n])
			return false;
	}
}

int stream_may_open(const char *path, char *const *command)
{
	struct stat st;

	if (command)
		return is_program(command[0]) ? 0 : because(-ENOENT, "%s: there is no such program", command[0]);
	/* Not opened: whoever writes into a named pipe would take that for its reader. */
	if (access(path, R_OK) || stat(path, &st))
		return because(-errno, "%s: %s", path, strerror(errno));
	return S_ISDIR(st.st_mode) ? because(-EISDIR, "%s: %s", path, strerror(EISDIR)) : 0;
}

int stream_open(struct stream *s, const char *path, char *const *command)
{
	int err = 0;

	signal(SIGPIPE, SIG_IGN);
	s->out = STDOUT_FILENO;
	s->in = -1;
	s->room = ROOM;
	s->text = malloc(s->room);
	if (!s->text)
		return -ENOMEM;
	s->name = command ? command[0] : path;
	if (command) {
		err = start(s, command);
	} else if (!strcmp(path, "-")) {
		s->name = "standard input";
		s->in = STDIN_FILENO;
	} else {
		err = open_path(s, path);
	}
	/* While a batch is put into force, the writer goes on. Where there is no more room, with what there is. */
	fcntl(s->in, F_SETPIPE_SZ, PIPE_ROOM);
	return err;
}

int stream_share(struct stream *s, const char *name, int fd)
{
	*s = (struct stream){ .name = name, .in = fd, .out = fd, .shared = true, .json = s->json, .room = SHARED_ROOM };
	s->text = malloc(s->room);
	s->answer = malloc(ANSWER_ROOM);
	return s->text && s->answer ? 0 : -ENOMEM;
}

void stream_end(struct stream *s)
{
	close_fd(s->in);
	free(s->text);
	free(s->answer);
}

/* --- What is acknowledged --- */

static bool is_due(const struct stream *s)
{
	return s->out >= 0 && (s->due > s->told || s->answer_n || s->unsaid);
}

static size_t json_line(char *line, json_t *document)
{
	size_t n = document ? json_dumpb(document, line, ANSWER_MOST, JSON_COMPACT) : 0;

	json_decref(document);
	if (!n || n >= ANSWER_MOST)
		return 0;
	line[n] = '\n';
	return n + 1;
}

/* How many refused lines had no room in the answer. */
static void queue_unsaid(struct stream *s)
{
	if (!s->unsaid)
		return;
	if (s->json)
		s->answer_n += json_line(s->answer + s->answer_n, json_pack("{s:I}", "unsaid", (json_int_t)s->unsaid));
	else
		s->answer_n += (size_t)snprintf(s->answer + s->answer_n, ANSWER_MOST, "no more %llu\n", s->unsaid);
	s->unsaid = 0;
}

/* What was refused, before what is acknowledged behind it. False: there is no room for all of it. */
static bool tell_answer(struct stream *s)
{
	ssize_t n = s->answer_n ? send(s->out, s->answer, s->answer_n, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;

	if (n < 0 && errno != EAGAIN && errno != EINTR)
		s->out = -1;
	if (n > 0) {
		s->answer_n -= (size_t)n;
		memmove(s->answer, s->answer + n, s->answer_n);
	}
	return !s->answer_n && s->out >= 0;
}

/* A part of one is not written: it would stand before the next. */
static void tell_shared(struct stream *s, const char *line, int n)
{
	memcpy(s->answer, line, (size_t)n);
	s->answer_n = (size_t)n;
	s->told = s->due;
	tell_answer(s);
}

/* Where a pipe has any room, it has room for a line. */
static void tell(struct stream *s)
{
	struct pollfd ready = { .fd = s->out, .events = POLLOUT };
	char line[64];
	int n;

	if (!is_due(s) || !tell_answer(s))
		return;
	queue_unsaid(s);
	if (!tell_answer(s) || s->due <= s->told)
		return;
	if (poll(&ready, 1, 0) < 1) {
		if (!s->stalled)
			s->stalled = clock_ms();
		return;
	}
	n = snprintf(line, sizeof(line), s->json ? "{\"ok\":%llu}\n" : "ok %llu\n", s->due);
	if (s->shared) {
		tell_shared(s, line, n);
		return;
	}
	if (write(s->out, line, (size_t)n) == n) {
		s->told = s->due;
		s->stalled = 0;
		s->stall_said = false;
		return;
	}
	/* A command need not read what is acknowledged. */
	if (!s->child)
		warn("%s: what is in force cannot be acknowledged any more: %s; lines are taken as before", s->name,
		     strerror(errno));
	if (s->child)
		close(s->out);
	s->out = -1;
}

static void say_stall(struct stream *s)
{
	if (!is_due(s) || !s->stalled || s->stall_said || clock_ms() - s->stalled < PATIENCE_MS)
		return;
	s->stall_said = true;
	warn("%s: nobody has read for %d s what is acknowledged, up to line %llu; lines are taken as before", s->name,
	     PATIENCE_MS / 1000, s->due);
}

bool stream_tell(struct stream *s)
{
	tell(s);
	return is_due(s);
}

void stream_acknowledge(struct stream *s, unsigned long long number)
{
	s->due = number;
	tell(s);
}

/* --- What comes --- */

/* Waits for what stream_wait() says; milliseconds: -1: for ever. */
static void wait_for(const struct stream *s, bool read, int milliseconds)
{
	struct pollfd fds[] = { { .fd = read ? s->in : -1, .events = POLLIN },
				{ .fd = is_due(s) ? s->out : -1, .events = POLLOUT } };
	struct timespec time = { milliseconds > 0 ? milliseconds / 1000 : 0,
				 milliseconds > 0 ? milliseconds % 1000 * 1000000L : 0 };

	stop_poll(fds, 2, milliseconds < 0 ? NULL : &time);
}

static bool can_read(const struct stream *s)
{
	struct pollfd ready = { .fd = s->in, .events = POLLIN };

	return !s->ended && poll(&ready, 1, 0) > 0;
}

static void say_more(struct stream *s)
{
	if (s->bad.more)
		warn("%s: and %llu more lines up to line %llu were not taken", s->name, s->bad.more, s->bad.last);
	s->bad.more = s->bad.said = 0;
}

bool stream_has_line(const struct stream *s)
{
	return memchr(s->text + s->start, '\n', s->end - s->start);
}

bool stream_is_full(const struct stream *s)
{
	return s->end == s->room;
}

/* Milliseconds until there is something to say; -1: there will be nothing. */
static int until_word(const struct stream *s)
{
	int64_t stall = s->stalled && !s->stall_said ? s->stalled + PATIENCE_MS : INT64_MAX;
	int64_t more = s->bad.more ? s->bad.since + 1000 : INT64_MAX;
	int64_t next = stall < more ? stall : more, now = clock_ms();

	return next == INT64_MAX ? -1 : next > now ? (int)(next - now) : 0;
}

void stream_wait(struct stream *s)
{
	while (!stop_asked && !stream_has_line(s) && !can_read(s)) {
		wait_for(s, true, until_word(s));
		if (s->bad.more && clock_ms() - s->bad.since >= 1000)
			say_more(s);
		tell(s);
		say_stall(s);
	}
}

/* Another writer may come; what the one before left without an end is not the next one's beginning. */
static void end_of_writer(struct stream *s)
{
	int next = s->path ? open(s->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;

	if (s->end > s->start || s->skips) {
		s->number++;
		if (!s->skips)
			stream_refuse(s, s->number, NULL, "it has no end, and was not taken");
		s->start = s->end;
		s->skips = false;
	}
	s->ended = next < 0;
	/* In this order the pipe keeps a reader. */
	if (next >= 0) {
		close(s->in);
		s->in = next;
	}
}

bool stream_read(struct stream *s)
{
	ssize_t got;

	if (stream_is_full(s) || !can_read(s))
		return false;
	got = read(s->in, s->text + s->end, s->room - s->end);
	if (got > 0) {
		s->end += (size_t)got;
		return true;
	}
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (got < 0) {
		if (!s->shared)
			warn("%s: %s", s->name, strerror(errno));
		s->path = NULL;
	}
	if (stream_has_line(s))
		return false; /* first what it has written whole */
	end_of_writer(s);
	return false;
}

char *stream_line(struct stream *s, size_t *length)
{
	char *line = s->text + s->start, *end = memchr(line, '\n', s->end - s->start);

	*length = end ? (size_t)(end - line) : s->end - s->start;
	if (s->skips || (!end && *length > STREAM_LINE_MOST)) {
		if (!s->skips)
			stream_refuse(s, s->number + 1, line, "it is too long");
		s->skips = !end;
		s->start += *length + (end != NULL);
		if (!end)
			return NULL;
		s->number++;
		return stream_line(s, length);
	}
	if (!end)
		return NULL;
	s->start += *length + 1;
	s->number++;
	return line;
}

void stream_forget(struct stream *s)
{
	memmove(s->text, s->text + s->start, s->end - s->start);
	s->end -= s->start;
	s->start = 0;
}

static void queue_answer(struct stream *s, unsigned long long number, const char *why)
{
	char *line = s->answer + s->answer_n, text[ANSWER_MOST / 4];

	clean_copy(text, sizeof(text), why);
	if (s->json)
		s->answer_n += json_line(line, json_pack("{s:I, s:s}", "refused", (json_int_t)number, "why", text));
	else
		s->answer_n += (size_t)snprintf(line, ANSWER_MOST, "no %llu %s\n", number, text);
}

/* Who does not read is told later how many more there were. */
static void answer_refused(struct stream *s, unsigned long long number, const char *why)
{
	tell_answer(s);
	if (s->out < 0)
		return;
	if (s->answer_n + 2 * ANSWER_MOST > ANSWER_ROOM) {
		s->unsaid++;
		return;
	}
	queue_unsaid(s);
	queue_answer(s, number, why);
}

void stream_refuse(struct stream *s, unsigned long long number, const char *line, const char *why)
{
	int64_t now = clock_ms();

	s->bad_n++;
	if (s->shared) {
		answer_refused(s, number, why);
		return;
	}
	if (now - s->bad.since >= 1000) {
		say_more(s);
		s->bad.since = now;
	}
	if (s->bad.said++ >= SAID_MOST) {
		s->bad.more++;
		s->bad.last = number;
	} else if (line) {
		warn("%s:%llu: '%.*s': %s", s->name, number, QUOTED_MOST, line, why);
	} else {
		warn("%s:%llu: %s", s->name, number, why);
	}
}

/* Whoever ends before it does ends it, whatever it is at. Its status. */
static int end_of_command(const struct stream *s)
{
	struct pollfd ended = { .fd = (int)syscall(SYS_pidfd_open, s->child, 0), .events = POLLIN };
	int status = 0;

	while (ended.fd >= 0 && s->ended && !stop_asked && poll(&ended, 1, 0) < 1)
		stop_poll(&ended, 1, NULL);
	close_fd(ended.fd);
	if (stop_asked || !s->ended)
		return child_end(s->child, s->apart);
	while (waitpid(s->child, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

int stream_close(struct stream *s)
{
	int64_t end = clock_ms() + PATIENCE_MS;
	int status = 0;

	say_more(s);
	tell(s);
	while (is_due(s) && !stop_asked && clock_ms() < end) {
		wait_for(s, false, (int)(end - clock_ms()));
		tell(s);
	}
	if (is_due(s))
		warn("%s: all lines up to %llu are in force, and nobody reads that", s->name, s->due);
	if (s->child) {
		close_fd(s->in);
		close_fd(s->out);
		status = end_of_command(s);
	} else if (s->in != STDIN_FILENO) {
		close_fd(s->in);
	}
	free(s->text);
	return stop_asked ? 0 : status;
}
