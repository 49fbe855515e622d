// SPDX-License-Identifier: GPL-2.0-only
#include "base/confined.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/close_fd.h"
#include "base/log.h"
#include "base/memory.h"

#define NOBODY 65534
/* Of these users there are none: systemd leaves them unused, and nothing else comes near. */
#define USERS_UNUSED 0x70000000
#define MEMORY_LEAST ((size_t)512 << 20)
#define PIPE_BYTES   (1 << 20)

/* A sanitizer's own calls and its shadow memory are beyond all bounds. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__) && defined(__AARCH64EL__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCHITECTURE AUDIT_ARCH_RISCV64
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#define ARCHITECTURE AUDIT_ARCH_PPC64LE
#elif defined(__s390x__)
#define ARCHITECTURE AUDIT_ARCH_S390X
#endif

#define IF_CALL(number, verdict) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##number, 0, 1), BPF_STMT(BPF_RET | BPF_K, verdict)
#define ALLOW(number) IF_CALL(number, SECCOMP_RET_ALLOW)
/* What a C library may try, and does without. Everything else ends the process. */
#define REFUSE(number) IF_CALL(number, SECCOMP_RET_ERRNO | EPERM)

#ifdef ARCHITECTURE
static int allow_calls(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(read),
		ALLOW(write),
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
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(*filter), filter };

	/* By prctl(2): the unit has no seccomp(2). */
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) ? -errno : 0;
}
#else
static int allow_calls(void)
{
	return -ENOSYS;
}
#endif

/* Never more than it was. */
static int limit(__rlimit_resource_t what, rlim_t value)
{
	struct rlimit old;

	if (getrlimit(what, &old))
		return -errno;
	if (value > old.rlim_cur)
		value = old.rlim_cur;
	return setrlimit(what, &(struct rlimit){ value, value }) ? -errno : 0;
}

/* Bytes that are mapped already. */
static size_t mapped(void)
{
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	char text[32] = "";

	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close_fd(fd);
	return strtoul(text, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

static bool become_user(uid_t user)
{
	return !setgroups(0, NULL) && !setresgid(user, user, user) && !setresuid(user, user, user);
}

/*
 * A user of its own: processes of one that there is, such as nobody, could stop it while a lock is held. A namespace
 * may not know it, and a service under NoNewPrivileges cannot become another user: then no rights are what is left of
 * root.
 */
static int become_nobody(void)
{
	if (geteuid() || become_user(USERS_UNUSED + (uid_t)getpid()) || (errno == EINVAL && become_user(NOBODY)))
		return 0;
	return errno == EPERM || errno == EINVAL ? 0 : -errno;
}

static int give_up(size_t memory)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };
	int err = SANITIZED ? 0 : limit(RLIMIT_AS, mapped() + memory);

	err = err ?: limit(RLIMIT_FSIZE, 0) ?: limit(RLIMIT_CORE, 0) ?: limit(RLIMIT_NOFILE, 0) ?: become_nobody();
	if (err)
		return err;
	if (syscall(__NR_capset, &header, none) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
		return -errno;
	return 0;
}

/* In the child: 0 is the input, 1 the answer, and nothing else is open. Where the kernel has no seccomp, the rest
 * holds. */
__attribute__((noreturn)) static void become(int input, int answer, pid_t parent, size_t memory, confined_work *work,
					     void *arg)
{
	int err;

	signal(SIGPIPE, SIG_DFL);
	signal(SIGSEGV, SIG_DFL);
	if ((input < 0 ? close(0) : dup2(input, 0)) < 0 || dup2(answer, 1) < 0 ||
	    close_range(SANITIZED ? 3 : 2, ~0U, 0) || give_up(memory) || getppid() != parent)
		_exit(1);
	err = SANITIZED ? 0 : allow_calls();
	if (!err || err_is(err, EINVAL) || err_is(err, ENOSYS))
		work(arg, 1);
	_exit(err != 0);
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
	err = c->pid < 0 ? -errno : 0;
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

		if (!n || (n < 0 && errno != EINTR))
			return n ? -errno : -EIO;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int confined_end(struct confined *c, char *how, size_t size)
{
	int status = 0;
	pid_t pid;

	if (c->pid <= 0)
		return 0;
	close_fd(c->answer);
	c->answer = -1;
	do
		pid = waitpid(c->pid, &status, 0);
	while (pid < 0 && errno == EINTR);
	c->pid = 0;
	if (pid > 0 && WIFSIGNALED(status))
		snprintf(how, size, "it was killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		snprintf(how, size, "it ended with %d", pid > 0 ? WEXITSTATUS(status) : -1);
	return pid > 0 && !status ? 0 : -EIO;
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

		if (n < 0 && errno != EINTR)
			return false;
		done += n > 0 ? (size_t)n : 0;
	}
	return true;
}
