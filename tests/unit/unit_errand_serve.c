// SPDX-License-Identifier: GPL-2.0-only
/*
 * The process that runs commands of others: whom it lets in, what it takes, what each hears, and when it ends. Those
 * who come have said all they say before they are let in.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/errand.h"
#include "base/stdin.h"
#include "base/stop.h"
#include "kernel/map_window.h"
#include "shown.h"
#include "state/events.h"
#include "verbs/errand.h"
#include "verbs/verbs.h"

#undef VERSION
#define VERSION "a version"

static const struct shown known[] = {
#include "unit_errand_serve.txt"
};

static struct shows shows = { .file = "tests/unit/unit_errand_serve.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static const struct context own = { .state = "the state", .bpffs = "the pins" };

/* --- Who comes --- */

struct comes {
	const char *version, *text, *input; /* text: words, each with its NUL */
	uint32_t bytes, words;		    /* 0: as the text has it */
	bool other_user, unknown, other_network, no_place, other_pins, impatient, cut, ssh_unended;
	int many;    /* lines that are printed */
	size_t most; /* so many bytes of it; 0: all */
	int refuses; /* no connection is to be had */
};

static const struct comes *next_comes, *here; /* here: who is let in */
static int far_end;
static const char *failing = "";
static bool told; /* what is the same for all has been told */
static int callocs, reallocs;

static bool fails(const char *call)
{
	return !strcmp(call, failing);
}

static void says(int fd, const struct comes *c)
{
	static char bytes[1 << 16];
	struct errand_request r = { .user = 1000, .ssh_pid = 77, .network = { 1, 2 }, .pins = { 3, 4 } };
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { { 0 } };
	size_t n = 0, all;
	int pipes[2] = { -1, -1 };
	struct iovec iov = { bytes, 0 };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };

	for (const char *at = c->text; *at; at += strlen(at) + 1, r.words++)
		n += strlen(at) + 1;
	r.bytes = c->bytes ?: (uint32_t)n;
	r.words = c->words ?: r.words;
	snprintf(r.version, sizeof(r.version), "%s", c->version ?: VERSION);
	strcpy(r.ssh, "192.0.2.1 7");
	if (c->ssh_unended)
		memset(r.ssh, 's', sizeof(r.ssh));
	r.network[1] += c->other_network;
	r.pins[1] += c->other_pins;
	memcpy(bytes, &r, sizeof(r));
	memcpy(bytes + sizeof(r), c->text, n);
	if (c->cut)
		bytes[sizeof(r) + n - 1] = 'x';
	all = sizeof(r) + n + !c->impatient;
	iov.iov_len = c->most ?: all;
	if (c->input) {
		if (pipe(pipes) || write(pipes[1], c->input, strlen(c->input)) < 0)
			abort();
		close(pipes[1]);
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
		CMSG_FIRSTHDR(&message)->cmsg_level = SOL_SOCKET;
		CMSG_FIRSTHDR(&message)->cmsg_type = SCM_RIGHTS;
		CMSG_FIRSTHDR(&message)->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), &pipes[0], sizeof(int));
	}
	if (sendmsg(fd, &message, 0) != (ssize_t)iov.iov_len)
		abort();
	if (c->input)
		close(pipes[0]);
	shutdown(fd, SHUT_WR);
}

static void hears(void)
{
	static char bytes[1 << 16];
	ssize_t n = recv(far_end, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_WAITALL);
	struct errand_part part;

	if (n <= 0)
		puts("  hears nothing");
	for (const char *at = bytes; n > 0 && at + sizeof(part) <= bytes + n;) {
		memcpy(&part, at, sizeof(part));
		at += sizeof(part);
		if (part.kind == ERRAND_READY || part.kind == ERRAND_STATUS) {
			printf("  hears %s %u\n", part.kind == ERRAND_READY ? "its turn" : "the status", part.value);
			continue;
		}
		printf("  hears %s: ", part.kind == ERRAND_OUTPUT   ? "output"
				       : part.kind == ERRAND_ERRORS ? "errors"
								    : "no");
		if (part.value > 1000)
			puts("much");
		else
			printf("%.*s%s", (int)part.value, at, part.value && at[part.value - 1] == '\n' ? "" : "\n");
		at += part.value;
	}
	close(far_end);
}

static int given_accept(int fd)
{
	int pair[2];

	if (far_end >= 0)
		hears();
	far_end = -1;
	here = next_comes++;
	if (fd != STDIN_FILENO || here->refuses) {
		errno = ECONNABORTED;
		return -1;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		abort();
	far_end = pair[1];
	puts("somebody comes");
	says(far_end, here);
	return pair[0];
}

static void given_poll(struct pollfd *fds, nfds_t n, const struct timespec *t)
{
	if (n != 1 || fds->fd != STDIN_FILENO || fds->events != POLLIN || fds->revents)
		puts("  another is waited for");
	if (next_comes && (next_comes->text || next_comes->refuses))
		fds->revents = POLLIN;
	else
		printf("nobody comes for %ld.%09ld s\n", (long)t->tv_sec, t->tv_nsec);
}

static int given_getsockopt(int fd, int level, int name, void *to, socklen_t *size)
{
	struct ucred *who = to;

	(void)fd;
	if (level != SOL_SOCKET || name != SO_PEERCRED || *size != sizeof(*who) || here->unknown)
		return -1;
	who->uid = geteuid() + here->other_user;
	return 0;
}

static int given_setsockopt(int fd, int level, int name, const struct timeval *t, socklen_t size)
{
	(void)fd;
	if (told)
		return 0;
	printf("  %s within %ld.%06ld s\n",
	       name == SO_RCVTIMEO   ? "says all"
	       : name == SO_SNDTIMEO ? "hears all"
				     : "?",
	       (long)t->tv_sec, (long)t->tv_usec);
	return level != SOL_SOCKET || size != sizeof(*t);
}

static bool given_place(const struct context *context, uint64_t network[2], uint64_t pins[2])
{
	CHECK(context == &own, "of another");
	memcpy(network, (uint64_t[]){ 1, 2 }, 16);
	memcpy(pins, (uint64_t[]){ 3, 4 }, 16);
	return !here->no_place;
}

/* In pieces, or not at all. */
static ssize_t given_send(int fd, const void *at, size_t n, int flags)
{
	if (fails("send") || (fails("answer") && n > sizeof(struct errand_part)))
		return -1;
	return send(fd, at, fails("pieces") && n > 3 ? 3 : n, flags);
}

/* --- What they ask for --- */

static int given_run(const struct verb *verb, struct context *context, const struct words *words)
{
	char *first = words->words[0];
	char line[100];

	printf("%s in %s, %s, for %u from '%s' %d, of %s%s%s\n", verb->name, context->state, context->bpffs,
	       errand.user, errand.ssh, errand.ssh_pid, log_subject.verb, log_subject.list ? "?" : "",
	       log_settings.quiet ? ", quiet" : "");
	if (!errand.here || errand.declined || log_subject.since != 12)
		puts("not as it should be");
	if (words->words[words->n])
		puts("it does not end");
	for (int i = 1; i < words->n; i++)
		printf("'%s'\n", words->words[i]);
	if (standard_input(context))
		puts("another has read the input");
	else if (here->input && fgets(line, sizeof(line), stdin))
		printf("reads %s\n", line);
	fprintf(stderr, "errors of it\n");
	fail("so it is");
	log_where("somewhere");
	log_settings.quiet = true;
	for (int i = 0; i < here->many; i++)
		puts("");
	if (words->n > 1 && !strcmp(words->words[1], "decline"))
		errand_decline("it would take long");
	if (words->n > 1 && !strcmp(words->words[1], "stop"))
		stop_asked = SIGTERM;
	words->words[0] = words->words[words->n - 1];
	words->words[words->n - 1] = first;
	return words->n == 1 ? EXIT_DONE : EXIT_REFUSED;
}

static void given_event(const struct verb *verb, const struct context *context, int argc, char *const *argv, int status)
{
	printf("event of %s in %s, %d:", verb->name, context->state, status);
	for (int i = 0; i < argc; i++)
		printf(" %s", argv[i]);
	puts(argv[argc] ? " and more" : "");
}

static const struct verb given_verbs[] = { { .name = "no", .flags = VERB_CHANGES },
					   { .name = "say", .flags = VERB_CHANGES | VERB_ERRAND },
					   { 0 } };

static FILE *given_cookie(cookie_io_functions_t io)
{
	static int made;

	if (fails("first cookie") || (fails("second cookie") && made++))
		return NULL;
	return fopencookie(NULL, "w", io);
}

#define verbs			     given_verbs
#define verb_run		     given_run
#define event_verb		     given_event
#define errand_place		     given_place
#define accept4(fd, a, n, flags)     given_accept(fd)
#define stop_poll		     given_poll
#define stop_on(signal)		     (told ? 0 : printf("ends by %d\n", signal))
#define getsockopt		     given_getsockopt
#define setsockopt(f, l, n, t, s)    given_setsockopt(f, l, n, t, s)
#define send			     given_send
#define windows_keep()		     (told ? 0 : puts("windows are kept"))
#define windows_forget()	     puts("  windows are forgotten")
#define clock_seconds()		     (12.0)
#define malloc(n)		     (fails("malloc") ? NULL : malloc(n))
#define calloc(n, size)		     (fails("calloc") || (fails("copy") && ++callocs == 2) ? NULL : calloc(n, size))
#define realloc(at, n)		     (fails("realloc") || (fails("last") && ++reallocs == 9) ? NULL : realloc(at, n))
#define fdopen(fd, how)		     (fails("fdopen") ? NULL : fdopen(fd, how))
#define fopencookie(cookie, how, io) given_cookie(io)
#include "verbs/errand_serve.c"
#undef malloc
#undef calloc
#undef realloc
#undef fdopen
#undef send

static int lowest(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	close(fd);
	return fd;
}

static void serves(const struct comes *who)
{
	int descriptors = lowest(), err = dup(STDERR_FILENO), status;
	FILE *in = stdin, *out = stdout, *errors = stderr;

	fflush(stdout);
	dup2(STDOUT_FILENO, STDERR_FILENO);
	next_comes = who;
	far_end = -1;
	stop_asked = 0;
	lost = false;
	errand = (struct errand){ 0 };
	status = errand_serve(&own);
	if (far_end >= 0)
		hears();
	printf("= %d%s%s%s\n", status, errand.here ? "" : ", not here", log_settings.quiet ? ", quiet" : "",
	       stdin != in || stdout != out || stderr != errors ? ", streams of another" : "");
	stop_asked = 0;
	dup2(err, STDERR_FILENO);
	close(err);
	if (lowest() != descriptors)
		puts("descriptors are left");
	told = true;
}

#define COME(...) serves((const struct comes[]){ __VA_ARGS__, { 0 } })

static void anew(void)
{
	failing = "";
	log_settings = (struct log_settings){ 0 };
}

static void nobody(void)
{
	serves((const struct comes[]){ { 0 } });
	COME({ .refuses = 1 });
	COME({ .refuses = 1 }, { .text = "say\0" });
}

static void asked(void)
{
	COME({ .text = "say\0" });
	COME({ .text = "say\0one\0two words\0" }, { .text = "say\0" });
	COME({ .text = "say\0one\0", .input = "a line" }, { .text = "say\0", .input = "another" }, { .text = "say\0" });
	COME({ .text = "say\0decline\0" }, { .text = "say\0" });
	COME({ .text = "say\0decline\0", .input = "a line" });
	COME({ .text = "say\0stop\0" }, { .text = "say\0" });
	COME({ .text = "say\0", .many = 1000 });
	COME({ .text = "say\0", .many = 3000 });
	failing = "pieces";
	COME({ .text = "say\0" });
}

static void no_such_verb(void)
{
	COME({ .text = "no\0" });
	COME({ .text = "none\0" });
	COME({ .text = "sa\0" });
	COME({ .text = "say\0", .words = 2, .bytes = 4 });
}

static void not_let_in(void)
{
	COME({ .text = "say\0", .other_user = true }, { .text = "say\0" });
	COME({ .text = "say\0", .unknown = true });
	COME({ .text = "say\0", .impatient = true });
	COME({ .text = "say\0", .impatient = true, .input = "a line" });
	COME({ .text = "say\0", .most = 1 });
	COME({ .text = "say\0", .most = sizeof(struct errand_request) - 1 });
	COME({ .text = "say\0", .most = sizeof(struct errand_request) });
	COME({ .text = "say\0", .most = sizeof(struct errand_request) + 3 });
	COME({ .text = "say\0", .cut = true });
	COME({ .text = "say\0", .bytes = 3 });
	COME({ .text = "say\0one\0", .words = 8 });
	COME({ .text = "say\0one\0", .words = 9 });
	COME({ .text = "say\0one\0", .words = 3 });
	COME({ .text = "say\0one\0", .words = 1 });
	COME({ .text = "say\0", .bytes = (8 << 20) + 1 });
	COME({ .text = "say\0", .bytes = 8 << 20 });
	COME({ .text = "\0" });
}

static void of_another(void)
{
	COME({ .text = "say\0", .version = "another" }, { .text = "say\0" });
	COME({ .text = "say\0", .version = "a versio" });
	COME({ .text = "say\0", .version = "a version and more" });
	COME({ .text = "say\0", .ssh_unended = true });
	COME({ .text = "say\0", .other_network = true });
	COME({ .text = "say\0", .no_place = true });
	COME({ .text = "say\0", .other_pins = true });
}

static void each_fails(void)
{
	static const char *const each[] = { "malloc", "calloc",	      "copy",	       "realloc", "last",
					    "fdopen", "first cookie", "second cookie", "send",	  "answer" };

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		failing = each[i];
		callocs = reallocs = 0;
		printf("-- %s\n", failing);
		COME({ .text = "say\0", .input = "a line" }, { .text = "say\0" });
		failing = "";
		free(written);
		written = NULL;
	}
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "nobody comes", nobody },	     { "asked", asked },	   { "no such verb", no_such_verb },
		{ "who is not let in", not_let_in }, { "of another", of_another }, { "each fails", each_fails },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), anew);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };
	int status = ktap_run(cases, sizeof(cases) / sizeof(*cases));

	free(written);
	return status;
}
