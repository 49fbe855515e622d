// SPDX-License-Identifier: GPL-2.0-only
/* Helpers: one that is started has a socket, no signal blocked, nothing of our environment, and ends with who started
 * it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "ktap.h"
#include "used_stack.h"

enum { PAIR = 1, PROCESS, INPUT, DEATH, PARENT, BEGIN };
static int fails;	   /* of these calls */
static unsigned int waits; /* so many are interrupted */

static int given_pair(int domain, int type, int protocol, int pair[2])
{
	errno = EMFILE;
	return fails == PAIR ? -1 : socketpair(domain, type, protocol, pair);
}

static pid_t given_fork(void)
{
	pid_t pid = fails == PROCESS ? -1 : fork();

	use_stack();
	errno = EAGAIN;
	return pid;
}

static int given_dup2(int from, int to)
{
	return fails == INPUT ? -1 : dup2(from, to);
}

static int given_prctl(int what, int signal)
{
	return fails == DEATH ? -1 : prctl(what, signal);
}

static pid_t given_getppid(void)
{
	return fails == PARENT ? 1 : getppid();
}

static int given_execve(const char *path, char *const *argv, char *const *environment)
{
	return fails == BEGIN ? -1 : execve(path, argv, environment);
}

static pid_t given_waitpid(pid_t pid, int *status, int flags)
{
	if (waits) {
		waits--;
		errno = EINTR;
		return -1;
	}
	return waitpid(pid, status, flags);
}

#define socketpair given_pair
#define fork	   given_fork
#define dup2	   given_dup2
#define prctl	   given_prctl
#define getppid	   given_getppid
#define execve	   given_execve
#define waitpid	   given_waitpid
#include "base/helper.c"
#undef socketpair
#undef fork
#undef dup2
#undef waitpid

/* cat(1), from whatever directory this is in. */
#define UP "/../../../../../../../../../../../../../../../.."
static const char *const cat[] = { "/none", UP "/bin/cat", NULL };
static const struct helper a_cat = { "cat", "which copies", cat, "/nobody/listens", SOCK_STREAM };

/* What /proc has of it, up to `size`. */
static bool proc(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, size - 1);
	text[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
	return n > 0;
}

/* As soon as it has written what it was sent, it is cat. */
static bool is_there(int fd, int out)
{
	struct pollfd fds = { .fd = out, .events = POLLIN };
	char text[2];

	return CHECK(send(fd, "a", 1, MSG_NOSIGNAL) == 1 && poll(&fds, 1, 60000) == 1 && read(out, text, 2) == 1 &&
			     *text == 'a',
		     "it does not answer");
}

static void started(void)
{
	int out = dup(STDOUT_FILENO), pipes[2], fd;
	char text[4096] = "";
	sigset_t all, old;
	bool is;
	pid_t pid;

	if (!CHECK(!pipe2(pipes, O_CLOEXEC), "no pipe"))
		return;
	fflush(stdout);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	setenv("HTTPS_PROXY", "http://192.0.2.1", 1);
	dup2(pipes[1], STDOUT_FILENO);
	fd = helper_start(&a_cat, &pid);
	dup2(out, STDOUT_FILENO);
	close(out);
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (CHECK(fd >= 0 && pid > 0, "%s", fd < 0 ? reason(fd) : "no process") && is_there(fd, pipes[0])) {
		is = proc(pid, "status", text, sizeof(text));
		CHECK(is && strstr(text, "\nSigBlk:\t0000000000000000\n"), "signals are blocked: %s",
		      is ? strstr(text, "\nSigBlk") : "");
		CHECK(proc(pid, "environ", text, sizeof(text)) && !strcmp(text, "PATH=/usr/bin:/bin"),
		      "environment: %s", text);
		CHECK(!strcmp(text + strlen(text) + 1, ""), "and %s", text + strlen(text) + 1);
		CHECK(proc(pid, "cmdline", text, sizeof(text)) && !strcmp(text, "cat"), "its name: %s", text);
		helper_stop(fd, pid);
		CHECK(kill(pid, 0) && errno == ESRCH, "it goes on");
	}
	close(pipes[0]);
	close(pipes[1]);
}

/* On its way to somebody else, it stays open. */
static bool hand_on(int to, int fd)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { { 0 } };
	struct iovec part = { (char[]){ 'f' }, 1 };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	return sendmsg(to, &message, 0) == 1;
}

/* Whoever started it is killed, and it is gone with him: nobody has its standard output any more. */
static void ends_with_us(void)
{
	int pipes[2], kept[2];
	struct pollfd fds;
	char text[2];
	pid_t us, pid;

	if (!CHECK(!pipe2(pipes, O_CLOEXEC) && !socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, kept), "no pipe"))
		return;
	fflush(stdout);
	us = fork();
	if (!us) {
		int fd;

		dup2(pipes[1], STDOUT_FILENO);
		fd = helper_start(&a_cat, &pid);
		/* That its socket is closed is not why it ends. */
		if (fd >= 0 && hand_on(kept[1], fd) && send(fd, "a", 1, 0) == 1)
			pause();
		_exit(1);
	}
	close(pipes[1]);
	fds = (struct pollfd){ .fd = pipes[0], .events = POLLIN };
	CHECK(poll(&fds, 1, 60000) == 1 && read(pipes[0], text, 1) == 1, "it does not answer");
	kill(us, SIGKILL);
	waitpid(us, NULL, 0);
	CHECK(poll(&fds, 1, 60000) == 1 && !read(pipes[0], text, 1), "it goes on");
	close(pipes[0]);
	close(kept[0]);
	close(kept[1]);
}

static void connected(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct helper helper = { "cat", "which copies", cat, at.sun_path, SOCK_SEQPACKET };
	char directory[] = "/tmp/xdp-bloom-helper-XXXXXX";
	int listener, fd;
	pid_t pid = 5;

	if (!CHECK(mkdtemp(directory), "no directory"))
		return;
	snprintf(at.sun_path, sizeof(at.sun_path), "%s/socket", directory);
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	CHECK(!bind(listener, (struct sockaddr *)&at, sizeof(at)) && !listen(listener, 1), "no socket");
	fd = helper_start(&helper, &pid);
	CHECK(fd >= 0 && !pid, "a process, where one can be connected to");
	helper_stop(fd, pid);
	fd = accept(listener, NULL, NULL);
	CHECK(fd >= 0 && !recv(fd, directory, 1, MSG_DONTWAIT), "the socket is left open");
	close(fd);
	close(listener);
	unlink(at.sun_path);
	*strrchr(at.sun_path, '/') = '\0';
	rmdir(at.sun_path);
}

static void missing(void)
{
	static const char *const nowhere[] = { UP "/none/cat", "/none", NULL };
	const struct helper helper = { "cat", "which copies", nowhere, "/nobody/listens", SOCK_STREAM };
	pid_t pid = 5;
	int err = helper_start(&helper, &pid);

	CHECK(err_is(err, ENOENT) && !pid &&
		      strstr(reason(err), "cat, which copies, is not where it was installed: /") &&
		      strstr(reason(err), UP "/none/cat"),
	      "%s", reason(err));
}

/* Neither a socket nor a process: nothing is left of either, and nothing is ended. */
static void none_starts(void)
{
	static const char *const said[] = { [PAIR] = "cat cannot be started: Too many open files",
					    [PROCESS] =
						    "no process could be started: Resource temporarily unavailable" };

	for (fails = PAIR; fails <= PROCESS; fails++) {
		pid_t pid = 5;
		int err = helper_start(&a_cat, &pid);

		CHECK(err < 0 && !pid && !strcmp(reason(err), said[fails]), "%s; process %d",
		      err < 0 ? reason(err) : "it starts", (int)pid);
	}
	fails = 0;
}

/* What cannot become one, or has lost its parent, ends by itself. */
static void ends_at_once(void)
{
	for (fails = INPUT; fails <= BEGIN; fails++) {
		int status = 0, fd;
		pid_t pid;

		fflush(stdout);
		fd = helper_start(&a_cat, &pid);
		CHECK(fd >= 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
			      WEXITSTATUS(status) == EXIT_ERROR,
		      "call %d: status %x", fails, (unsigned int)status);
		close(fd);
	}
	fails = 0;
}

/* It is waited for, however often something comes between. */
static void stopped(void)
{
	pid_t pid;
	int fd;

	fflush(stdout);
	fd = helper_start(&a_cat, &pid);
	if (!CHECK(fd >= 0, "%s", reason(fd)))
		return;
	waits = 2;
	helper_stop(fd, pid);
	CHECK(!waits && waitpid(pid, NULL, WNOHANG) < 0 && errno == ECHILD, "it is left behind");
	/* Nobody is waited for where it was not started here. */
	waits = 1;
	helper_stop(dup(0), 0);
	CHECK(waits == 1, "somebody is waited for");
	waits = 0;
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "one that is started", started },	   { "one whose parent is killed", ends_with_us },
		{ "one that is connected to", connected }, { "one that is not there", missing },
		{ "none that starts", none_starts },	   { "one that ends at once", ends_at_once },
		{ "one that is stopped", stopped }
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
