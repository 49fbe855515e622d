// SPDX-License-Identifier: GPL-2.0-only
#include "base/confined.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/calls.h"
#include "base/close_fd.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/rights.h"

#define MEMORY_LEAST ((size_t)512 << 20)
#define PIPE_BYTES   (1 << 20)

#ifdef CALLS_ARCHITECTURE
static int allow_calls(void)
{
	struct sock_filter filter[] = {
		CALLS_BEGIN,
		ALLOW(read),
		ALLOW(write),
		/* These two are what musl reads and writes files by. */
		ALLOW(readv),
		ALLOW(writev),
		ALLOW(mmap),
		ALLOW(munmap),
		ALLOW(mremap),
		ALLOW(madvise),
		ALLOW(brk),
		ALLOW(mprotect),
		ALLOW(futex),
		/* Where the machine's clock is no register of the CPU, the vDSO has to ask the kernel. */
		ALLOW(clock_gettime),
		ALLOW(gettimeofday),
		ALLOW(getrandom),
		ALLOW(getpid),
		ALLOW(gettid),
		ALLOW(rt_sigprocmask),
		ALLOW(rt_sigreturn),
		ALLOW(restart_syscall),
		ALLOW(close),
		ALLOW(exit),
		ALLOW(exit_group),
		REFUSE(openat),
#ifdef __NR_open /* musl goes by the older names of calls, where there are any */
		REFUSE(open),
		REFUSE(stat),
		REFUSE(lstat),
		REFUSE(readlink),
#endif
		REFUSE(newfstatat),
		REFUSE(fstat),
		REFUSE(lseek),
		REFUSE(fcntl),
		REFUSE(ioctl),
		REFUSE(prctl),
		REFUSE(prlimit64),
		REFUSE(sysinfo),
		REFUSE(sched_getaffinity),
		REFUSE(readlinkat),
		REFUSE(sigaltstack),
		/* Everything else ends the process. */
		CALLS_END(SECCOMP_RET_KILL_PROCESS),
	};

	return rights_calls(filter, sizeof(filter) / sizeof(*filter));
}
#else
static int allow_calls(void)
{
	return -ENOSYS;
}
#endif

static int give_up(size_t memory)
{
	int err = SANITIZED ? 0 : rights_limit_memory(memory);

	err = err ?: rights_limit(RLIMIT_FSIZE, 0) ?: rights_limit(RLIMIT_CORE, 0) ?: rights_limit(RLIMIT_NOFILE, 0);
	err = err ?: rights_own_user() ?: rights_drop();
	if (!err && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
		err = -errno;
	return err;
}

/* In the child: 0 is the input, 1 the answer, and nothing else is open. Where the kernel has no seccomp, the rest
 * holds. */
__attribute__((noreturn)) static void become(int input, int answer, pid_t parent, size_t memory, confined_work *work,
					     void *arg)
{
	int err;

	signal(SIGPIPE, SIG_DFL);
	signal(SIGSEGV, SIG_DFL);
	if ((input < 0 ? close(0) : dup2(input, 0)) < 0 || dup2(answer, 1) < 0 || close_from(SANITIZED ? 3 : 2) ||
	    give_up(memory) || getppid() != parent)
		_exit(1);
	err = SANITIZED ? 0 : allow_calls();
	if (err && !err_is(err, EINVAL) && !err_is(err, ENOSYS))
		_exit(1);
	work(arg, 1);
	_exit(0);
}

size_t confined_memory(size_t memory)
{
	size_t half = (size_t)(memory_available() / 2);

	return memory ? memory : half > MEMORY_LEAST ? half : MEMORY_LEAST;
}

int confined_start(struct confined *c, int input, size_t memory, confined_work *work, void *arg)
{
	pid_t parent = getpid();
	int pipes[2], err;

	*c = (struct confined){ .answer = -1 };
	memory = confined_memory(memory);
	if (pipe2(pipes, O_CLOEXEC))
		return -errno;
	fcntl(pipes[0], F_SETPIPE_SZ, PIPE_BYTES); /* fewer turns; without it, it is only slower */
	c->pid = fork();
	if (!c->pid)
		become(input, pipes[1], parent, memory, work, arg);
	err = c->pid == -1 ? -errno : 0;
	close(pipes[1]);
	if (err)
		close(pipes[0]);
	else
		c->answer = pipes[0];
	return err;
}

int confined_answer(const struct confined *c, void *buf, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = read(c->answer, (char *)buf + done, size - done);

		if (n > 0)
			done += (size_t)n;
		else if (!n || errno != EINTR)
			return n ? -errno : -EIO;
	}
	return 0;
}

int confined_end(struct confined *c, char *how, size_t size)
{
	int status = 0;
	bool ended;
	pid_t pid;

	if (c->pid <= 0)
		return 0;
	close_fd(c->answer);
	c->answer = -1;
	do
		pid = waitpid(c->pid, &status, 0);
	while (pid == -1 && errno == EINTR);
	ended = pid == c->pid;
	c->pid = 0;
	if (ended && WIFSIGNALED(status))
		snprintf(how, size, "it was killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		snprintf(how, size, "it ended with %d", ended ? WEXITSTATUS(status) : -1);
	return ended && !status ? 0 : -EIO;
}

void confined_stop(struct confined *c)
{
	char how[64];

	if (c->pid > 0 && !kill(c->pid, SIGKILL))
		confined_end(c, how, sizeof(how));
	close_fd(c->answer);
	*c = (struct confined){ .answer = -1 };
}

bool confined_tell(int answer, const void *buf, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = write(answer, (const char *)buf + done, size - done);

		if (n > 0)
			done += (size_t)n;
		else if (!n || errno != EINTR)
			return false;
	}
	return true;
}
