// SPDX-License-Identifier: GPL-2.0-only
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/close_fd.h"
#include "base/errand.h"
#include "base/stdin.h"
#include "base/stop.h"
#include "kernel/map_window.h"
#include "verbs/errand.h"
#include "verbs/verbs.h"

#define IDLE_S 30
/* Who asks has all of it ready; who is answered reads. */
#define PATIENCE_S 5

struct guest {
	int fd, input;
	struct errand_request request;
	char *text, **words;
};

/* What is written while a command runs, in the order in which it was. */
static char *written;
static size_t written_n;
static bool lost;

static int append(const void *bytes, size_t n)
{
	char *more = realloc(written, written_n + n);

	if (!more)
		return -ENOMEM;
	written = more;
	memcpy(written + written_n, bytes, n);
	written_n += n;
	return 0;
}

static ssize_t keep(uint32_t kind, const char *bytes, size_t n)
{
	struct errand_part part = { kind, (uint32_t)n };

	lost = lost || append(&part, sizeof(part)) || append(bytes, n);
	return lost ? 0 : (ssize_t)n;
}

static ssize_t keep_output(void *cookie, const char *bytes, size_t n)
{
	(void)cookie;
	return keep(ERRAND_OUTPUT, bytes, n);
}

static ssize_t keep_errors(void *cookie, const char *bytes, size_t n)
{
	(void)cookie;
	return keep(ERRAND_ERRORS, bytes, n);
}

/* What the service would see goes where it did. */
static int keep_both(FILE *at[2])
{
	at[0] = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = keep_output });
	at[1] = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = keep_errors });
	if (!at[0] || !at[1])
		return -ENOMEM;
	setvbuf(at[1], NULL, _IOLBF, BUFSIZ);
	return 0;
}

static bool is_roots(int fd)
{
	struct ucred who;
	socklen_t size = sizeof(who);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) && who.uid == geteuid();
}

static bool read_header(struct guest *g)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { &g->request, sizeof(g->request) };
	struct msghdr message = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)
	};
	ssize_t got = recvmsg(g->fd, &message, MSG_WAITALL | MSG_CMSG_CLOEXEC);
	struct cmsghdr *more = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;

	if (more && more->cmsg_level == SOL_SOCKET && more->cmsg_type == SCM_RIGHTS &&
	    more->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&g->input, CMSG_DATA(more), sizeof(g->input));
	return got == sizeof(g->request);
}

static bool read_words(struct guest *g)
{
	struct errand_request *r = &g->request;
	char *at;

	if (!r->words || r->bytes > ERRAND_BYTES_MAX || r->words > r->bytes)
		return false;
	g->text = malloc(r->bytes);
	g->words = calloc((size_t)r->words + 1, sizeof(*g->words));
	if (!g->text || !g->words || recv(g->fd, g->text, r->bytes, MSG_WAITALL) != (ssize_t)r->bytes ||
	    g->text[r->bytes - 1])
		return false;
	at = g->text;
	for (uint32_t i = 0; i < r->words; i++) {
		if (at >= g->text + r->bytes)
			return false;
		g->words[i] = at;
		at += strlen(at) + 1;
	}
	return true;
}

/* The same program, which sees the same network and the same pins. NULL, or what is different. */
static const char *other_here(const struct context *context, const struct guest *g)
{
	const struct errand_request *r = &g->request;
	uint64_t network[2], pins[2];

	if (strncmp(r->version, VERSION, sizeof(r->version)) != 0 || !memchr(r->ssh, '\0', sizeof(r->ssh)))
		return "the service is of another version";
	if (!errand_place(context, network, pins) || memcmp(network, r->network, sizeof(network)) != 0)
		return "the service is in another network namespace";
	return memcmp(pins, r->pins, sizeof(pins)) != 0 ? "the service has other pins" : NULL;
}

static bool send_all(int fd, const char *at, size_t n)
{
	while (n) {
		ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);

		if (sent <= 0)
			return false;
		at += sent;
		n -= (size_t)sent;
	}
	return true;
}

/* Who has waited too long does it himself by now. */
static bool still_wants(const struct guest *g)
{
	struct errand_part ready = { .kind = ERRAND_READY };
	char byte;

	return send_all(g->fd, (const char *)&ready, sizeof(ready)) && recv(g->fd, &byte, 1, 0) == 1;
}

/* All in one: whoever reads it wakes once. */
static void answer(int fd, uint32_t status)
{
	struct errand_part last = { ERRAND_STATUS, status };

	if (errand.declined) {
		written_n = 0;
		keep(ERRAND_DECLINED, errand.why, strlen(errand.why));
	} else if (append(&last, sizeof(last))) {
		lost = true;
	}
	if (!lost)
		send_all(fd, written, written_n);
}

/* As main() would. */
static int run(const struct context *whole, struct guest *g)
{
	struct context context = CONTEXT_DEFAULT;
	struct words words = { g->words, (int)g->request.words };
	const struct verb *verb = verb_find(verbs, &words);
	char **copy = calloc((size_t)words.n + 1, sizeof(*copy));
	int status;

	if (!copy || !verb || !(verb->flags & VERB_ERRAND)) {
		free(copy);
		errand_decline("no such verb");
		return EXIT_ERROR;
	}
	memcpy(copy, g->words, (size_t)words.n * sizeof(*copy));
	log_settings = (struct log_settings){ 0 };
	log_where(NULL);
	log_by_kind(false);
	standard_again();
	context.state = whole->state;
	context.bpffs = whole->bpffs;
	log_subject = (struct log_subject){ verb->name, NULL, clock_seconds() };
	status = verb_run(verb, &context, &words);
	if (!errand.declined)
		event_verb(verb, &context, words.n, copy, status);
	free(copy);
	return status;
}

static void serve(const struct context *context, struct guest *g, FILE *at[2])
{
	FILE *in = stdin, *out = stdout, *err = stderr;
	const char *other = other_here(context, g);
	int status = EXIT_ERROR;

	errand = (struct errand){ .here = true, .user = g->request.user, .ssh_pid = g->request.ssh_pid };
	memcpy(errand.ssh, g->request.ssh, sizeof(errand.ssh));
	written_n = 0;
	if (other) {
		errand_decline(other);
		answer(g->fd, 0);
		return;
	}
	stdin = g->input >= 0 ? fdopen(g->input, "r") : in;
	if (stdin) {
		stdout = at[0];
		stderr = at[1];
		status = run(context, g);
		fflush(stdout);
		fflush(stderr);
		stdout = out;
		stderr = err;
	}
	if (stdin && stdin != in) {
		fclose(stdin);
		g->input = -1;
	}
	if (!stdin)
		errand_decline("out of memory");
	stdin = in;
	answer(g->fd, (uint32_t)status);
	/* A new generation is about to be made, or somebody makes it. */
	if (errand.declined)
		windows_forget();
	log_settings = (struct log_settings){ 0 };
}

static void let_in(const struct context *context, FILE *at[2])
{
	struct timeval patience = { PATIENCE_S, 0 };
	struct guest g = { .fd = accept4(STDIN_FILENO, NULL, NULL, SOCK_CLOEXEC), .input = -1 };

	if (g.fd < 0)
		return;
	setsockopt(g.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(g.fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (is_roots(g.fd) && read_header(&g) && read_words(&g) && still_wants(&g))
		serve(context, &g, at);
	close_fd(g.input);
	close_fd(g.fd);
	free(g.text);
	free(g.words);
}

int errand_serve(const struct context *context)
{
	struct timespec idle = { IDLE_S, 0 };
	struct pollfd listener = { .fd = STDIN_FILENO, .events = POLLIN };
	FILE *at[2];

	if (keep_both(at))
		return fail("out of memory");
	signal(SIGPIPE, SIG_IGN);
	stop_on(SIGTERM);
	stop_on(SIGINT);
	errand.here = true;
	windows_keep();
	while (!lost && !stop_asked) {
		listener.revents = 0;
		stop_poll(&listener, 1, &idle);
		if (!listener.revents)
			break;
		let_in(context, at);
	}
	return lost ? EXIT_ERROR : EXIT_DONE;
}
