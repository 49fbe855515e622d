// SPDX-License-Identifier: GPL-2.0-only
/*
 * xdp-bloom-fetch: one request from standard input, a socket that keeps messages apart; the body to the descriptor that
 * comes with it; one answer. It keeps nothing, and knows nothing of what lists are.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/close_fd.h"
#include "base/log.h"
#include "fetch/address.h"
#include "fetch/confine.h"
#include "fetch/http.h"
#include "fetch/request.h"
#include "fetch/signature.h"

#define ASKED	    0
#define BODY	    3
#define SIGNATURE   4
#define HEADER_MOST 8192
#define CPU_SECONDS 120

/* The descriptors that come with it stay -1 where there are none. No more than 0: nothing that is whole. */
static ssize_t receive(char *message, size_t size, int *body, int *headers)
{
	char control[CMSG_SPACE(2 * sizeof(int))] __attribute__((aligned(__alignof__(struct cmsghdr)))) = "";
	struct iovec data = { message, size };
	struct msghdr m = {
		.msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	ssize_t n = recvmsg(ASKED, &m, MSG_CMSG_CLOEXEC);
	const struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	if (m.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		return 0;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
		memcpy(body, CMSG_DATA(c), sizeof(*body));
		if (c->cmsg_len >= CMSG_LEN(2 * sizeof(int)))
			memcpy(headers, CMSG_DATA(c) + sizeof(*body), sizeof(*headers));
	}
	return n;
}

static void verify(const struct fetch_request *request, int signature, int list, struct fetch_answer *answer)
{
	static char text[FETCH_SIGNATURE_MOST + 1];
	ssize_t n = pread(signature, text, sizeof(text), 0);

	if (n < 0)
		snprintf(answer->why, sizeof(answer->why), "the signature cannot be read: %s", strerror(errno));
	else if (n > FETCH_SIGNATURE_MOST)
		snprintf(answer->why, sizeof(answer->why), "it is no signature of minisign: too long");
	else
		signature_check(request->key, text, (size_t)n, list, answer);
}

/* Nothing else stays open: 0 is the socket, 3 the body, 4 the signature. */
static int arrange(int body, int signature)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), at = fcntl(body, F_DUPFD_CLOEXEC, SIGNATURE + 1);
	int also = fcntl(signature, F_DUPFD_CLOEXEC, SIGNATURE + 1);
	bool checks = signature != -1;

	if (null < 0 || at < 0 || dup2(null, 1) != 1 || dup2(null, 2) != 2 || dup2(at, BODY) != BODY ||
	    (checks && dup2(also, SIGNATURE) != SIGNATURE) || close_from(checks ? SIGNATURE + 1 : SIGNATURE))
		return because(-errno, "it cannot arrange its files: %s", strerror(errno));
	return 0;
}

static int read_headers(int fd, char text[HEADER_MOST])
{
	size_t n = 0;
	ssize_t got = 0;

	while (fd >= 0 && (got = read(fd, text + n, HEADER_MOST - 1 - n)) > 0)
		n += (size_t)got;
	text[n] = '\0';
	if (got < 0 || n == HEADER_MOST - 1 || strlen(text) != n)
		return because(-EINVAL, "the header file cannot be read, or is no text of at most %d bytes",
			       HEADER_MOST - 2);
	return 0;
}

static int tell(const struct fetch_answer *answer)
{
	char message[FETCH_MESSAGE_MAX];
	size_t n = fetch_answer_write(message, sizeof(message), answer);

	return send(ASKED, message, n, MSG_NOSIGNAL) == (ssize_t)n ? EXIT_DONE : EXIT_ERROR;
}

/* `body` is all that it can write to, and no more than the request's bytes of it. Who checks speaks to nobody. */
static int give_up(const struct fetch_request *request)
{
	struct confinement left = { .does = "fetches",
				    .file = request->ca,
				    .bytes = request->bytes,
				    .cpu_seconds = CPU_SECONDS,
				    .sockets = *request->url ? CONFINE_INTERNET : CONFINE_NONE };

	return confine(&left);
}

int main(int argc, char **argv)
{
	static char message[FETCH_MESSAGE_MAX], headers[HEADER_MOST];
	static struct fetch_request request;
	static struct fetch_answer answer;
	struct own_addresses own = { 0 };
	int body = -1, also = -1, err;
	bool checks;
	ssize_t n;

	if (argc > 1 && !strcmp(argv[1], "--version"))
		return puts("xdp-bloom-fetch " VERSION) < 0;
	n = argc > 1 ? 0 : receive(message, sizeof(message), &body, &also);
	if (n <= 0 || body < 0 || !fetch_request_read(&request, message, (size_t)n) || (*request.key && also < 0)) {
		fputs("xdp-bloom-fetch: 'xdp-bloom load NAME https://...' starts it\n", stderr);
		return EXIT_ERROR;
	}
	/* Whatever hangs, this ends it. */
	alarm((unsigned int)(request.seconds + request.connect));
	checks = *request.key;
	err = (checks ? 0 : read_headers(also, headers)) ?: arrange(body, checks ? also : -1) ?: own_addresses_read(&own);
	err = err ?: (checks ? signature_begin() : http_begin()) ?: give_up(&request);
	answer.here = err;
	if (err)
		snprintf(answer.why, sizeof(answer.why), "%s", reason(err));
	else if (checks)
		verify(&request, SIGNATURE, BODY, &answer);
	else
		http_fetch(&request, headers, &own, BODY, &answer);
	/* Not by way of the libraries' own ends: a thread may still wait for a name. */
	_exit(tell(&answer));
}
