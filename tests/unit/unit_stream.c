// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lines as they come, against a naive cut of the same text, and what their writer is told: nothing that is refused is
 * said behind what is acknowledged after it, and nothing is forgotten where nobody reads. Over sockets, pipes, files
 * and commands.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
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

static bool shared(struct stream *s, bool json)
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
static size_t heard(char *text, size_t size)
{
	size_t n = 0;
	ssize_t got;

	while (n + 1 < size && (got = read(other, text + n, size - n - 1)) > 0)
		n += (size_t)got;
	text[n] = '\0';
	return n;
}

static void lines(void)
{
	static char text[1 << 18];
	static size_t begins[4000], ends[4000];
	size_t n = 0, at = 0, next = 0, refused = 0, lost = 0;
	struct stream s;

	for (size_t end = 0; n < 4000 && end < sizeof(text) - 10000; n++) {
		unsigned int kind = (unsigned int)(ktap_random() % 200);
		size_t length = !kind	     ? 4096 + ktap_random() % 4096
				: kind == 1  ? 4094 + ktap_random() % 5
				: kind < 100 ? ktap_random() % 20
					     : ktap_random() % 200;

		begins[n] = end;
		memset(text + end, 'a' + (int)(n % 26), length);
		end += length;
		ends[n] = end;
		text[end++] = '\n';
	}
	if (!shared(&s, false))
		return;
	while (at < ends[n - 1] + 1 && !ktap_failed) {
		size_t most = ends[n - 1] + 1 - at, some = 1 + ktap_random() % (ktap_random() % 4 ? 300 : 6000), length;
		char *line;
		ssize_t put = write(other, text + at, some < most ? some : most);

		at += put > 0 ? (size_t)put : 0;
		while (stream_read(&s))
			;
		while ((line = stream_line(&s, &length))) {
			/* Those between were too long. */
			for (; next + 1 < s.number; next++, refused++)
				if (ends[next] - begins[next] <= STREAM_LINE_MOST)
					lost++;
			CHECK(s.number == next + 1 && next < n && length == ends[next] - begins[next] &&
				      !memcmp(line, text + begins[next], length) && line[length] == '\n',
			      "line %llu of %zu bytes", s.number, length);
			next++;
		}
		CHECK(!stream_has_line(&s) && !stream_is_full(&s), "a line is left");
		stream_forget(&s);
		CHECK(!s.start && s.end <= STREAM_LINE_MOST + 1, "%zu bytes are kept", s.end);
		heard((char[9000]){ 0 }, 9000);
	}
	for (; next < n; next++, refused++)
		lost += ends[next] - begins[next] <= STREAM_LINE_MOST;
	CHECK(!lost && s.bad_n == refused, "%zu lost; %zu refused, and it says %llu", lost, refused, s.bad_n);
	CHECK(!s.ended, "it has ended");
	close(other);
	CHECK(!stream_read(&s) && s.ended, "its end is none");
	stream_end(&s);
}

/* One that is exactly too long. */
static void longest(void)
{
	static char line[STREAM_LINE_MOST + 1], text[200];
	struct stream s;
	size_t length;

	memset(line, 'x', sizeof(line));
	if (!shared(&s, false))
		return;
	CHECK(write(other, line, STREAM_LINE_MOST) == STREAM_LINE_MOST && stream_read(&s), "no bytes");
	CHECK(!stream_line(&s, &length) && !s.bad_n && !s.number, "the longest line is refused");
	CHECK(write(other, "\n", 1) == 1 && stream_read(&s), "no bytes");
	CHECK(stream_line(&s, &length) && length == STREAM_LINE_MOST && s.number == 1, "%zu bytes", length);
	stream_forget(&s);
	CHECK(write(other, line, sizeof(line)) == sizeof(line) && stream_read(&s), "no bytes");
	CHECK(!stream_line(&s, &length) && s.bad_n == 1 && s.number == 1 && s.skips, "a longer one is not");
	CHECK(write(other, "more\nnext\n", 10) == 10 && stream_read(&s), "no bytes");
	CHECK(stream_line(&s, &length) && length == 4 && s.number == 3 && s.bad_n == 1, "line %llu", s.number);
	stream_tell(&s);
	heard(text, sizeof(text));
	CHECK(!strcmp(text, "no 2 it is too long\n"), "'%s'", text);
	/* What has no end when its writer goes. */
	CHECK(write(other, "half", 4) == 4 && stream_read(&s) && !stream_line(&s, &length), "no bytes");
	shutdown(other, SHUT_WR);
	CHECK(!stream_read(&s) && s.ended && s.number == 4, "line %llu", s.number);
	stream_tell(&s);
	heard(text, sizeof(text));
	CHECK(!strcmp(text, "no 4 it has no end, and was not taken\n"), "'%s'", text);
	close(other);
	stream_end(&s);
}

/* How much one of the answers says of; *ok: what it acknowledges. */
static unsigned long long answer(const char *line, bool json, unsigned long long *ok, unsigned long long *no)
{
	unsigned long long more = 0;

	*ok = *no = 0;
	if (sscanf(line, json ? "{\"ok\":%llu}" : "ok %llu", ok) == 1)
		return 0;
	if (sscanf(line, json ? "{\"unsaid\":%llu}" : "no more %llu", &more) == 1)
		return more;
	CHECK(sscanf(line, json ? "{\"refused\":%llu,\"why\":\"it? is" : "no %llu it? is", no) == 1, "'%s'",
	      line ?: "its end");
	return 1;
}

/* Refused and acknowledged in their order, with a reader that now and then reads nothing for long. */
static void answers(void)
{
	static char text[1 << 20], more[20000];

	for (int json = 0; json < 2 && !ktap_failed; json++) {
		unsigned long long number = 0, refused = 0, said = 0, ok, no, last_ok = 0, last_no = 0,
				   acknowledged = 0;
		struct stream s;
		bool reads = false, unsaid = false;

		text[0] = '\0';
		if (!shared(&s, json))
			return;
		for (int step = 0; step < 4000; step++) {
			if (step > 2000 && ktap_random() % 100 == 0)
				reads = !reads;
			number++;
			if (ktap_random() % 3) {
				stream_refuse(&s, number, NULL, "it\x1b is wrong");
				refused++;
			} else {
				stream_acknowledge(&s, number);
				acknowledged = number;
			}
			unsaid = unsaid || s.unsaid;
			CHECK(s.answer_n <= 8 << 10, "%zu bytes of answers", s.answer_n);
			if (reads && heard(more, sizeof(more)))
				strcat(text, more);
		}
		while (stream_tell(&s) && !ktap_failed)
			if (heard(more, sizeof(more)))
				strcat(text, more);
		heard(more, sizeof(more));
		strcat(text, more);
		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
			said += answer(line, json, &ok, &no);
			CHECK((!no || (no > last_no && no > last_ok)) && (!ok || ok > last_ok),
			      "'%s' behind no %llu, ok %llu", line, last_no, last_ok);
			last_ok = ok ?: last_ok;
			last_no = no ?: last_no;
		}
		CHECK(said == refused && last_ok == acknowledged && s.bad_n == refused && unsaid,
		      "%llu of %llu refused; %llu of %llu acknowledged", said, refused, last_ok, acknowledged);
		close(other);
		stream_refuse(&s, 1, NULL, "it is wrong");
		stream_acknowledge(&s, number + 1);
		CHECK(!stream_tell(&s) && s.out == -1, "nobody is there, and something is due");
		stream_end(&s);
	}
}

/* --- Files, pipes, commands --- */

static struct stream opened(const char *path, char *const *command, int error)
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

static void expect(struct stream *s, const char *wanted)
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

static void files(void)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct stream s;

	CHECK(fd >= 0 && write(fd, "one\n\ntwo\nhalf", 13) == 13, "no file");
	close(fd);
	s = opened(file, NULL, 0);
	expect(&s, "one");
	expect(&s, "");
	expect(&s, "two");
	expect(&s, NULL);
	CHECK(s.number == 4 && s.bad_n == 1 && s.out == STDOUT_FILENO, "line %llu, %llu bad", s.number, s.bad_n);
	CHECK(!closed(&s), "a status");
	unlink(file);
	s = opened("-", NULL, 0);
	CHECK(!strcmp(s.name, "standard input") && s.in == 0 && s.out == 1 && !closed(&s) && fcntl(0, F_GETFD) >= 0,
	      "'%s'", s.name);
	s = opened(file, NULL, ENOENT);
	closed(&s);
	s = opened(directory, NULL, EISDIR);
	closed(&s);
}

/* Writers come and go; what one leaves without an end is not the next one's beginning. */
static void writers(void)
{
	struct stream s;
	int fd;

	CHECK(!mkfifo(file, 0600), "no pipe");
	s = opened(file, NULL, 0);
	CHECK(fcntl(s.in, F_GETFD) == FD_CLOEXEC, "it goes to commands, too");
	for (int i = 0; i < 3; i++) {
		fd = open(file, O_WRONLY | O_CLOEXEC);
		CHECK(write(fd, "one\nhalf", 8) == 8, "it takes no more");
		expect(&s, "one");
		close(fd);
		CHECK(!stream_read(&s) && !s.ended && fcntl(s.in, F_GETFD) == FD_CLOEXEC &&
			      s.number == 2 * (unsigned int)(i + 1) && s.bad_n == i + 1U,
		      "line %llu, %llu bad", s.number, s.bad_n);
	}
	fd = open(file, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
	CHECK(fd >= 0, "nobody reads it");
	CHECK(write(fd, "two\n", 4) == 4, "it takes no more");
	expect(&s, "two");
	close(fd);
	closed(&s);
	unlink(file);
}

static void commands(void)
{
	char *const reads[] = { "sh", "-c",
				"echo one; echo two; read a; read b; test \"$a $b\" = 'ok 1 ok 2' && exit 7", NULL };
	char *const deaf[] = { "sh", "-c", "exec <&-; echo one; exit 3", NULL };
	char *const none[] = { "/nonexistent/command", NULL };
	char *const no_command[] = { directory, NULL };
	struct stream s = opened(NULL, reads, 0);
	int status;

	expect(&s, "one");
	stream_acknowledge(&s, 1);
	CHECK(s.told == 1, "it is told later, where there is room");
	expect(&s, "two");
	stream_acknowledge(&s, 2);
	expect(&s, NULL);
	CHECK(!strcmp(s.name, "sh") && s.child > 0 && !stream_tell(&s), "it is called %s", s.name);
	status = closed(&s);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7, "status %x", (unsigned int)status);
	s = opened(NULL, deaf, 0);
	expect(&s, "one");
	expect(&s, NULL);
	stream_acknowledge(&s, 1);
	status = closed(&s);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3, "status %x", (unsigned int)status);
	s = opened(NULL, none, 0);
	expect(&s, NULL);
	status = closed(&s);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 127, "status %x", (unsigned int)status);
	s = opened(NULL, no_command, 0);
	expect(&s, NULL);
	status = closed(&s);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 126, "status %x", (unsigned int)status);
}

static int status_of(const char *script)
{
	char *const command[] = { (char *)"sh", (char *)"-c", (char *)script, NULL };
	struct stream s = opened(NULL, command, 0);

	expect(&s, NULL);
	interrupted = 2;
	return closed(&s);
}

/* What this process ignores and blocks, a command does not. */
static void signals(void)
{
	sigset_t ends, was;
	int status;

	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, &was);
	status = status_of("kill -PIPE $$; exit 3");
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE && !interrupted, "status %x", (unsigned int)status);
	status = status_of("kill -TERM $$; exit 3");
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, "status %x", (unsigned int)status);
	sigprocmask(SIG_SETMASK, &was, NULL);
}

/* As much as any pipe may have, up to a megabyte. */
static void large_pipe(void)
{
	int most[2];
	struct stream s;

	NEEDED(!pipe2(most, O_CLOEXEC) && !mkfifo(file, 0600));
	fcntl(most[0], F_SETPIPE_SZ, 1 << 20);
	s = opened(file, NULL, 0);
	CHECK(fcntl(s.in, F_GETPIPE_SZ) == fcntl(most[0], F_GETPIPE_SZ), "%d bytes", fcntl(s.in, F_GETPIPE_SZ));
	closed(&s);
	close(most[0]);
	close(most[1]);
	unlink(file);
}

/* What was written whole is taken before its end is one. */
static void lines_before_the_end(void)
{
	char text[20];
	size_t length;
	struct stream s;
	char *line;

	if (!shared(&s, false))
		return;
	stream_refuse(&s, 1, NULL, "it is wrong");
	stream_refuse(&s, 2, NULL, "it is wrong");
	CHECK(heard(text, sizeof(text)) == 17 && !strcmp(text, "no 1 it is wrong\n"), "'%s' is told at once", text);
	stream_tell(&s);
	heard(text, sizeof(text));
	stream_acknowledge(&s, 0);
	stream_acknowledge(&s, 3);
	CHECK(heard(text, sizeof(text)) == 5 && !strcmp(text, "ok 3\n"), "'%s' is told at once", text);
	CHECK(write(other, "a\nb", 3) == 3 && stream_read(&s), "no bytes");
	shutdown(other, SHUT_WR);
	CHECK(!stream_read(&s) && !s.ended && s.bad_n == 2, "it has ended");
	line = stream_line(&s, &length);
	CHECK(line && length == 1 && *line == 'a', "no line");
	CHECK(!stream_read(&s) && s.ended && s.bad_n == 3, "it has not ended");
	close(other);
	stream_end(&s);
}

/* In their order, and each once, wherever there is no room. */
static void no_room(void)
{
	for (unsigned int n = 0; n < 6; n++) {
		struct stream s;
		char text[200];
		size_t length = 0;

		if (!shared(&s, false))
			return;
		sends_until = n;
		stream_refuse(&s, 5, NULL, "it is wrong");
		s.unsaid = 3;
		stream_refuse(&s, 8, NULL, "it is not");
		stream_acknowledge(&s, 9);
		for (int i = 0; i < 5; i++) {
			length += heard(text + length, sizeof(text) - length);
			stream_tell(&s);
		}
		CHECK(s.told == 9 && !s.answer_n, "told %llu", s.told);
		CHECK(!strcmp(text, "no 5 it is wrong\nno more 3\nno 8 it is not\nok 9\n"),
		      "without room for the %u.: '%s'", n, text);
		sends_until = 0;
		close(other);
		stream_end(&s);
	}
}

/* Where nobody reads, so many are kept, and of the rest how many they were. */
static void kept_answers(void)
{
	size_t kept = 0, n = 0;
	struct stream s;

	if (!shared(&s, false))
		return;
	no_sends = true;
	for (unsigned int i = 100; i < 900; i++) {
		if (kept + 2 * 512 <= 8192) {
			kept += strlen("no 100 it is wrong\n");
			n++;
		}
		stream_refuse(&s, i, NULL, "it is wrong");
	}
	CHECK(s.answer_n == kept && s.unsaid == 800 - n, "%zu bytes, not %zu; %llu more", s.answer_n, kept, s.unsaid);
	no_sends = false;
	close(other);
	stream_end(&s);
}

/* Until the next word is said: that nobody reads, or how many lines more were bad. */
static void next_word(void)
{
	static const struct {
		int64_t stalled;
		bool said;
		unsigned int more;
		int64_t since;
		int until;
	} cases[] = {
		{ 0, false, 0, 0, -1 },		 { 50000, false, 0, 0, 10000 },	  { 50000, true, 0, 0, -1 },
		{ 40001, false, 0, 0, 1 },	 { 40000, false, 0, 0, 0 },	  { 30000, false, 0, 0, 0 },
		{ 0, false, 1, 50000, 1000 },	 { 0, false, 1, 49001, 1 },	  { 0, false, 1, 49000, 0 },
		{ 40100, false, 7, 49200, 100 }, { 40300, false, 7, 49200, 200 }, { 40100, true, 7, 49200, 200 },
	};

	now_given = 50000;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct stream s = { .stalled = cases[i].stalled,
				    .stall_said = cases[i].said,
				    .bad = { .more = cases[i].more, .since = cases[i].since } };

		CHECK(until_word(&s) == cases[i].until, "case %zu: %d", i, until_word(&s));
	}
	now_given = 0;
}

static void answers_as_json(void)
{
	static char text[ANSWER_MOST], line[ANSWER_MOST];

	CHECK(!json_line(line, NULL), "nothing is a line");
	/* {"a":""}, and its end. */
	for (size_t n = ANSWER_MOST - 11; n < ANSWER_MOST - 7; n++) {
		size_t fits = n + 9 <= ANSWER_MOST ? n + 9 : 0, is;

		memset(text, 'x', n);
		text[n] = '\0';
		is = json_line(line, json_pack("{s:s}", "a", text));
		CHECK(is == fits && (!fits || line[fits - 1] == '\n'), "of %zu bytes %zu, not %zu", n, is, fits);
	}
}

static void without_memory(void)
{
	struct stream s = { 0 };

	mallocs_left = 0;
	CHECK(err_is(stream_open(&s, "-", NULL), ENOMEM), "it is open");
	for (int n = 0; n < 2; n++) {
		mallocs_left = n;
		CHECK(err_is(stream_share(&s, "name", -1), ENOMEM), "after %d it is shared", n);
		stream_end(&s);
	}
	mallocs_left = -1;
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

static void hush(void)
{
	was_error = dup(STDERR_FILENO);
	said_to = memfd_create("said", MFD_CLOEXEC);
	dup2(said_to, STDERR_FILENO);
}

/* What was said meanwhile is this, word for word. */
static void said_is(const char *wanted)
{
	static char text[4096];
	ssize_t got = pread(said_to, text, sizeof(text) - 1, 0);

	text[got > 0 ? got : 0] = '\0';
	dup2(was_error, STDERR_FILENO);
	close(was_error);
	close(said_to);
	CHECK(!strcmp(text, wanted), "it says '%s', and not '%s'", text, wanted);
}

static int next_fd(void)
{
	int fd = dup(STDIN_FILENO);

	close(fd);
	return fd;
}

/* Without a process or a pipe nothing is left open, and nobody is waited for, or killed, at its end. */
static void no_command(void)
{
	char *const command[] = { "true", NULL };
	int free_one = next_fd(), err;
	struct rlimit was, few;
	struct stream s;

	no_process = true;
	s = opened(NULL, command, EAGAIN);
	no_process = false;
	CHECK(next_fd() == free_one && !s.child && s.in == -1, "%d is the next, child %d", next_fd(), (int)s.child);
	CHECK(!stream_close(&s), "a status");
	NEEDED(!getrlimit(RLIMIT_NOFILE, &was));
	for (int n = 0; n < 4; n++) {
		few = (struct rlimit){ (rlim_t)(free_one + n), was.rlim_max };
		NEEDED(!setrlimit(RLIMIT_NOFILE, &few));
		s = (struct stream){ 0 };
		err = stream_open(&s, NULL, command);
		NEEDED(!setrlimit(RLIMIT_NOFILE, &was));
		CHECK(err_is(err, EMFILE) && !strcmp(reason(err), "true: Too many open files"), "'%s'",
		      err ? reason(err) : "no error");
		CHECK(next_fd() == free_one && !s.child, "with %d: %d is the next, not %d", n, next_fd(), free_one);
		CHECK(!stream_close(&s), "a status");
	}
}

static int may_open(const char *command)
{
	char *const words[] = { (char *)command, NULL };

	return stream_may_open(NULL, words);
}

/* As a shell looks for a program: by PATH, where an empty part is the directory that it is in, or by its own path. */
static void programs(void)
{
	static const struct {
		const char *path, *name;
		bool is;
	} each[] = {
		{ "/usr/bin:/bin", "true", true },
		{ "/nowhere:/bin", "true", true },
		{ "/nowhere:/bin", "/bin/true", true },
		{ "/nowhere", "true", false },
		{ "/nowhere", "/bin/true", true },
		{ NULL, "true", true },
		{ "/bin", "no-program-of-that-name", false },
		{ "/bin", "/bin/no-program-of-that-name", false },
		{ "/bin", "./program", true },
		{ "/bin", "./text", false },
		{ "/bin", "program", false },
		{ "", "program", true },
		{ ":/bin", "program", true },
		{ "/bin:", "program", true },
		{ "/bin::/nowhere", "program", true },
		{ "/bin::/nowhere", "text", false },
	};
	char before[PATH_MAX], *path = getenv("PATH") ? strdup(getenv("PATH")) : NULL;
	int fd;

	NEEDED(getcwd(before, sizeof(before)) && !chdir(directory));
	for (int i = 0; i < 2; i++) {
		NEEDED((fd = open(i ? "program" : "text", O_CREAT | O_WRONLY | O_CLOEXEC, i ? 0700 : 0600)) >= 0);
		close(fd);
	}
	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		int err;

		NEEDED(!(each[i].path ? setenv("PATH", each[i].path, 1) : unsetenv("PATH")));
		err = may_open(each[i].name);
		CHECK(each[i].is ? !err : err_is(err, ENOENT) && strstr(reason(err), "there is no such program"),
		      "%s with PATH=%s: %s", each[i].name, each[i].path ?: "(none)", err ? reason(err) : "there is");
	}
	NEEDED(!(path ? setenv("PATH", path, 1) : unsetenv("PATH")));
	free(path);
	NEEDED(!unlink("program") && !unlink("text") && !chdir(before));
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* Of its pipes this end alone is kept: otherwise neither would see the other's end. */
static void ends_of_pipes(void)
{
	char *const command[] = { "true", NULL };
	int first = next_fd();
	struct stream s = opened(NULL, command, 0);
	struct stat in, out, at;
	int n = 0;

	NEEDED(!fstat(s.in, &in) && !fstat(s.out, &out) && in.st_ino != out.st_ino);
	for (int fd = first; fd < first + 8; fd++)
		n += is_open(fd) && !fstat(fd, &at) && (at.st_ino == in.st_ino || at.st_ino == out.st_ino);
	CHECK(n == 2, "%d ends are open", n);
	CHECK((fcntl(s.in, F_GETFL) & O_ACCMODE) == O_RDONLY && (fcntl(s.out, F_GETFL) & O_ACCMODE) == O_WRONLY,
	      "another end");
	expect(&s, NULL);
	CHECK(!closed(&s) && !is_open(s.in) && !is_open(s.out) && next_fd() == first, "something is left");
}

static void broken(void)
{
	struct stream s = {
		.name = "name", .in = open(directory, O_RDONLY | O_CLOEXEC), .room = 100, .text = malloc(101)
	};
	int ends[2];

	NEEDED(s.in >= 0 && s.text && !pipe(ends));
	close(ends[0]);
	s.out = ends[1];
	signal(SIGPIPE, SIG_IGN);
	hush();
	CHECK(!stream_read(&s) && s.ended, "a directory has lines");
	stream_acknowledge(&s, 7);
	CHECK(s.out == -1 && s.due == 7 && !s.told && is_open(ends[1]), "it is told");
	stream_acknowledge(&s, 8);
	CHECK(!stream_tell(&s), "something is due still");
	said_is("xdp-bloom: name: Is a directory\n"
		"xdp-bloom: name: what is in force cannot be acknowledged any more: Broken pipe; lines are taken as before\n");
	CHECK(!closed(&s), "a status");
	close(ends[1]);
	/* Over a socket its end is what its writer sees. */
	NEEDED((s.in = open(directory, O_RDONLY | O_CLOEXEC)) >= 0);
	for (int i = 0; i < 2; i++) {
		s = (struct stream){ .name = "name", .in = s.in, .out = -1, .room = 100, .text = malloc(101) };
		reads_fail = i ? EAGAIN : EINTR;
		CHECK(!stream_read(&s) && !s.ended && !reads_fail, "it has ended");
		free(s.text);
	}
	s = (struct stream){ .name = "name", .in = s.in, .out = -1, .shared = true, .room = 100, .text = malloc(101) };
	hush();
	CHECK(!stream_read(&s) && s.ended, "a directory has lines");
	said_is("");
	stream_end(&s);
}

/* A pipe with no room, whose reader is there. */
static struct stream deaf(int ends[2])
{
	struct stream s = { .name = "name", .in = -1, .room = 4096, .text = malloc(4097) };
	static const char some[4096];

	NEEDED(s.text && !pipe2(ends, O_NONBLOCK | O_CLOEXEC));
	while (write(ends[1], some, sizeof(some)) > 0)
		;
	s.out = ends[1];
	return s;
}

/* What it waits for and what it says comes in by one pipe: it has a line once it has said one. */
static void stalled(void)
{
	static char text[1 << 17];
	int ends[2], own[2], was = dup(STDERR_FILENO);
	struct stream s = deaf(ends);
	int64_t before = clock_ms();
	size_t length;
	char *line;

	NEEDED(!pipe2(own, O_NONBLOCK | O_CLOEXEC));
	s.in = own[0];
	stream_acknowledge(&s, 9);
	CHECK(s.stalled >= before && s.stalled <= clock_ms() && stream_tell(&s), "it does not stall");
	s.stalled -= 10000;
	dup2(own[1], STDERR_FILENO);
	line = next_line(&s, &length);
	CHECK(line && !strcmp(line,
			      "xdp-bloom: name: nobody has read for 10 s what is acknowledged, up to line 9; lines"
			      " are taken as before"),
	      "'%s'", line ?: "its end");
	CHECK(s.stall_said && s.stalled, "it is not known that it was said");
	/* Once; then what else there is to say, when it is time. */
	s.bad.more = 5;
	s.bad.last = 30;
	s.bad.since = clock_ms() - 1000;
	line = next_line(&s, &length);
	CHECK(line && !strcmp(line, "xdp-bloom: name: and 5 more lines up to line 30 were not taken"), "'%s'",
	      line ?: "its end");
	CHECK(!s.bad.more, "%llu more", s.bad.more);
	dup2(was, STDERR_FILENO);
	close(was);
	drain(ends[0], text, sizeof(text));
	CHECK(!stream_tell(&s) && s.told == 9 && !s.stalled && !s.stall_said, "told %llu", s.told);
	drain(ends[0], text, sizeof(text));
	CHECK(!strcmp(text, "ok 9\n"), "'%s'", text);
	closed(&s);
	close(own[1]);
	close(ends[0]);
	close(ends[1]);
}

/* At its end it waits for who reads late. */
static void reads_late(void)
{
	int ends[2];
	struct stream s = deaf(ends);
	char text[100];

	stream_acknowledge(&s, 12);
	drained = ends[0];
	waits = 0;
	hush();
	CHECK(!closed(&s) && waits == 1 && waits_for == -1 && s.told == 12, "told %llu, waited %u times", s.told,
	      waits);
	CHECK(waits_s >= 8 && waits_s <= 10, "for %lld s", (long long)waits_s);
	said_is("");
	drained = -1;
	drain(ends[0], text, sizeof(text));
	CHECK(!strcmp(text, "ok 12\n"), "'%s'", text);
	close(ends[0]);
	close(ends[1]);
}

/* Who is told to end waits for nobody, and ends the command. */
static void stopped(void)
{
	char *const command[] = { "sh", "-c", "echo one; exec sleep 1000", NULL };
	int ends[2];
	struct stream s = deaf(ends);

	stream_acknowledge(&s, 12);
	stop_asked = SIGTERM;
	waits = 0;
	hush();
	CHECK(!closed(&s) && !waits, "it waits %u times", waits);
	said_is("xdp-bloom: name: all lines up to 12 are in force, and nobody reads that\n");
	close(ends[0]);
	close(ends[1]);
	stop_asked = 0;
	s = opened(NULL, command, 0);
	expect(&s, "one");
	stop_asked = SIGTERM;
	CHECK(!closed(&s), "its status is another's doing");
	stop_asked = 0;
	CHECK(waitpid(s.child, NULL, WNOHANG) < 0 && errno == ECHILD, "it is still there");
}

static pid_t number(struct stream *s)
{
	size_t length;
	char *line = next_line(s, &length);

	return line ? (pid_t)strtol(line, NULL, 10) : 0;
}

static struct stream runs(const char *script)
{
	char *const command[] = { "sh", "-c", (char *)(uintptr_t)script, NULL };

	return opened(NULL, command, 0);
}

static void ends_it(struct stream *s)
{
	int64_t began = clock_ms();

	stop_asked = SIGTERM;
	CHECK(!closed(s), "its status is another's doing");
	stop_asked = 0;
	CHECK(waitpid(s->child, NULL, WNOHANG) < 0 && errno == ECHILD, "it is still there");
	CHECK(clock_ms() - began < 20000, "it takes %d ms", (int)(clock_ms() - began));
}

/* It is ended by that signal. */
static void ended_by(pid_t pid, int signal)
{
	int status = 0;

	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == signal,
	      "process %d, status %x", (int)pid, (unsigned int)status);
}

static void asks_to_end(void)
{
	stop_asked = SIGTERM;
}

/* A command that does not end when it is asked to is killed, and what it has started with it. */
static void does_not_end(void)
{
	siginfo_t info;
	struct stream s;
	pid_t started;
	int status;

	NEEDED(!prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0));
	for (terminal = false;; terminal = true) {
		s = runs("trap '' TERM; echo one; exec sleep 1000");
		expect(&s, "one");
		CHECK((getpgid(s.child) == s.child) == !terminal, "it is in another group");
		ends_it(&s);
		s = runs("echo one; exec sleep 1000");
		expect(&s, "one");
		kill(s.child, SIGSTOP);
		CHECK(!waitid(P_PID, (id_t)s.child, &info, WSTOPPED | WNOWAIT), "it does not stop");
		ends_it(&s);
		if (terminal)
			break;
	}
	terminal = false;
	s = runs("trap '' TERM; sleep 1000 & echo $!; wait");
	started = number(&s);
	ends_it(&s);
	ended_by(started, SIGKILL);
	/* It has time to end, also where the shell has ended. */
	s = runs(
		"trap 'exit 1' TERM; sh -c 'trap \"sleep 0.1; kill -HUP $$\" TERM; echo $$; while :; do sleep 0.02; done' & wait");
	started = number(&s);
	ends_it(&s);
	ended_by(started, SIGHUP);
	/* It has said all, and runs on. */
	s = runs("exec >&-; trap '' TERM; exec sleep 1000");
	expect(&s, NULL);
	on_wait = asks_to_end;
	CHECK(!closed(&s) && stop_asked, "its status is another's doing");
	on_wait = NULL;
	stop_asked = 0;
	CHECK(waitpid(s.child, NULL, WNOHANG) < 0 && errno == ECHILD, "it is still there");
	/* It goes on, and nobody reads it any more. */
	s = runs("echo one; exec sleep 1000");
	expect(&s, "one");
	status = closed(&s);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, "status %x", (unsigned int)status);
	no_pidfd = true;
	s = runs("exec >&-; exit 3");
	expect(&s, NULL);
	CHECK(WEXITSTATUS(closed(&s)) == 3, "another status");
	s = runs("trap '' TERM; echo one; exec sleep 1000");
	expect(&s, "one");
	ends_it(&s);
	no_pidfd = false;
	NEEDED(!prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0));
}

static void how_long_it_waits(void)
{
	static const struct {
		int milliseconds;
		bool reads, due;
		const char *is;
	} cases[] = {
		{ -1, true, false, "5 -1, -1.000000000 s" },  { 0, true, false, "5 -1, 0.000000000 s" },
		{ 1, true, false, "5 -1, 0.001000000 s" },    { 999, true, true, "5 6, 0.999000000 s" },
		{ 1000, false, true, "-1 6, 1.000000000 s" }, { 12345, false, true, "-1 6, 12.345000000 s" },
	};

	does_not_wait = true;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct stream s = { .in = 5, .out = 6, .due = cases[i].due };

		wait_for(&s, cases[i].reads, cases[i].milliseconds);
		CHECK(!strcmp(waited_for, cases[i].is), "case %zu: '%s'", i, waited_for);
	}
	does_not_wait = false;
}

static int reader, writer;

/* There is room again, and a line. */
static void reads_and_writes(void)
{
	static char text[1 << 17];

	drain(reader, text, sizeof(text));
	NEEDED(write(writer, "line\n", 5) == 5);
	on_wait = NULL;
}

/* While it waits for lines, too, what is due is told; and more bad ones not before it is time. */
static void tells_meanwhile(void)
{
	int ends[2], own[2];
	struct stream s = deaf(ends);

	NEEDED(!pipe2(own, O_NONBLOCK | O_CLOEXEC));
	s.in = own[0];
	reader = ends[0];
	writer = own[1];
	on_wait = reads_and_writes;
	now_given = 50000;
	stream_acknowledge(&s, 9);
	s.bad.more = 2;
	s.bad.last = 7;
	s.bad.since = 49001;
	hush();
	stream_wait(&s);
	said_is("");
	CHECK(s.told == 9 && s.bad.more == 2 && !on_wait, "told %llu, %llu bad", s.told, s.bad.more);
	/* At its end it is time. */
	hush();
	closed(&s);
	said_is("xdp-bloom: name: and 2 more lines up to line 7 were not taken\n");
	now_given = 0;
	close(own[1]);
	close(ends[0]);
	close(ends[1]);
}

/* Of many bad lines a second only some are said, and how many more there were. */
static void many_bad(void)
{
	int was = dup(STDERR_FILENO), fd = open(file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	static char text[20000];
	struct stream s = { .name = "name", .in = -1, .out = -1 };
	size_t n = 0;
	ssize_t got;

	dup2(fd, STDERR_FILENO);
	s.bad.since = INT64_MAX / 2; /* now, for ever */
	for (unsigned int i = 1; i <= 25; i++)
		stream_refuse(&s, i, i == 20 ? "a line\nand what is behind it" : NULL, "bad");
	s.bad.since = clock_ms() - 1000;
	now_given = clock_ms();
	stream_refuse(&s, 26, NULL, "bad");
	/* As long as it is the same second, more are not said. */
	s.bad.said = 20;
	now_given += 999;
	stream_refuse(&s, 27, NULL, "bad");
	CHECK(s.bad.more == 1 && s.bad.last == 27, "%llu more", s.bad.more);
	s.bad.more = 0;
	s.bad.said = 1;
	now_given -= 999;
	s.bad_n--;
	CHECK(s.bad.since == now_given, "since %lld", (long long)s.bad.since);
	now_given = 0;
	dup2(was, STDERR_FILENO);
	close(was);
	got = pread(fd, text, sizeof(text) - 1, 0);
	close(fd);
	unlink(file);
	text[got > 0 ? got : 0] = '\0';
	for (const char *c = text; (c = strstr(c, ": bad\n")); c++)
		n++;
	CHECK(n == 21 && strstr(text, "name:1: bad\n") && strstr(text, "name:20: 'a line") && !strstr(text, "name:21"),
	      "%zu of them are said: %s", n, text);
	CHECK(strstr(text, "name: and 5 more lines up to line 25 were not taken\n") && strstr(text, "name:26: bad\n"),
	      "%s", text);
	CHECK(s.bad_n == 26 && s.bad.said == 1 && !s.bad.more, "%llu bad", s.bad_n);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "lines", lines },
		{ "longest", longest },
		{ "answers", answers },
		{ "files", files },
		{ "writers", writers },
		{ "commands", commands },
		{ "many_bad", many_bad },
		{ "programs", programs },
		{ "no command", no_command },
		{ "ends of pipes", ends_of_pipes },
		{ "broken", broken },
		{ "stalled", stalled },
		{ "read late", reads_late },
		{ "stopped", stopped },
		{ "does not end", does_not_end },
		{ "signals", signals },
		{ "a large pipe", large_pipe },
		{ "lines before the end", lines_before_the_end },
		{ "answers as JSON", answers_as_json },
		{ "no room", no_room },
		{ "answers that are kept", kept_answers },
		{ "the next word", next_word },
		{ "how long it waits", how_long_it_waits },
		{ "what is told meanwhile", tells_meanwhile },
		{ "without memory", without_memory },
	};
	int status;

	alarm(60); /* nothing here waits for long */
	snprintf(directory, sizeof(directory), "%s/unit_stream.XXXXXX", getenv("TMPDIR") ?: "/tmp");
	if (!mkdtemp(directory))
		return KTAP_FAIL;
	snprintf(file, sizeof(file), "%s/file", directory);
	status = ktap_run(cases, sizeof(cases) / sizeof(*cases));
	unlink(file);
	rmdir(directory);
	return status;
}
