// SPDX-License-Identifier: GPL-2.0-only
/* Which rights a process gives up, in which order, and what it makes of each that it cannot: the kernel is made up. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/close_fd.h"
#include "ktap.h"

static char calls[1000];	  /* in their order */
static const char *fails, *statm; /* fails: the call that does; statm: what the kernel says of memory */
static int fails_with;
static bool first_only; /* it fails once */
static rlim_t limit;
static uid_t our_user;
static struct __user_cap_data_struct its[2];

/* False: it fails. */
__attribute__((format(printf, 1, 2))) static bool call(const char *fmt, ...)
{
	size_t n = strlen(calls);
	const char *this = calls + n + (n > 0);
	va_list args;

	va_start(args, fmt);
	if (n)
		calls[n++] = ';';
	vsnprintf(calls + n, sizeof(calls) - n, fmt, args);
	va_end(args);
	if (!fails || strncmp(this, fails, strlen(fails)) != 0)
		return true;
	if (first_only)
		fails = NULL;
	errno = fails_with;
	return false;
}

static int given_getrlimit(int what, struct rlimit *is)
{
	*is = (struct rlimit){ limit, RLIM_INFINITY };
	return call("limit of %d?", what) ? 0 : -1;
}

static int given_setrlimit(int what, const struct rlimit *to)
{
	return call("limit of %d is %llu, %llu", what, (unsigned long long)to->rlim_cur,
		    (unsigned long long)to->rlim_max)
		       ? 0
		       : -1;
}

static int given_open(const char *path, int how)
{
	if (strcmp(path, "/proc/self/statm") != 0 || how != (O_RDONLY | O_CLOEXEC))
		abort();
	return call("open") ? 7 : -1;
}

static ssize_t given_read(int fd, char *text, size_t size)
{
	if (fd < 0)
		return -1;
	if (fd != 7 || size != 31) /* and its end */
		abort();
	snprintf(text, size, "%s", statm);
	return call("read") ? (ssize_t)strlen(text) : -1;
}

static void given_close(int fd)
{
	call("close %d", fd);
}

static long given_sysconf(int what)
{
	return what == _SC_PAGESIZE ? 4096 : -1;
}

static uid_t given_geteuid(void)
{
	return our_user;
}

static int given_setgroups(size_t n, const gid_t *groups)
{
	return call("groups %zu", n) && !groups ? 0 : -1;
}

static int given_setresgid(gid_t real, gid_t effective, gid_t saved)
{
	return call("group %u %u %u", real, effective, saved) ? 0 : -1;
}

static int given_setresuid(uid_t real, uid_t effective, uid_t saved)
{
	return call("user %u %u %u", real, effective, saved) ? 0 : -1;
}

static long given_syscall(long number, struct __user_cap_header_struct *header, struct __user_cap_data_struct *data)
{
	if (header->version != _LINUX_CAPABILITY_VERSION_3 || header->pid)
		abort();
	if (number == __NR_capget) {
		memcpy(data, its, sizeof(its));
		return call("capabilities?") ? 0 : -1;
	}
	if (number != __NR_capset)
		abort();
	return call("capabilities %x %x %x %x %x %x", data[0].effective, data[0].permitted, data[0].inheritable,
		    data[1].effective, data[1].permitted, data[1].inheritable)
		       ? 0
		       : -1;
}

static int given_prctl(int what, unsigned long a, const void *b, unsigned long c, unsigned long d)
{
	if (what == PR_SET_SECCOMP)
		return call("calls %lu, %u of them%s", a, ((const struct sock_fprog *)b)->len,
			    ((const struct sock_fprog *)b)->filter->code == 5 ? "" : ", others") &&
				       !c && !d
			       ? 0
			       : -1;
	return call("%s %lu",
		    what == PR_SET_NO_NEW_PRIVS ? "no new"
		    : what == PR_SET_DUMPABLE	? "dumped"
						: "?",
		    a) && !b && !c &&
			       !d
		       ? 0
		       : -1;
}

#define getrlimit		given_getrlimit
#define setrlimit		given_setrlimit
#define open(path, how)		given_open(path, how)
#define read(fd, text, size)	given_read(fd, text, size)
#define close_fd(fd)		given_close(fd)
#define sysconf(what)		given_sysconf(what)
#define geteuid()		given_geteuid()
#define getpid()		1234
#define setgroups		given_setgroups
#define setresgid		given_setresgid
#define setresuid		given_setresuid
#define syscall			given_syscall
#define prctl(what, a, b, c, d) given_prctl(what, a, (const void *)(uintptr_t)(b), c, d)
#include "base/rights.c"

static void is(int result, int expected, const char *said)
{
	CHECK(result == expected, "%d, not %d, after '%s'", result, expected, calls);
	CHECK(!strcmp(calls, said), "'%s', not '%s'", calls, said);
	calls[0] = '\0';
}

static void it_fails(const char *what, int with)
{
	fails = what;
	fails_with = with;
	errno = 0;
}

static void limits(void)
{
	fails = NULL;
	limit = 100;
	is(rights_limit(5, 99), 0, "limit of 5?;limit of 5 is 99, 99");
	is(rights_limit(5, 100), 0, "limit of 5?;limit of 5 is 100, 100");
	is(rights_limit(5, 101), 0, "limit of 5?;limit of 5 is 100, 100");
	it_fails("limit of 5?", EPERM);
	is(rights_limit(5, 99), -EPERM, "limit of 5?");
	it_fails("limit of 5 is", EINVAL);
	is(rights_limit(5, 99), -EINVAL, "limit of 5?;limit of 5 is 99, 99");
}

/* So much more than what is mapped already; where the kernel does not say that, it is nothing. */
static void memory(void)
{
	char expected[100];

	fails = NULL;
	limit = RLIM_INFINITY;
	statm = "019 2 1 0\n";
	snprintf(expected, sizeof(expected), "open;read;close 7;limit of %d?;limit of %d is 77829, 77829", RLIMIT_AS,
		 RLIMIT_AS);
	is(rights_limit_memory(5), 0, expected);
	statm = "2";
	snprintf(expected, sizeof(expected), "open;read;close 7;limit of %d?;limit of %d is 8197, 8197", RLIMIT_AS,
		 RLIMIT_AS);
	is(rights_limit_memory(5), 0, expected);
	it_fails("read", EIO);
	snprintf(expected, sizeof(expected), "open;read;close 7;limit of %d?;limit of %d is 5, 5", RLIMIT_AS,
		 RLIMIT_AS);
	is(rights_limit_memory(5), 0, expected);
	it_fails("open", ENOENT);
	snprintf(expected, sizeof(expected), "open;close -1;limit of %d?;limit of %d is 5, 5", RLIMIT_AS, RLIMIT_AS);
	is(rights_limit_memory(5), 0, expected);
}

/* One of its own, by its process; where there is none, nobody; who may not become another goes on as who he is. */
static void users(void)
{
#define OWN_GROUP "groups 0;group 1879049426 1879049426 1879049426"
#define OWN	  OWN_GROUP ";user 1879049426 1879049426 1879049426"
#define NO_ONE	  "groups 0;group 65534 65534 65534;user 65534 65534 65534"
	fails = NULL;
	our_user = 1000;
	is(rights_own_user(), 0, "");
	our_user = 0;
	is(rights_own_user(), 0, OWN);
	first_only = true;
	it_fails("group ", EINVAL);
	is(rights_own_user(), 0, OWN_GROUP ";" NO_ONE);
	it_fails("user ", EINVAL);
	is(rights_own_user(), 0, OWN ";" NO_ONE);
	it_fails("user ", EPERM);
	is(rights_own_user(), 0, OWN);
	it_fails("user ", EAGAIN);
	is(rights_own_user(), -EAGAIN, OWN);
	first_only = false;
	it_fails("groups", EPERM);
	is(rights_own_user(), 0, "groups 0");
	it_fails("user ", EINVAL);
	is(rights_own_user(), 0, OWN ";" NO_ONE);
}

static void dropped(void)
{
#define ALL "capabilities?;capabilities 0 0 0 0 0 0;no new 1;dumped 0"
	static const struct __user_cap_data_struct some[][2] = {
		{ { 0, 1, 0 }, { 0 } }, { { 0 }, { 0, 1, 0 } }, { { 0, 0, 1 }, { 0 } }, { { 0 }, { 0, 0, 1 } }
	};

	fails = NULL;
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		memcpy(its, some[i], sizeof(its));
		is(rights_drop(), 0, ALL);
	}
	it_fails("capabilities 0", EPERM);
	is(rights_drop(), -EPERM, "capabilities?;capabilities 0 0 0 0 0 0");
	it_fails("no new", EINVAL);
	is(rights_drop(), -EINVAL, "capabilities?;capabilities 0 0 0 0 0 0;no new 1");
	it_fails("dumped", EINVAL);
	is(rights_drop(), -EINVAL, ALL);
	memset(its, 0, sizeof(its));
	fails = NULL;
	is(rights_drop(), 0, "capabilities?;no new 1;dumped 0");
	it_fails("capabilities?", EPERM);
	is(rights_drop(), 0, ALL);
}

static void filters(void)
{
	static const struct sock_filter filter[] = { { .code = 5 }, { .code = 6 } };

	fails = NULL;
	is(rights_calls(filter, 2), 0, "calls 2, 2 of them");
	it_fails("calls", EACCES);
	is(rights_calls(filter, 2), -EACCES, "calls 2, 2 of them");
}

static void in_effect(void)
{
	fails = NULL;
	memset(its, 0xff, sizeof(its));
	its[0].effective = 0x80000003;
	its[1].effective = 0x90000004;
	CHECK(rights_in_effect() == 0x9000000480000003, "%" PRIx64, rights_in_effect());
	it_fails("capabilities?", EPERM);
	CHECK(!rights_in_effect(), "%" PRIx64, rights_in_effect());
	calls[0] = '\0';
}

/* Another's files, and his memory: one right for each. */
static void of_others(void)
{
#define C(name) (1ULL << (CAP_##name))
	static const struct {
		uint64_t has;
		bool old, perfmon;
	} cases[] = {
		{ 0, false, false },
		{ C(DAC_READ_SEARCH) | C(DAC_OVERRIDE), false, false },
		{ C(SYS_PTRACE) | C(PERFMON) | C(SYS_ADMIN), false, false },
		{ C(DAC_READ_SEARCH) | C(SYS_PTRACE), true, true },
		{ C(DAC_OVERRIDE) | C(SYS_PTRACE), true, true },
		{ C(DAC_OVERRIDE) | C(PERFMON), false, true },
		{ C(DAC_OVERRIDE) | C(SYS_ADMIN), false, true },
		{ ~(C(DAC_OVERRIDE) | C(DAC_READ_SEARCH)), false, false },
		{ ~(C(SYS_PTRACE) | C(PERFMON) | C(SYS_ADMIN)), false, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK(rights_read_others(cases[i].has, false) == cases[i].old &&
			      rights_read_others(cases[i].has, true) == cases[i].perfmon,
		      "case %zu", i);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "limits", limits },
		{ "memory", memory },
		{ "users", users },
		{ "what is given up", dropped },
		{ "calls", filters },
		{ "what is in effect", in_effect },
		{ "what is another user's", of_others },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
