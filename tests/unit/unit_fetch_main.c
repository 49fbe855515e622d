// SPDX-License-Identifier: GPL-2.0-only
/*
 * xdp-bloom-fetch from its start to its answer: what it takes for a request, which descriptors it keeps, what it gives
 * up before it speaks to anybody, and what it answers where one of that fails. The socket it is asked by is real; what
 * fetches and checks is made up.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/close_fd.h"
#include "base/log.h"
#include "fetch/address.h"
#include "fetch/confine.h"
#include "fetch/http.h"
#include "fetch/request.h"
#include "fetch/signature.h"
#include "shown.h"

#define VERSION "1.2.3"

static const struct shown known[] = {
#include "unit_fetch_main.txt"
};

static struct shows shows = { .file = "tests/unit/unit_fetch_main.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static int ours, theirs, a_file; /* theirs: 0, for the program */
static const char *fails = "";
static int headers_most; /* bytes at once */

static bool works(const char *call)
{
	errno = EIO;
	return strcmp(call, fails) != 0;
}

static ssize_t given_recvmsg(int fd, struct msghdr *m, int flags)
{
	if (fd || flags != MSG_CMSG_CLOEXEC)
		abort();
	return works("recvmsg") ? recvmsg(theirs, m, flags) : -1;
}

static int given_open(const char *path, int how)
{
	printf("  open %s%s\n", path, how == (O_RDWR | O_CLOEXEC) ? "" : ", otherwise");
	return works("open") ? 90 : -1;
}

/* Where the real descriptors are, nobody is to see. */
static const char *name_of(int fd)
{
	static char text[16];

	snprintf(text, sizeof(text), "%d", fd);
	return fd < 0 ? "none" : fd > 2 && fd < 80 ? "it" : text;
}

static int given_fcntl(int fd, int what, int least)
{
	static int next;

	printf("  %s becomes one from %d on%s\n", name_of(fd), least, what == F_DUPFD_CLOEXEC ? "" : ", otherwise");
	next = next == 91 ? 92 : 91;
	return works(next == 91 ? "body" : "also") ? next : -1;
}

static int given_dup2(int from, int to)
{
	char call[16];

	snprintf(call, sizeof(call), "dup2 %d", to);
	printf("  %s becomes %d\n", name_of(from), to);
	return works(call) && from >= 0 ? to : -1;
}

static int given_close_from(unsigned int first)
{
	printf("  from %u on all go\n", first);
	return works("close_from") ? 0 : -1;
}

static ssize_t given_pread(int fd, void *to, size_t n, off_t at)
{
	printf("  reads %d, %zu bytes from %lld on\n", fd, n, (long long)at);
	memset(to, 's', n);
	return !works("pread") ? -1 : !works("empty") ? 0 : strcmp(fails, "long") ? (ssize_t)n - 1 : (ssize_t)n;
}

static ssize_t given_read(int fd, void *to, size_t n)
{
	return works("read") ? read(fd, to, n < (size_t)headers_most ? n : (size_t)headers_most) : -1;
}

static ssize_t given_send(int fd, const void *bytes, size_t n, int flags)
{
	struct fetch_answer answer;
	char copy[FETCH_MESSAGE_MAX];

	if (fd || flags != MSG_NOSIGNAL)
		abort();
	memcpy(copy, bytes, n);
	if (!fetch_answer_read(&answer, copy, n))
		puts("  no answer");
	printf("  answers %d, '%s'\n", answer.outcome, answer.why);
	return !works("send") ? -1 : strcmp(fails, "part") ? (ssize_t)n : (ssize_t)n - 1;
}

static unsigned int given_alarm(unsigned int seconds)
{
	printf("  ends after %u s\n", seconds);
	return 0;
}

static int given_own(struct own_addresses *own)
{
	own->n = 7;
	puts("  its own addresses");
	return works("own") ? 0 : because(-EIO, "no addresses");
}

static int given_http_begin(void)
{
	puts("  begins to fetch");
	return works("http") ? 0 : because(-EIO, "no library");
}

static int given_signature_begin(void)
{
	puts("  begins to check");
	return works("signature") ? 0 : because(-EIO, "no library");
}

static int given_confine(const struct confinement *c)
{
	printf("  %s, with '%s', %llu bytes, %llu s, %s\n", c->does, c->file, (unsigned long long)c->bytes,
	       (unsigned long long)c->cpu_seconds,
	       c->sockets == CONFINE_NONE	? "no sockets"
	       : c->sockets == CONFINE_INTERNET ? "the internet"
						: "its own");
	return works("confine") ? 0 : because(-EIO, "not confined");
}

static void given_fetch(const struct fetch_request *request, const char *headers, const struct own_addresses *own,
			int to, struct fetch_answer *answer)
{
	printf("  fetches %s with %zu bytes '%.20s' of headers, %zu addresses, to %d\n", request->url, strlen(headers),
	       headers, own->n, to);
	*answer = (struct fetch_answer){ .outcome = FETCH_NEW, .status = 200 };
}

static void given_check(const char *key, const char *text, size_t length, int list, struct fetch_answer *answer)
{
	printf("  is it of %s? %zu bytes '%.3s', of %d\n", key, length, text, list);
	*answer = (struct fetch_answer){ .outcome = FETCH_SIGNED };
}

#define recvmsg		   given_recvmsg
#define open(path, how)	   given_open(path, how)
#define fcntl(fd, a, b)	   given_fcntl(fd, a, b)
#define dup2		   given_dup2
#define close_from	   given_close_from
#define pread		   given_pread
#define read		   given_read
#define send		   given_send
#define alarm		   given_alarm
#define own_addresses_read given_own
#define http_begin	   given_http_begin
#define signature_begin	   given_signature_begin
#define confine		   given_confine
#define http_fetch	   given_fetch
#define signature_check	   given_check
#define _exit(status)	   return (status)
#define main		   fetch_main
#include "fetch/main.c"
#undef main
#undef dup2

/* A message with so many descriptors. */
static void asks(const char *text, size_t n, const int *fds, size_t fds_n)
{
	union {
		char room[CMSG_SPACE(3 * sizeof(int))];
		struct cmsghdr align;
	} control = { { 0 } };
	struct iovec part = { (char *)(uintptr_t)text, n };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (fds_n) {
		m.msg_control = control.room;
		m.msg_controllen = CMSG_SPACE(fds_n * sizeof(int));
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(fds_n * sizeof(int));
		memcpy(CMSG_DATA(c), fds, fds_n * sizeof(int));
	}
	if (sendmsg(ours, &m, 0) < 0)
		abort();
}

/* Each in a process of its own. */
static void runs_as(const char *what, int n, const char *word)
{
	char name[] = "xdp-bloom-fetch", *argv[] = { name, (char *)(uintptr_t)word, NULL };
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		dup2(1, 2);
		exit(fetch_main(n, argv));
	}
	waitpid(pid, &status, 0);
	printf("= %s: %d\n", what, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static void runs(const char *what)
{
	runs_as(what, 1, NULL);
}

static int file_of(const char *text, size_t n)
{
	int fd = memfd_create("headers", MFD_CLOEXEC);

	if (fd < 0 || write(fd, text, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET))
		abort();
	return fd;
}

static const char url[] = "url https://a/\n", key[] = "key RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3\n";

static void versions(void)
{
	runs_as("its version", 2, "--version");
	runs_as("another word", 2, "other");
}

static void requests(void)
{
	static const struct fetch_request limited = { .url = "https://a/",
						      .ca = "/ca.pem",
						      .seconds = 7,
						      .connect = 3,
						      .bytes = 1000,
						      .floor = 1,
						      .floor_seconds = 1 };
	static char long_one[FETCH_MESSAGE_MAX + 1], limits[FETCH_MESSAGE_MAX];
	int fds[3] = { a_file, a_file, a_file };

	memset(long_one, 'x', sizeof(long_one));
	memcpy(long_one, url, 4);
	asks("", 0, fds, 1);
	runs("nothing");
	asks(url, sizeof(url) - 1, fds, 0);
	runs("no file");
	asks("rubbish", 7, fds, 1);
	runs("rubbish");
	asks(long_one, sizeof(long_one), fds, 1);
	runs("one that is too long");
	asks(url, sizeof(url) - 1, fds, 3);
	runs("too many files");
	asks(key, sizeof(key) - 1, fds, 1);
	runs("no signature");
	fails = "recvmsg";
	runs("none that comes");
	fails = "";
	asks(url, sizeof(url) - 1, fds, 1);
	runs("a request");
	asks(key, sizeof(key) - 1, fds, 2);
	runs("a signature");
	asks(limits, fetch_request_write(limits, sizeof(limits), &limited), fds, 1);
	runs("with limits");
}

static void headers(void)
{
	static char text[9000];
	static const size_t sizes[] = { 0, 1, 8190, 8191, 8192, 9000 };
	int fds[2] = { a_file };

	memset(text, 'h', sizeof(text));
	for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(*sizes); i++) {
		char name[40];

		headers_most = i % 2 ? 1000 : 1 << 20;
		fds[1] = file_of(text, sizes[i / 2]);
		asks(url, sizeof(url) - 1, fds, 2);
		snprintf(name, sizeof(name), "%zu bytes of headers", sizes[i / 2]);
		runs(name);
		close(fds[1]);
	}
	fds[1] = file_of("a\0b", 3);
	asks(url, sizeof(url) - 1, fds, 2);
	runs("headers with a NUL");
	asks(url, sizeof(url) - 1, fds, 2);
	fails = "read";
	runs("headers that cannot be read");
	fails = "";
	close(fds[1]);
}

static void failures(void)
{
	static const char *const of_both[] = { "open", "body",	  "dup2 1", "dup2 2",	  "dup2 3",
					       "own",  "confine", "send",   "close_from", "part" },
				 *const of_signatures[] = { "also", "dup2 4", "signature", "pread", "empty", "long" };
	int fds[2] = { a_file, a_file };

	for (size_t i = 0; i < sizeof(of_both) / sizeof(*of_both); i++) {
		fails = of_both[i];
		asks(url, sizeof(url) - 1, fds, 1);
		runs(fails);
	}
	fails = "http";
	asks(url, sizeof(url) - 1, fds, 1);
	runs(fails);
	for (size_t i = 0; i < sizeof(of_signatures) / sizeof(*of_signatures); i++) {
		fails = of_signatures[i];
		asks(key, sizeof(key) - 1, fds, 2);
		runs(fails);
	}
	fails = "";
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "versions", versions }, { "requests", requests }, { "headers", headers }, { "failures", failures }
	};
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		abort();
	ours = pair[0];
	theirs = pair[1];
	headers_most = 1 << 20;
	a_file = file_of("", 0);
	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), NULL);
	close(ours);
	close(theirs);
	close(a_file);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
