// SPDX-License-Identifier: GPL-2.0-only
#include "fetch/client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/helper.h"
#include "base/log.h"
#include "base/stdin.h"

/* It ends itself before. */
#define SECONDS_MORE 30

static const char *const fetcher_places[] = HELPER_PLACES("xdp-bloom-fetch");
static const struct helper fetcher = { .name = "xdp-bloom-fetch",
				       .what = "which fetches lists",
				       .places = fetcher_places,
				       .socket = "/run/xdp-bloom/fetch", /* packaging/systemd/xdp-bloom-fetch.socket */
				       .type = SOCK_SEQPACKET };

static int send_request(int to, const struct fetch_request *request, int body, int headers)
{
	char message[FETCH_MESSAGE_MAX],
		control[CMSG_SPACE(2 * sizeof(int))] __attribute__((aligned(sizeof(size_t)))) = "";
	int files[] = { body, headers }, n = headers < 0 ? 1 : 2;
	struct iovec data = { message, fetch_request_write(message, sizeof(message), request) };
	struct msghdr m = { .msg_iov = &data,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = CMSG_SPACE((size_t)n * sizeof(int)) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN((size_t)n * sizeof(int));
	memcpy(CMSG_DATA(c), files, (size_t)n * sizeof(int));
	return sendmsg(to, &m, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int hear(int from, const struct fetch_request *request, struct fetch_answer *answer)
{
	struct pollfd ready = { .fd = from, .events = POLLIN };
	char message[FETCH_MESSAGE_MAX];
	ssize_t n;
	int got;

	do
		got = poll(&ready, 1, (int)(request->seconds + request->connect + SECONDS_MORE) * 1000);
	while (got < 0 && errno == EINTR);
	n = got > 0 ? recv(from, message, sizeof(message), MSG_TRUNC) : 0;
	if (n <= 0 || (size_t)n > sizeof(message) || !fetch_answer_read(answer, message, (size_t)n))
		return because(-EIO, "the process that fetches it gave no proper answer");
	return 0;
}

/* After its end; one that is no child of ours may live on, and still write to it. */
static int check_body(int body, const struct fetch_answer *answer)
{
	struct stat st;

	if (fstat(body, &st) || lseek(body, 0, SEEK_SET) < 0)
		return because(-errno, "what was fetched cannot be read: %s", strerror(errno));
	if ((uint64_t)st.st_size != answer->bytes)
		return because(-EIO, "what was fetched is not as long as the process that did it says");
	return 0;
}

/* A process for one answer; it has ended when this returns, if it is a child of ours. */
static int ask(const struct fetch_request *request, int body, int also, struct fetch_answer *answer)
{
	pid_t pid;
	int to = helper_start(&fetcher, &pid), err;

	if (to < 0)
		return to;
	err = send_request(to, request, body, also) ?: hear(to, request, answer);
	helper_stop(to, pid);
	return err;
}

int fetch_verify(const char *key, int list, int signature, struct fetch_answer *answer)
{
	struct fetch_request request = { .connect = 1, .seconds = FETCH_SECONDS, .bytes = 1 };
	int err;

	snprintf(request.key, sizeof(request.key), "%s", key);
	err = ask(&request, list, signature, answer);
	if (!err && answer->outcome != FETCH_SIGNED && answer->outcome != FETCH_FAILED)
		err = because(-EIO, "the process that checks its signature gave no proper answer");
	if (err)
		*answer = (struct fetch_answer){ .here = true };
	return err;
}

int fetch_ask(const struct fetch_request *request, int headers, struct fetch_answer *answer, int *body)
{
	uint64_t most;
	FILE *file = file_without_name(&most);
	int err;

	*body = -1;
	err = file ? ask(request, fileno(file), headers, answer)
		   : because(-errno, "nothing can be fetched: %s", strerror(errno));
	if (!err && answer->outcome == FETCH_SIGNED)
		err = because(-EIO, "the process that fetches it gave no proper answer");
	if (!err && answer->outcome == FETCH_NEW)
		err = check_body(fileno(file), answer);
	if (!err && answer->outcome == FETCH_NEW) {
		*body = fcntl(fileno(file), F_DUPFD_CLOEXEC, 3);
		err = *body < 0 ? -errno : 0;
	}
	if (file)
		fclose(file);
	if (err)
		*answer = (struct fetch_answer){ .here = true };
	return err;
}

static size_t take_server(struct addr *server, const char *text, size_t length)
{
	if (!length || addr_parse(text, length, server))
		return 0;
	addr_unmap(server);
	return 1;
}

size_t fetch_servers(const struct fetch_answer *answer, struct addr servers[FETCH_SERVERS])
{
	size_t n = take_server(&servers[0], answer->way, strcspn(answer->way, " "));

	return n + take_server(&servers[n], answer->address, strlen(answer->address));
}
