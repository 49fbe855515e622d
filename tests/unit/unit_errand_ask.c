// SPDX-License-Identifier: GPL-2.0-only
/*
 * A command that asks the service's process to run it: whom it asks, what it sends, what it makes of each answer, and
 * when it does it itself. The other end follows a script, whenever it is waited for; the clock moves as it says.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/close_fd.h"
#include "base/errand.h"
#include "base/state_path.h"
#include "base/stdin.h"
#include "change/own_addresses.h"
#include "shown.h"
#include "state/events.h"
#include "verbs/errand.h"
#include "verbs/verbs.h"

#undef VERSION
#define VERSION "a version"

static const struct shown known[] = {
#include "unit_errand_ask.txt"
};

static struct shows shows = { .file = "tests/unit/unit_errand_ask.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static struct context asker;
static const char *script;
static int other, calls, fails_at, opened_n;
static int64_t now_ms;
static bool no_service, of_another, at_terminal, at_errors, full;

static int call(const char *what)
{
	if (++calls != fails_at)
		return 0;
	printf("  %s: fails\n", what);
	errno = EIO;
	return -1;
}

static void part(uint32_t kind, uint32_t value, const char *bytes)
{
	struct errand_part is = { kind, value };

	if (write(other, &is, sizeof(is)) != sizeof(is) || write(other, bytes, strlen(bytes)) < 0)
		puts("  nobody hears it");
}

static size_t heard;

static void print_request(const char *bytes, size_t n)
{
	struct errand_request request;

	memcpy(&request, bytes, sizeof(request));
	printf("  asked by %s: %u words of %u bytes, user %u, %d from '%s', network %d %d, pins %d %d\n",
	       strcmp(request.version, VERSION) ? "another version" : "this version", request.words, request.bytes,
	       request.user, request.ssh_pid, request.ssh, (int)request.network[0], (int)request.network[1],
	       (int)request.pins[0], (int)request.pins[1]);
	for (size_t at = sizeof(request); at < n && n < 1000; at += strlen(bytes + at) + 1)
		printf("    %s\n", bytes + at);
}

/* Of a descriptor, what is in it from where it stands; its end is where it is left. */
static void print_input(int fd)
{
	char text[100];
	ssize_t n = read(fd, text, sizeof(text));

	printf("  with '%.*s'\n", (int)(n > 0 ? n : 0), n > 0 && text[0] ? text : "");
	lseek(fd, 0, SEEK_END);
	close(fd);
}

/* All that has come. */
static void hear(void)
{
	static char bytes[1 << 16];
	char control[CMSG_SPACE(sizeof(int))];

	for (;;) {
		struct iovec iov = { bytes, sizeof(bytes) };
		struct msghdr message = {
			.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
		};
		ssize_t n = recvmsg(other, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		struct cmsghdr *more = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
		int fd;

		if (n <= 0)
			break;
		if (!heard && (size_t)n > sizeof(struct errand_request))
			print_request(bytes, (size_t)n);
		if (more) {
			memcpy(&fd, CMSG_DATA(more), sizeof(fd));
			print_input(fd);
		}
		heard += (size_t)n;
	}
}

static int given_poll(struct pollfd *fds, nfds_t n, int ms)
{
	bool sends = fds->events == POLLOUT;
	char next;

	if (*script == '*' && sends) { /* as often as it has to */
		hear();
		return 1;
	}
	script += *script == '*';
	next = *script ? *script++ : 'T';
	printf("%7lld waits %s, %d ms%s\n", (long long)now_ms, sends ? "to send" : "to hear", ms,
	       n == 1 ? "" : ", of more");
	now_ms += 10;
	if (next != 'T') {
		hear();
		printf("  %zu bytes were heard\n", heard);
	}
	switch (next) {
	case 'R':
		part(ERRAND_READY, 0, "");
		return 1;
	case 'O':
		part(ERRAND_OUTPUT, 3, "out");
		return 1;
	case 'E':
		part(ERRAND_ERRORS, 5, "error");
		return 1;
	case 'S':
		part(ERRAND_STATUS, 1, "");
		return 1;
	case 'D':
		part(ERRAND_DECLINED, 3, "why");
		return 1;
	case 'h': /* half of it, and then the rest */
		part(ERRAND_OUTPUT, 4, "ha");
		return 1;
	case 'l':
		if (write(other, "lf", 2) != 2)
			return -1;
		return 1;
	case 'X':
		shutdown(other, SHUT_RDWR);
		return 1;
	case '.':
		return 1;
	default:
		now_ms += ms;
		return 0;
	}
}

static int given_socket(int domain, int type, int protocol)
{
	int pair[2], room = 1 << 16;

	if (call("the socket"))
		return -1;
	if (domain != AF_UNIX || !(type & SOCK_NONBLOCK) || !(type & SOCK_CLOEXEC) ||
	    socketpair(domain, type, protocol, pair))
		return -1;
	setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	other = pair[1];
	opened_n++;
	return pair[0];
}

static int given_connect(int fd, const struct sockaddr *to, socklen_t size)
{
	const struct sockaddr_un *address = (const struct sockaddr_un *)to;

	(void)fd;
	printf("  to %s%s\n", address->sun_path,
	       size == sizeof(*address) && to->sa_family == AF_UNIX ? "" : ", and more");
	return call("to connect");
}

static int given_owner(int fd, int level, int option, void *is, const socklen_t *size)
{
	struct ucred *who = is;

	(void)fd;
	if (level != SOL_SOCKET || option != SO_PEERCRED || *size != sizeof(*who))
		puts("  asks otherwise");
	who->uid = geteuid() + of_another;
	return call("whose it is");
}

static int given_access(const char *path, int mode)
{
	(void)path;
	return no_service || mode != W_OK ? -1 : 0;
}

static int given_stat(const char *path, struct stat *is)
{
	*is = (struct stat){ .st_dev = 1, .st_ino = 2 };
	if (!strcmp(path, asker.bpffs))
		*is = (struct stat){ .st_dev = 3, .st_ino = 4 };
	else if (strcmp(path, "/proc/self/ns/net") != 0)
		printf("  what is %s\n", path);
	return call(path);
}

static int given_session(char text[SSH_TEXT_MAX])
{
	snprintf(text, SSH_TEXT_MAX, "192.0.2.1 9 192.0.2.2 22");
	return 77;
}

/* Of standard input, which is a pipe. */
static int given_keep(int from)
{
	char bytes[100];
	ssize_t n = read(from, bytes, sizeof(bytes));
	int kept = call("to keep it") ? -ENOSPC : memfd_create("kept", MFD_CLOEXEC);

	if (kept >= 0 && (n < 0 || write(kept, bytes, (size_t)n) != n || lseek(kept, 0, SEEK_SET)))
		return -EIO;
	printf("  keeps %d bytes\n", (int)n);
	return kept;
}

static void given_write(const char *bytes, size_t size, size_t n, const FILE *to)
{
	printf("  %s: '%.*s'\n", to == stdout ? "output" : "errors", (int)(size * n), bytes);
}

static void given_close(int fd)
{
	if (fd < 0)
		return;
	opened_n--;
	close(fd);
}

static void *given_malloc(size_t size)
{
	return call("memory") ? NULL : malloc(size);
}

static void *given_realloc(void *old, size_t size)
{
	return call("more memory") ? NULL : realloc(old, size);
}

#define poll		   given_poll
#define socket		   given_socket
#define connect		   given_connect
#define getsockopt	   given_owner
#define access		   given_access
#define stat(path, is)	   given_stat(path, is)
#define own_session	   given_session
#define event_user()	   1000
#define standard_keep	   given_keep
#define fwrite		   given_write
#define clock_ms()	   now_ms
#define isatty(fd)	   ((fd) == STDOUT_FILENO ? at_terminal : at_errors)
#define out_end()	   (full ? EXIT_ERROR : EXIT_DONE)
#define note(...)	   (printf("  notes: " __VA_ARGS__), putchar('\n'))
#define warn(...)	   (printf("  warns: " __VA_ARGS__), putchar('\n'))
#define fail(...)	   (printf("  says: " __VA_ARGS__), putchar('\n'), EXIT_ERROR)
#define malloc(size)	   given_malloc(size)
#define realloc(old, size) given_realloc(old, size)
#define close_fd	   given_close
#define close(fd)	   (opened_n -= (fd) > STDERR_FILENO && other >= 0 && (fd) == other - 1, close(fd))
#include "verbs/errand_ask.c"
#undef close
#undef malloc

static char add[] = "add", address[] = "192.0.2.1", nothing[] = "", dash[] = "-";
static char *words[] = { add, address, nothing, NULL };

static void begin(void)
{
	errand.here = false;
	no_service = of_another = at_terminal = at_errors = full = false;
	fails_at = 0;
	asker = (struct context)CONTEXT_DEFAULT;
	asker.state = "/state";
	asker.wait = 5;
	asker.words = words;
}

/* True: a call failed, or would have. */
static bool asks_of(int input, const char *then)
{
	struct call of = { .context = &asker };
	int status = -1;
	bool sent;

	printf("-- %s\n", then);
	script = then;
	now_ms = 0;
	calls = opened_n = 0;
	heard = 0;
	other = -1;
	asker.elsewhere = false;
	sent = errand_sent(&of, input, &status);
	printf("= %s, status %d%s%s\n", sent ? "sent" : "not sent", status, asker.elsewhere ? ", elsewhere" : "",
	       opened_n ? ", not closed" : "");
	if (other >= 0)
		close(other);
	return calls >= fails_at;
}

static bool asks(const char *then)
{
	return asks_of(-1, then);
}

static void answers(void)
{
	asks("RS");
	asks("ROES");
	asks("RhlS");
	full = true;
	asks("RS");
	full = false;
	asks("RD");
	asks("ROD");
	puts("-- it does not answer");
	asks("");
	asks("X");
	asks("S");
	asks("O");
	asks(".T");
	asks("RT");
	asks("R.T");
	asks("RX");
	asks("ROX");
	asks("ROT");
	asks("Rh.X");
	asks("RhT");
	asker.wait = 0;
	asks("ROT");
}

static void each_fails(void)
{
	for (fails_at = 1; asks("RODS"); fails_at++)
		;
	for (fails_at = 1; asks("ROOS"); fails_at++)
		;
}

static void stays(void)
{
	char long_state[200];

	errand.here = true;
	asks("");
	errand.here = false;
	asker.words = NULL;
	asks("");
	asker.words = words;
	asker.check = CHECK_FILES;
	asks("");
	asker.check = CHECK_NOT;
	asker.line = true;
	asks("");
	asker.line = false;
	asker.joined = (struct change *)&asker;
	asks("");
	asker.joined = NULL;
	at_terminal = true;
	asks("");
	at_terminal = false;
	at_errors = true;
	asks("");
	at_errors = false;
	no_service = true;
	asks("");
	no_service = false;
	of_another = true;
	asks("");
	of_another = false;
	memset(long_state, 's', sizeof(long_state) - 1);
	for (size_t n = 94; n <= 97; n++) {
		long_state[n] = '\0';
		asker.state = long_state;
		asks("RS");
		long_state[n] = 's';
	}
}

/* Words that fit, and those that are too many; they may not fit into the socket at once. */
static void long_words(void)
{
	static char word[ERRAND_BYTES_MAX + 1];
	static char *all[] = { add, word, NULL };

	asker.words = all;
	for (size_t n = ERRAND_BYTES_MAX - 5; n < ERRAND_BYTES_MAX - 3; n++) {
		memset(word, 'w', n);
		word[n] = '\0';
		asks("*RS");
	}
	memset(word, 'w', sizeof(word));
	word[400000] = '\0';
	asks("*RS");
	asks("T");
}

static void with_input(void)
{
	char text[] = "45.0.0.1\n45.0.0.2\n";
	int file = memfd_create("input", MFD_CLOEXEC), pipes[2], before;

	if (write(file, text, sizeof(text) - 1) < 0)
		return;
	lseek(file, 9, SEEK_SET);
	asks_of(file, "RS");
	printf("  it stands at %d\n", (int)lseek(file, 0, SEEK_CUR));
	lseek(file, 9, SEEK_SET);
	asks_of(file, "RD");
	printf("  it stands at %d\n", (int)lseek(file, 0, SEEK_CUR));
	asks_of(file, "RT");
	printf("  it stands at %d\n", (int)lseek(file, 0, SEEK_CUR));
	puts("-- how much of it");
	for (int more = 0; more <= 1; more++) {
		if (ftruncate(file, ERRAND_INPUT_MAX + more))
			return;
		asks_of(file, "X");
	}
	close(file);
	puts("-- a pipe");
	before = dup(STDIN_FILENO);
	for (fails_at = 0; fails_at <= 1; fails_at++) {
		if (pipe(pipes) || write(pipes[1], text, sizeof(text) - 1) < 0)
			return;
		close(pipes[1]);
		dup2(pipes[0], STDIN_FILENO);
		close(pipes[0]);
		asks_of(STDIN_FILENO, "RD");
		printf("  it stands at %d\n", (int)lseek(STDIN_FILENO, 0, SEEK_CUR));
	}
	dup2(before, STDIN_FILENO);
	close(before);
}

static void of_prefixes(void)
{
	static char *operands[] = { address, dash };
	struct call of = { .context = &asker, .operands = operands };
	int status, file = memfd_create("input", MFD_CLOEXEC), before = dup(STDIN_FILENO);

	if (write(file, "x\n", 2) != 2 || lseek(file, 0, SEEK_SET))
		return;
	dup2(file, STDIN_FILENO);
	for (of.n = 0; of.n <= 2; of.n++) {
		script = "X";
		now_ms = 0;
		heard = 0;
		other = -1;
		printf("%d: %d\n", of.n, errand_prefixes_sent(&of, &status));
		printf("  it stands at %d\n", (int)lseek(STDIN_FILENO, 0, SEEK_CUR));
		close(other);
	}
	dup2(before, STDIN_FILENO);
	close(before);
	close(file);
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "answers", answers },	      { "each call fails", each_fails }, { "it stays", stays },
		{ "long words", long_words }, { "input", with_input },		 { "prefixes", of_prefixes },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
