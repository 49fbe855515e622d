// SPDX-License-Identifier: GPL-2.0-only
/*
 * A user that nobody is, no rights, no new ones; what the kernel has of Landlock: reading some directories, nothing
 * else; a list of system calls, without any that starts a program, opens to write, or makes a socket that is none of
 * TCP or UDP.
 */
#include "fetch/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/calls.h"
#include "base/close_fd.h"
#include "base/log.h"
#include "base/rights.h"

/* Certificates, a thread that looks a name up, what a server says of itself; the body passes through. */
#define MEMORY_MOST ((size_t)256 << 20)
#define FILES_MOST  32

#ifdef CALLS_ARCHITECTURE
/* Allowed where none of these bits is in the argument. */
#define WITHOUT(number, argument, bits)                                                                   \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##number, 0, 4),                                         \
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, CALL_ARGUMENT(argument)),                              \
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1), BPF_STMT(BPF_RET | BPF_K, NOT_ALLOWED), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
/* Allowed where one of them is. */
#define WITH(number, argument, bits)                                                                      \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##number, 0, 4),                                         \
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, CALL_ARGUMENT(argument)),                              \
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 1, 0), BPF_STMT(BPF_RET | BPF_K, NOT_ALLOWED), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define NOT_ALLOWED (SECCOMP_RET_ERRNO | EPERM)

#define JUMP_IF(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define LOAD(argument)		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, CALL_ARGUMENT(argument))
#define NO_SUCH_SOCKET		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT)

/* IPv4 or IPv6, TCP or UDP, and this machine's own, if refuse_own() has not refused them: no raw ones, no packets. */
#define SOCKETS                                                                                                        \
	JUMP_IF(__NR_socket, 0, 10), LOAD(0), JUMP_IF(AF_INET, 2, 0), JUMP_IF(AF_INET6, 1, 0), JUMP_IF(AF_UNIX, 0, 5), \
		LOAD(1), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 15), JUMP_IF(SOCK_STREAM, 1, 0),                          \
		JUMP_IF(SOCK_DGRAM, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW), NO_SUCH_SOCKET

#define OPEN_TO_WRITE (O_ACCMODE | O_CREAT | O_TRUNC)
#ifdef __s390x__
#define CLONE_FLAGS 1
#else
#define CLONE_FLAGS 0
#endif

static int allow_calls(void)
{
	static const struct sock_filter filter[] = {
		CALLS_BEGIN,
		ALLOW(read),
		ALLOW(write),
		ALLOW(readv),
		ALLOW(writev),
		ALLOW(pread64),
		ALLOW(lseek),
		ALLOW(close),
		ALLOW(fstat),
		ALLOW(newfstatat),
		ALLOW(statx),
		ALLOW(fcntl),
		ALLOW(ppoll),
		ALLOW(pselect6),
		ALLOW(pipe2),
		ALLOW(eventfd2),
		ALLOW(socketpair),
		ALLOW(connect),
		ALLOW(sendto),
		ALLOW(recvfrom),
		ALLOW(sendmsg),
		ALLOW(recvmsg),
		ALLOW(sendmmsg),
		ALLOW(recvmmsg),
		ALLOW(getsockopt),
		ALLOW(setsockopt),
		ALLOW(getsockname),
		ALLOW(getpeername),
		ALLOW(shutdown),
		ALLOW(mmap),
		ALLOW(munmap),
		ALLOW(mremap),
		ALLOW(mprotect),
		ALLOW(madvise),
		ALLOW(brk),
		ALLOW(futex),
		ALLOW(set_robust_list),
		ALLOW(rseq),
		ALLOW(sched_yield),
		ALLOW(sched_getaffinity),
		ALLOW(clock_gettime),
		ALLOW(clock_getres),
		ALLOW(clock_nanosleep),
		ALLOW(nanosleep),
		ALLOW(gettimeofday),
		ALLOW(getrandom),
		ALLOW(getpid),
		ALLOW(gettid),
		ALLOW(getuid),
		ALLOW(geteuid),
		ALLOW(getgid),
		ALLOW(getegid),
		ALLOW(uname),
		ALLOW(sysinfo),
		ALLOW(rt_sigaction),
		ALLOW(rt_sigprocmask),
		ALLOW(rt_sigreturn),
		ALLOW(restart_syscall),
		ALLOW(sigaltstack),
		ALLOW(tgkill),
		ALLOW(exit),
		ALLOW(exit_group),
		ALLOW(faccessat),
		ALLOW(readlinkat),
		ALLOW(getdents64),
#ifdef __NR_poll
		ALLOW(poll),
		ALLOW(select),
		ALLOW(access),
		ALLOW(stat),
		ALLOW(readlink),
		ALLOW(getrlimit),
#endif
#ifdef __NR_time /* s390x has the others */
		ALLOW(time),
#endif
		SOCKETS,
		/* The size of what waits, and whether to wait: nothing else is asked of a socket. */
		REFUSE(prlimit64),
		REFUSE(prctl),
		WITHOUT(openat, 2, OPEN_TO_WRITE),
#ifdef __NR_open
		WITHOUT(open, 1, OPEN_TO_WRITE),
#endif
		/* Threads, and no processes. Of clone3() a list cannot see the flags: the C library then takes clone().
		 */
		WITH(clone, CLONE_FLAGS, CLONE_THREAD),
		REFUSE(execve),
		REFUSE(execveat),
		REFUSE(bpf),
		REFUSE(ptrace),
		/* What a library of tomorrow tries before what it did until now. */
		CALLS_END(SECCOMP_RET_ERRNO | ENOSYS),
	};

	return rights_calls(filter, sizeof(filter) / sizeof(*filter));
}

/* Who checks a signature speaks to nobody. */
static int refuse_sockets(void)
{
	static const struct sock_filter filter[] = { CALLS_BEGIN, REFUSE(socket), REFUSE(socketpair), REFUSE(connect),
						     CALLS_END(SECCOMP_RET_ALLOW) };

	return rights_calls(filter, sizeof(filter) / sizeof(*filter));
}

/* The sockets of this machine's own services. */
static int refuse_own(void)
{
	static const struct sock_filter filter[] = { CALLS_BEGIN,    JUMP_IF(__NR_socket, 0, 3),
						     LOAD(0),	     JUMP_IF(AF_UNIX, 0, 1),
						     NO_SUCH_SOCKET, CALLS_END(SECCOMP_RET_ALLOW) };

	return rights_calls(filter, sizeof(filter) / sizeof(*filter));
}
#else
static int refuse_sockets(void)
{
	return -ENOSYS;
}

static int refuse_own(void)
{
	return -ENOSYS;
}

static int allow_calls(void)
{
	return -ENOSYS;
}
#endif

/* What looking a name up and checking a certificate read. */
static const char *const read_from[] = { "/etc",
					 "/usr",
					 "/lib",
					 "/lib64",
					 "/run/systemd/resolve",
					 "/run/resolvconf",
					 "/run/NetworkManager",
					 "/var/lib/ca-certificates",
					 NULL };

#define RIGHTS_OF_A_FILE (LANDLOCK_ACCESS_FS_READ_FILE)
#define RIGHTS_OF_ALL	 (RIGHTS_OF_A_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
/* All that the first version of it knows. */
#define RIGHTS_HANDLED ((1ULL << 13) - 1)

static void may_read(int rules, const char *path, uint64_t rights)
{
	struct landlock_path_beneath_attr beneath = { .allowed_access = rights };

	beneath.parent_fd = open(path, O_PATH | O_CLOEXEC);
	if (beneath.parent_fd >= 0)
		syscall(__NR_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0);
	close_fd(beneath.parent_fd);
}

/* Kernels before 5.13 do not have it, and some are built without. */
static int only_read(const char *also)
{
	struct landlock_ruleset_attr attr = { .handled_access_fs = RIGHTS_HANDLED };
	int rules = (int)syscall(__NR_landlock_create_ruleset, &attr, sizeof(attr), 0), err = 0;

	if (rules < 0)
		return errno == ENOSYS || errno == EOPNOTSUPP || errno == EPERM ? 0 : -errno;
	for (const char *const *path = read_from; *path; path++)
		may_read(rules, *path, RIGHTS_OF_ALL);
	if (also && *also)
		may_read(rules, also, RIGHTS_OF_A_FILE);
	if (syscall(__NR_landlock_restrict_self, rules, 0))
		err = -errno;
	close(rules);
	return err;
}

int confine(const struct confinement *c)
{
	int err;

#ifdef M_ARENA_MAX
	/* Each thread's own arena would take 64 MiB of what it may map. */
	mallopt(M_ARENA_MAX, 1);
#endif
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	err = SANITIZED ? 0 : rights_limit_memory(MEMORY_MOST);
	err = err ?: rights_limit(RLIMIT_FSIZE, c->bytes) ?: rights_limit(RLIMIT_CORE, 0);
	err = err ?: rights_limit(RLIMIT_NOFILE, FILES_MOST);
	err = err ?: (c->cpu_seconds ? rights_limit(RLIMIT_CPU, c->cpu_seconds) : 0);
	err = err ?: rights_own_user();
	if (!err && (!geteuid() || !getuid()))
		return because(-EPERM, "it may not become another user than root, and %s nothing as root", c->does);
	/* Landlock asks for what rights_drop() gives: no new privileges. */
	err = err ?: rights_drop() ?: only_read(c->file);
	if (!err && !SANITIZED && c->sockets != CONFINE_OWN)
		err = refuse_own();
	if (!err && !SANITIZED && c->sockets == CONFINE_NONE)
		err = refuse_sockets();
	if (!err && !SANITIZED)
		err = allow_calls();
	return err ? because(err, "it cannot give up its rights: %s", errno_text(err)) : 0;
}
