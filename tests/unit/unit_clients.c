// SPDX-License-Identifier: GPL-2.0-only
/* Who starts the programs that speak to servers, and believes nothing of what they answer: with such programs made up.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/helper.h"
#include "base/log.h"
#include "ktap.h"

#define PID 4711

#define NEEDED(is)               \
	do {                     \
		if (!(is))       \
			abort(); \
	} while (0)

/* --- The program --- */

static struct {
	int start_err;
	const char *answer; /* NULL: it ends without one */
	size_t answer_n;
	const char *body;
	bool deaf; /* it has ended before it is asked */
	/* What came of it. */
	int fd, starts, stops, fds[2], asks;
	size_t fds_n, asked_n;
	char asked[16384], name[32], also[32];
} program;

static int given_start(const struct helper *helper, pid_t *pid)
{
	int pair[2];

	*pid = PID;
	program.starts++;
	snprintf(program.name, sizeof(program.name), "%s", helper->name);
	if (program.start_err)
		return because(program.start_err, "it is not there");
	NEEDED(!socketpair(AF_UNIX, helper->type | SOCK_CLOEXEC, 0, pair));
	if (program.answer)
		NEEDED(send(pair[1], program.answer, program.answer_n, 0) == (ssize_t)program.answer_n);
	else if (helper->type == SOCK_SEQPACKET)
		shutdown(pair[1], SHUT_WR);
	program.fd = pair[1];
	if (program.deaf)
		close(pair[1]);
	return pair[0];
}

/* What it was asked, and what it has written meanwhile. */
static void heed(void)
{
	char control[CMSG_SPACE(4 * sizeof(int))] __attribute__((aligned(sizeof(size_t))));
	struct iovec data = { program.asked, sizeof(program.asked) };
	struct msghdr m = {
		.msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	ssize_t n = recvmsg(program.fd, &m, MSG_DONTWAIT);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;

	program.asked_n = n > 0 ? (size_t)n : 0;
	if (c) {
		program.fds_n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		CHECK(c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && program.fds_n <= 2,
		      "%zu descriptors", program.fds_n);
		memcpy(program.fds, CMSG_DATA(c), program.fds_n * sizeof(int));
	}
	if (program.fds_n && program.body)
		NEEDED(write(program.fds[0], program.body, strlen(program.body)) >= 0);
	if (program.fds_n > 1)
		NEEDED(pread(program.fds[1], program.also, sizeof(program.also) - 1, 0) >= 0);
	for (size_t i = 0; i < program.fds_n; i++) {
		socklen_t size = sizeof(program.asks);

		if (getsockopt(program.fds[i], SOL_SOCKET, SO_PROTOCOL, &program.asks, &size))
			program.asks = -1;
		close(program.fds[i]);
	}
}

static void given_stop(int fd, pid_t pid)
{
	CHECK(pid == PID, "another process: %d", (int)pid);
	program.stops++;
	if (!program.deaf) {
		heed();
		close(program.fd);
	}
	close(fd);
}

static int waited_ms, interrupts;
static bool no_time; /* what it answers comes too late */
static bool no_file;

static int given_poll(struct pollfd *fds, nfds_t n, int milliseconds)
{
	CHECK(n == 1 && fds->events == POLLIN, "it waits for something else");
	waited_ms = milliseconds;
	if (interrupts-- > 0) {
		errno = EINTR;
		return -1;
	}
	if (no_time) {
		no_time = false;
		errno = EINTR; /* of another call */
		return 0;
	}
	return poll(fds, n, 0);
}

static FILE *given_file(uint64_t *most)
{
	*most = 1 << 30;
	errno = EROFS;
	return no_file ? NULL : tmpfile();
}

static int no_look; /* at what was fetched: an error */

static int given_fstat(int fd, struct stat *st)
{
	errno = no_look;
	return no_look ? -1 : fstat(fd, st);
}

#define fstat		  given_fstat
#define helper_start	  given_start
#define helper_stop	  given_stop
#define poll		  given_poll
#define file_without_name given_file
#include "fetch/client.c"
#undef poll
#undef file_without_name
#undef fstat
#include "fleet/client.c"

/* --- Fetching --- */

static char message[FETCH_MESSAGE_MAX + 2];

static void program_is(const struct fetch_answer *answer, const char *body)
{
	memset(&program, 0, sizeof(program));
	program.body = body;
	program.answer = message;
	program.answer_n = fetch_answer_write(message, sizeof(message), answer);
	NEEDED(program.answer_n);
}

static const struct fetch_request wanted = {
	.url = "https://feeds.example/list", .connect = 7, .seconds = 40, .bytes = 5
};

static void is_refused(const char *why)
{
	struct fetch_answer answer;
	int body = 5, err = fetch_ask(&wanted, -1, &answer, &body);

	CHECK(err_is(err, EIO) && !strcmp(reason(err), why) && body == -1 && program.stops == 1 && answer.here &&
		      !answer.bytes,
	      "'%s', stopped %d times", err ? reason(err) : "no error", program.stops);
}

#define NO_ANSWER "the process that fetches it gave no proper answer"

static void fetched(void)
{
	struct fetch_answer is = { .outcome = FETCH_NEW, .bytes = 5 }, answer;
	struct fetch_request asked;
	char text[10];
	int body, err;

	program_is(&is, "12345");
	interrupts = 2;
	err = fetch_ask(&wanted, -1, &answer, &body);
	CHECK(!err && body >= 3 && read(body, text, sizeof(text)) == 5 && !memcmp(text, "12345", 5), "%s",
	      err ? reason(err) : "another body");
	close(body);
	CHECK(waited_ms == (40 + 7 + 30) * 1000 && interrupts < 0, "it waits %d ms", waited_ms);
	CHECK(program.starts == 1 && program.stops == 1 && program.fds_n == 1 &&
		      !strcmp(program.name, "xdp-bloom-fetch"),
	      "%zu descriptors for %s", program.fds_n, program.name);
	CHECK(fetch_request_read(&asked, program.asked, program.asked_n) && !strcmp(asked.url, wanted.url) &&
		      asked.seconds == 40,
	      "another request");
	/* Nothing is new. */
	is = (struct fetch_answer){ .outcome = FETCH_SAME };
	program_is(&is, "");
	err = fetch_ask(&wanted, -1, &answer, &body);
	CHECK(!err && body == -1 && answer.outcome == FETCH_SAME, "%s", err ? reason(err) : "another outcome");
	is = (struct fetch_answer){ .outcome = FETCH_FAILED, .why = "it is gone" };
	program_is(&is, "12345");
	err = fetch_ask(&wanted, -1, &answer, &body);
	CHECK(!err && body == -1 && !strcmp(answer.why, "it is gone") && !answer.here, "%s",
	      err ? reason(err) : answer.why);
}

static void with_headers(void)
{
	struct fetch_answer is = { .outcome = FETCH_SAME }, answer;
	int headers = memfd_create("headers", MFD_CLOEXEC), body, err;

	NEEDED(headers >= 0 && write(headers, "X-Key: 1\n", 9) == 9);
	program_is(&is, NULL);
	err = fetch_ask(&wanted, headers, &answer, &body);
	CHECK(!err && program.fds_n == 2 && !strcmp(program.also, "X-Key: 1\n"), "%zu descriptors, '%s'", program.fds_n,
	      program.also);
	close(headers);
}

static void not_believed(void)
{
	struct fetch_answer is = { .outcome = FETCH_NEW, .bytes = 5 };

	program_is(&is, "1234");
	is_refused("what was fetched is not as long as the process that did it says");
	program_is(&is, "123456");
	is_refused("what was fetched is not as long as the process that did it says");
	is = (struct fetch_answer){ .outcome = FETCH_SIGNED };
	program_is(&is, "");
	is_refused(NO_ANSWER);
	/* None at all; one that is none; one that is too long by a byte. */
	program_is(&is, "");
	program.answer = NULL;
	is_refused(NO_ANSWER);
	program_is(&is, "");
	program.answer = "good\n";
	program.answer_n = 5;
	is_refused(NO_ANSWER);
	memset(&program, 0, sizeof(program));
	memset(message, 'x', sizeof(message));
	memcpy(message, "failed\nwhy it\nurl ", 18);
	program.answer = message;
	program.answer_n = FETCH_MESSAGE_MAX + 1;
	is_refused(NO_ANSWER);
}

static void not_started(void)
{
	struct fetch_answer is = { .outcome = FETCH_NEW }, answer;
	int body, err;

	program_is(&is, "");
	program.start_err = -ENOENT;
	err = fetch_ask(&wanted, -1, &answer, &body);
	CHECK(err_is(err, ENOENT) && !strcmp(reason(err), "it is not there") && !program.stops && body == -1 &&
		      answer.here,
	      "%s", err ? reason(err) : "no error");
	no_file = true;
	err = fetch_ask(&wanted, -1, &answer, &body);
	no_file = false;
	CHECK(err_is(err, EROFS) && !strcmp(reason(err), "nothing can be fetched: Read-only file system") &&
		      program.starts == 1 && body == -1 && answer.here,
	      "%s", err ? reason(err) : "no error");
	/* It has ended before it is asked. */
	program_is(&is, "");
	program.deaf = true;
	err = fetch_ask(&wanted, -1, &answer, &body);
	CHECK(err_is(err, EPIPE) && program.stops == 1 && body == -1, "%s", err ? errno_text(err) : "no error");
}

static void not_looked_at(void)
{
	struct fetch_answer is = { .outcome = FETCH_NEW, .bytes = 2 };

	program_is(&is, "12");
	no_time = true;
	is_refused(NO_ANSWER);
	program_is(&is, "12");
	no_look = EIO;
	is_refused("what was fetched cannot be read: Input/output error");
	no_look = 0;
}

static void signatures(void)
{
	static const struct {
		int outcome;
		const char *why;
	} outcomes[] = {
		{ FETCH_SIGNED, NULL },
		{ FETCH_FAILED, NULL },
		{ FETCH_NEW, "the process that checks its signature gave no proper answer" },
		{ FETCH_SAME, "the process that checks its signature gave no proper answer" },
	};
	int list = memfd_create("list", MFD_CLOEXEC), signature = memfd_create("signature", MFD_CLOEXEC);

	NEEDED(list >= 0 && signature >= 0 && write(signature, "signed", 6) == 6);
	for (size_t i = 0; i < sizeof(outcomes) / sizeof(*outcomes); i++) {
		struct fetch_answer is = { .outcome = outcomes[i].outcome }, answer;
		struct fetch_request asked;
		int err;

		strcpy(is.why, is.outcome == FETCH_FAILED ? "not by it" : "");
		program_is(&is, NULL);
		err = fetch_verify("RWQkey", list, signature, &answer);
		CHECK(outcomes[i].why ? err_is(err, EIO) && !strcmp(reason(err), outcomes[i].why)
				      : !err && answer.outcome == is.outcome,
		      "outcome %d: %s", is.outcome, err ? reason(err) : "no error");
		CHECK(program.fds_n == 2 && !strcmp(program.also, "signed"), "another signature: '%s'", program.also);
		CHECK(fetch_request_read(&asked, program.asked, program.asked_n) && !strcmp(asked.key, "RWQkey") &&
			      !*asked.url,
		      "another key: '%s'", asked.key);
		CHECK(waited_ms == (FETCH_SECONDS + 1 + 30) * 1000, "it waits %d ms", waited_ms);
	}
	memset(&program, 0, sizeof(program));
	program.start_err = -ENOENT;
	CHECK(err_is(fetch_verify("RWQkey", list, signature, &(struct fetch_answer){ 0 }), ENOENT), "no error");
	close(list);
	close(signature);
}

/* --- The fleet --- */

static const struct fleet_request joins = { .url = "redis://127.0.0.1", .name = "edge-1", .prefix = FLEET_PREFIX };

static void fleet(void)
{
	char text[FLEET_MESSAGE_MAX];
	size_t n = fleet_request_write(text, sizeof(text), &joins);
	pid_t pid = 0;
	int fd;

	memset(&program, 0, sizeof(program));
	fd = fleet_start(&joins, &pid);
	CHECK(fd >= 0 && pid == PID && fcntl(fd, F_GETFL) & O_NONBLOCK && !strcmp(program.name, "xdp-bloom-fleet"),
	      "%s", fd < 0 ? reason(fd) : program.name);
	CHECK(!program.stops, "it is ended");
	fleet_stop(fd, pid);
	/* With it goes what it asks the kernel by. */
	CHECK(program.fds_n == 1 && program.asks == NETLINK_SOCK_DIAG, "%zu, of %d", program.fds_n, program.asks);
	CHECK(program.stops == 1 && n && program.asked_n == n && !memcmp(program.asked, text, n), "%zu bytes of %zu",
	      program.asked_n, n);
}

static void fleet_not_started(void)
{
	struct fleet_request bad = joins;
	pid_t pid;
	int fd;

	memset(&program, 0, sizeof(program));
	program.start_err = -ENOENT;
	fd = fleet_start(&joins, &pid);
	CHECK(err_is(fd, ENOENT) && !strcmp(reason(fd), "it is not there") && !program.stops, "%s",
	      fd < 0 ? reason(fd) : "no error");
	memset(&program, 0, sizeof(program));
	program.deaf = true;
	fd = fleet_start(&joins, &pid);
	CHECK(err_is(fd, EIO) && !strcmp(reason(fd), "xdp-bloom-fleet takes no request: Broken pipe") &&
		      program.stops == 1,
	      "%s", fd < 0 ? reason(fd) : "no error");
	memset(&program, 0, sizeof(program));
	strcpy(bad.user, "a\nb");
	fd = fleet_start(&bad, &pid);
	CHECK(err_is(fd, EMSGSIZE) && !program.starts, "%d, started %d times", fd, program.starts);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "what is fetched", fetched },
		{ "with lines of headers", with_headers },
		{ "answers that are not believed", not_believed },
		{ "who cannot fetch", not_started },
		{ "what cannot be looked at", not_looked_at },
		{ "signatures", signatures },
		{ "who speaks to the fleet", fleet },
		{ "who cannot speak to the fleet", fleet_not_started },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
