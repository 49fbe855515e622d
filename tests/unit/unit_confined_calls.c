// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a confined process gives up, in which order, and that it does nothing where it cannot; and what is made of calls
 * that fail or are interrupted. The kernel's answers are made up.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/calls.h"
#include "base/close_fd.h"
#include "base/memory.h"
#include "base/rights.h"
#include "ktap.h"

/* What both processes see. */
static struct {
	char child[1000], parent[1000];
	const char *fails; /* the call that does */
	int with;
	int lies[2]; /* of the pipe: to read from, to write to */
} * seen;

static pid_t we;
static bool sanitized;
static unsigned int interrupts; /* so many of the calls that wait */
static bool takes_nothing;	/* once */
static size_t at_once;		/* of bytes, at most */
static uint64_t free_now;

/* False: it fails. */
__attribute__((format(printf, 1, 2))) static bool call(const char *fmt, ...)
{
	char *calls = getpid() == we ? seen->parent : seen->child;
	size_t n = strlen(calls);
	va_list args;

	if (n)
		calls[n++] = ';';
	va_start(args, fmt);
	vsnprintf(calls + n, sizeof(seen->child) - n, fmt, args);
	va_end(args);
	errno = seen->with;
	return !seen->fails || strcmp(calls + n, seen->fails) != 0;
}

#define INPUT 77 /* a descriptor, of which only its number is used */

static const char *name_of(int fd)
{
	return fd == seen->lies[0] ? "out" : fd == seen->lies[1] ? "in" : fd == INPUT ? "input" : "another";
}

static int given_pipe2(int pipes[2], int flags)
{
	if (!call("pipe %s", flags == O_CLOEXEC ? "that closes" : "that stays"))
		return -1;
	if (pipe2(pipes, flags))
		abort();
	memcpy(seen->lies, pipes, sizeof(seen->lies));
	return 0;
}

static int given_fcntl(int fd, int what, int to)
{
	call("%s %s %d", name_of(fd), what == F_SETPIPE_SZ ? "has room for" : "another", to);
	return -1;
}

static pid_t given_fork(void)
{
	return call("fork") ? fork() : -1;
}

static int given_close(int fd)
{
	if (getpid() == we)
		call("close %s", name_of(fd));
	else
		return call("close %d", fd) ? 0 : -1;
	return close(fd);
}

static int given_dup2(int from, int to)
{
	return call("%s is %d", name_of(from), to) ? to : -1;
}

static int given_close_from(unsigned int first)
{
	return call("close from %u", first) ? 0 : -1;
}

typedef void on_signal(int number);

static void given_signal(int number, on_signal *how)
{
	call("signal %d %s", number, how == SIG_DFL ? "kills" : "another");
}

static int given_memory(size_t most)
{
	return call("memory %zu", most) ? 0 : -errno;
}

static int given_limit(int what, rlim_t most)
{
	return call("%s %llu",
		    what == RLIMIT_FSIZE    ? "bytes"
		    : what == RLIMIT_CORE   ? "core"
		    : what == RLIMIT_NOFILE ? "files"
					    : "another",
		    (unsigned long long)most)
		       ? 0
		       : -errno;
}

static int given_user(void)
{
	return call("user") ? 0 : -errno;
}

static int given_drop(void)
{
	return call("drop") ? 0 : -errno;
}

static int given_prctl(int what, int number, int a, int b, int c)
{
	return call("%s %d", what == PR_SET_PDEATHSIG ? "with its parent" : "another", number) && !a && !b && !c ? 0
														 : -1;
}

static pid_t given_getppid(void)
{
	return call("still there") ? getppid() : 1;
}

#ifdef CALLS_ARCHITECTURE
/* What the list makes of a call. */
static unsigned int verdict(const struct sock_filter *filter, size_t n, uint32_t architecture, uint32_t number)
{
	uint32_t word = 0;

	for (size_t i = 0; i < n; i++) {
		const struct sock_filter *f = filter + i;

		if (f->code == (BPF_RET | BPF_K))
			return f->k;
		if (f->code == (BPF_LD | BPF_W | BPF_ABS))
			word = f->k == offsetof(struct seccomp_data, arch) ? architecture : number;
		else
			i += word == f->k ? f->jt : f->jf;
	}
	return 0;
}

static bool list_is_good;

static int given_calls(const struct sock_filter *filter, size_t n)
{
	static const uint32_t does[] = {
		__NR_read,	   __NR_write,		 __NR_readv,	      __NR_writev,    __NR_mmap,
		__NR_munmap,	   __NR_mremap,		 __NR_madvise,	      __NR_brk,	      __NR_mprotect,
		__NR_futex,	   __NR_clock_gettime,	 __NR_gettimeofday,   __NR_getrandom, __NR_getpid,
		__NR_gettid,	   __NR_close,		 __NR_rt_sigprocmask, __NR_exit,      __NR_exit_group,
		__NR_rt_sigreturn, __NR_restart_syscall,
	};
	static const uint32_t does_without[] = {
		__NR_openat,	 __NR_newfstatat,  __NR_fstat,	   __NR_lseek,	  __NR_fcntl,
		__NR_ioctl,	 __NR_prctl,	   __NR_prlimit64, __NR_sysinfo,  __NR_sched_getaffinity,
		__NR_readlinkat, __NR_sigaltstack,
#ifdef __NR_open
		__NR_open,	 __NR_stat,	   __NR_lstat,	   __NR_readlink,
#endif
	};
	unsigned int allowed = 0, refused = 0;

	list_is_good = true;
	for (uint32_t number = 0; number < 1024; number++) {
		unsigned int is = verdict(filter, n, CALLS_ARCHITECTURE, number);

		allowed += is == SECCOMP_RET_ALLOW;
		refused += is == (SECCOMP_RET_ERRNO | EPERM);
		list_is_good &=
			is == SECCOMP_RET_ALLOW || is == (SECCOMP_RET_ERRNO | EPERM) || is == SECCOMP_RET_KILL_PROCESS;
		list_is_good &= verdict(filter, n, CALLS_ARCHITECTURE ^ 1, number) == SECCOMP_RET_KILL_PROCESS;
	}
	for (size_t i = 0; i < sizeof(does) / sizeof(*does); i++)
		list_is_good &= verdict(filter, n, CALLS_ARCHITECTURE, does[i]) == SECCOMP_RET_ALLOW;
	for (size_t i = 0; i < sizeof(does_without) / sizeof(*does_without); i++)
		list_is_good &= verdict(filter, n, CALLS_ARCHITECTURE, does_without[i]) == (SECCOMP_RET_ERRNO | EPERM);
	list_is_good &=
		allowed == sizeof(does) / sizeof(*does) && refused == sizeof(does_without) / sizeof(*does_without);
	/* The architecture, and the call's number; two for each call, and the end. */
	list_is_good &= n == 4 + 2 * (allowed + refused) + 1;
	return call(list_is_good ? "calls" : "other calls") ? 0 : -errno;
}
#endif

static ssize_t given_read(int fd, void *to, size_t size)
{
	if (interrupts) {
		interrupts--;
		errno = EINTR;
		return -1;
	}
	return read(fd, to, at_once && size > at_once ? at_once : size);
}

static ssize_t given_write(int fd, const void *from, size_t size)
{
	if (takes_nothing) {
		takes_nothing = false;
		errno = EINTR;
		return 0;
	}
	if (interrupts) {
		interrupts--;
		errno = EINTR;
		return -1;
	}
	return write(fd, from, at_once && size > at_once ? at_once : size);
}

static pid_t given_waitpid(pid_t pid, int *status, int flags)
{
	if (interrupts) {
		interrupts--;
		errno = EINTR;
		return -1;
	}
	return waitpid(pid, status, flags);
}

#undef SANITIZED
#define SANITIZED sanitized
/* As calls in a list they keep their names. */
#define close(fd)	     given_close(fd)
#define read(fd, to, n)	     given_read(fd, to, n)
#define write(fd, from, n)   given_write(fd, from, n)
#define fcntl(fd, what, to)  given_fcntl(fd, what, to)
#define prctl(a, b, c, d, e) given_prctl(a, b, c, d, e)
#define pipe2		     given_pipe2
#define fork		     given_fork
#define dup2		     given_dup2
#define close_from	     given_close_from
#define signal		     given_signal
#define getppid		     given_getppid
#define waitpid		     given_waitpid
#define rights_limit_memory  given_memory
#define rights_limit	     given_limit
#define rights_own_user	     given_user
#define rights_drop	     given_drop
#define rights_calls	     given_calls
#define memory_available()   free_now
#include "base/confined.c"
#undef close
#undef read
#undef write
#undef fcntl
#undef prctl
#undef pipe2
#undef fork
#undef signal
#undef waitpid

static void work(void *arg, int answer)
{
	call("%s %d", (const char *)arg, answer);
}

/* How it ends with this failing: "it ended with 0" where nothing does. */
static void runs(int input, const char *fails, int with, const char *child, const char *ends)
{
	struct confined c;
	char how[96] = "";
	int err;

	memset(seen, 0, sizeof(*seen));
	seen->fails = fails;
	seen->with = with;
	err = confined_start(&c, input, 4711, work, (char[]){ "works" });
	CHECK(!err && c.pid > 0 && c.answer == seen->lies[0], "%d: it does not start", err);
	err = confined_end(&c, how, sizeof(how));
	CHECK(!c.pid && c.answer == -1, "%d and %d are left", (int)c.pid, c.answer);
	CHECK(!strcmp(how, ends) && !err == !strcmp(ends, "it ended with 0"), "%s fails: %s, not %s",
	      fails ? fails : "nothing", how, ends);
	CHECK(!strcmp(seen->child, child), "%s fails: '%s', not '%s'", fails ? fails : "nothing", seen->child, child);
	CHECK(!strcmp(seen->parent, "pipe that closes;out has room for 1048576;fork;close in"), "'%s'", seen->parent);
}

#define BEGINS	 "signal 13 kills;signal 11 kills;"
#define GIVES_UP "bytes 0;core 0;files 0;user;drop;with its parent 9;still there"
#define ALL	 BEGINS "input is 0;in is 1;close from 2;memory 4711;" GIVES_UP ";calls;works 1"

/* Each of these fails once: what it has not given up it does not work with. */
static void gives_up(void)
{
	static const char *const steps[] = { "input is 0",	  "in is 1",	 "close from 2",
					     "memory 4711",	  "bytes 0",	 "core 0",
					     "files 0",		  "user",	 "drop",
					     "with its parent 9", "still there", "calls" };

	runs(INPUT, NULL, 0, ALL, "it ended with 0");
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		const char *at = strstr(ALL, steps[i]);
		char child[sizeof(ALL)];

		snprintf(child, sizeof(child), "%.*s", (int)(at - ALL + (ptrdiff_t)strlen(steps[i])), ALL);
		runs(INPUT, steps[i], EPERM, child, "it ended with 1");
	}
	/* Kernels that have no such list. */
	runs(INPUT, "calls", EINVAL, ALL, "it ended with 0");
	runs(INPUT, "calls", ENOSYS, ALL, "it ended with 0");
	/* Without an input, 0 is closed. */
	runs(-1, NULL, 0, BEGINS "close 0;in is 1;close from 2;memory 4711;" GIVES_UP ";calls;works 1",
	     "it ended with 0");
	runs(-1, "close 0", EBADF, BEGINS "close 0", "it ended with 1");
	/* A sanitizer says on 2 what it finds, and makes calls of its own. */
	sanitized = true;
	runs(INPUT, NULL, 0, BEGINS "input is 0;in is 1;close from 3;" GIVES_UP ";works 1", "it ended with 0");
	sanitized = false;
}

static void does_not_start(void)
{
	struct confined c = { .pid = 5, .answer = 5 };

	memset(seen, 0, sizeof(*seen));
	seen->fails = "pipe that closes";
	seen->with = EMFILE;
	CHECK(err_is(confined_start(&c, -1, 1, work, NULL), EMFILE) && c.pid <= 0 && c.answer == -1, "%d, %d",
	      (int)c.pid, c.answer);
	CHECK(!strcmp(seen->parent, "pipe that closes"), "'%s'", seen->parent);
	memset(seen, 0, sizeof(*seen));
	seen->fails = "fork";
	seen->with = EAGAIN;
	CHECK(err_is(confined_start(&c, -1, 1, work, NULL), EAGAIN) && c.pid <= 0 && c.answer == -1, "%d, %d",
	      (int)c.pid, c.answer);
	CHECK(!strcmp(seen->parent, "pipe that closes;out has room for 1048576;fork;close in;close out"), "'%s'",
	      seen->parent);
}

/* Half of what is free, but never less than 512 MiB; or what is asked for. */
static void memory(void)
{
	const size_t least = (size_t)512 << 20;
	struct confined c;
	char how[96];

	free_now = 2 * least + 2;
	CHECK(confined_memory(0) == least + 1, "%zu", confined_memory(0));
	CHECK(confined_memory(1) == 1 && confined_memory(SIZE_MAX) == SIZE_MAX, "not what is asked for");
	free_now = 2 * least;
	CHECK(confined_memory(0) == least, "%zu", confined_memory(0));
	free_now = 0;
	CHECK(confined_memory(0) == least, "%zu", confined_memory(0));
	/* So much it may take. */
	memset(seen, 0, sizeof(*seen));
	CHECK(!confined_start(&c, -1, 0, work, (char[]){ "works" }) && !confined_end(&c, how, sizeof(how)) &&
		      strstr(seen->child, ";memory 536870912;"),
	      "'%s'", seen->child);
}

/* However often something comes between, and however little comes at once. */
static void interrupted(void)
{
	struct confined c = { .answer = -1 };
	char got[8] = "", how[96];
	int pipes[2];

	if (!CHECK(!pipe2(pipes, O_CLOEXEC), "no pipe"))
		return;
	for (at_once = 1; at_once <= 8; at_once++) {
		memset(got, 0, sizeof(got));
		interrupts = 2;
		CHECK(confined_tell(pipes[1], "answers", 7) && !interrupts, "it does not tell all");
		c.answer = pipes[0];
		CHECK(confined_tell(pipes[1], "again", 5), "it does not tell all");
		interrupts = 2;
		CHECK(!confined_answer(&c, got, 7) && !interrupts && !strcmp(got, "answers"), "'%s'", got);
		CHECK(!confined_answer(&c, got, 5) && !strcmp(got, "againrs"), "then '%s'", got);
	}
	at_once = 0;
	CHECK(confined_tell(pipes[1], "answers", 0), "nothing is told wrongly");
	takes_nothing = true;
	CHECK(!confined_tell(pipes[1], "answers", 7) && !takes_nothing, "it goes on where nothing is taken");
	CHECK(!confined_tell(pipes[0], "a", 1), "it tells where nobody listens");
	/* One that somebody else has waited for. */
	memset(seen, 0, sizeof(*seen));
	interrupts = 0;
	CHECK(!confined_start(&c, -1, 1, work, (char[]){ "works" }) && waitpid(c.pid, NULL, 0) == c.pid,
	      "it does not start");
	interrupts = 2;
	CHECK(err_is(confined_end(&c, how, sizeof(how)), EIO) && !interrupts && !strcmp(how, "it ended with -1"), "%s",
	      how);
	close(pipes[0]);
	close(pipes[1]);
}

static void stopped(void)
{
	struct confined c = { .answer = dup(0) };
	int fd = c.answer;

	/* None was started, or it is gone: what it would have answered on is closed. */
	confined_stop(&c);
	CHECK(!c.pid && c.answer == -1 && fcntl(fd, F_GETFD) < 0, "%d is open", fd);
	memset(seen, 0, sizeof(*seen));
	CHECK(!confined_start(&c, -1, 1, work, (char[]){ "works" }) && waitpid(c.pid, NULL, 0) == c.pid,
	      "it does not start");
	confined_stop(&c);
	CHECK(!c.pid && c.answer == -1 && fcntl(seen->lies[0], F_GETFD) < 0, "%d is open", seen->lies[0]);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "what it gives up", gives_up },   { "one that does not start", does_not_start },
		{ "its memory", memory },	    { "calls that are interrupted", interrupted },
		{ "one that is stopped", stopped },
	};

	we = getpid();
	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (seen == MAP_FAILED)
		return KTAP_SKIP;
	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
