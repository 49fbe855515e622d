// SPDX-License-Identifier: GPL-2.0-only
#include "fetch/client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/beside.h"
#include "base/close_fd.h"
#include "base/log.h"

#define PROGRAM "xdp-bloom-fetch"
/* Where systemd starts one for each that connects: packaging/systemd/xdp-bloom-fetch.socket */
#define FETCH_SOCKET "/run/xdp-bloom/fetch"
/* It ends itself before. */
#define SECONDS_MORE 30

/* Where it is, seen from the directory of the command: installed, and in the build. */
static const char *const places[] = { "/../lib/xdp-bloom/" PROGRAM, "/" PROGRAM, NULL };

static int find_program(char path[BESIDE_MAX])
{
	int err = beside_find(path, places);

	return err ? because(err, PROGRAM ", which fetches lists, is not where it was installed: %s", path) : 0;
}

__attribute__((noreturn)) static void become(const char *path, int asked, pid_t parent)
{
	char *const argv[] = { (char *)PROGRAM, NULL };
	/* Nothing that leads elsewhere, such as a proxy or another authority. */
	char *const environment[] = { (char *)"PATH=/usr/bin:/bin", NULL };
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(asked, STDIN_FILENO) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) || getppid() != parent)
		_exit(EXIT_ERROR);
	execve(path, argv, environment);
	_exit(EXIT_ERROR);
}

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

	if (!data.iov_len)
		return -EMSGSIZE;
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

/* After its end, so that nothing is written to it any more. */
static int check_body(int body, const struct fetch_answer *answer)
{
	struct stat st;

	if (fstat(body, &st) || lseek(body, 0, SEEK_SET) < 0)
		return because(-errno, "what was fetched cannot be read: %s", strerror(errno));
	if ((uint64_t)st.st_size != answer->bytes)
		return because(-EIO, "what was fetched is not as long as the process that did it says");
	return 0;
}

static int start(const char *path, int pair[2])
{
	pid_t self = getpid(), pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return because(-errno, "nothing can be fetched: %s", strerror(errno));
	pid = fork();
	if (!pid)
		become(path, pair[1], self);
	close(pair[1]);
	if (pid >= 0)
		return pid;
	pid = because(-errno, "no process could be started: %s", strerror(errno));
	close(pair[0]);
	return pid;
}

/*
 * A process that is started for whoever connects, without any rights of ours: the service may have none that would make
 * another user of its own child. -1: there is none.
 */
static int connect_started(void)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX, .sun_path = FETCH_SOCKET };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd >= 0 && !connect(fd, (const struct sockaddr *)&to, sizeof(to)))
		return fd;
	close_fd(fd);
	return -1;
}

/* By a process of our own; it has ended when this returns. */
static int ask_own(const struct fetch_request *request, int body, int also, struct fetch_answer *answer)
{
	int pair[2] = { -1, -1 }, pid, err;
	char path[BESIDE_MAX];

	pid = find_program(path) ?: start(path, pair);
	if (pid < 0)
		return pid;
	err = send_request(pair[0], request, body, also) ?: hear(pair[0], request, answer);
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(pair[0]);
	return err;
}

/* A process for one answer. */
static int ask(const struct fetch_request *request, int body, int also, struct fetch_answer *answer)
{
	int to = connect_started(), err;

	if (to < 0)
		return ask_own(request, body, also, answer);
	err = send_request(to, request, body, also) ?: hear(to, request, answer);
	close(to);
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
	return err;
}

int fetch_ask(const struct fetch_request *request, int headers, struct fetch_answer *answer, int *body)
{
	FILE *file = tmpfile();
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
	return err;
}
