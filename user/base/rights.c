// SPDX-License-Identifier: GPL-2.0-only
#include "base/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/close_fd.h"

#define NOBODY 65534
/* Of these users there are none: systemd leaves them unused, and nothing else comes near. */
#define USERS_UNUSED 0x70000000

int rights_limit(int what, rlim_t value)
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
	size_t pages = read(fd, text, sizeof(text) - 1) > 0 ? strtoul(text, NULL, 10) : 0;

	close_fd(fd);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

int rights_limit_memory(size_t memory)
{
	return rights_limit(RLIMIT_AS, mapped() + memory);
}

static bool become_user(uid_t user)
{
	return !setgroups(0, NULL) && !setresgid(user, user, user) && !setresuid(user, user, user);
}

int rights_own_user(void)
{
	if (geteuid() || become_user(USERS_UNUSED + (uid_t)getpid()) || (errno == EINVAL && become_user(NOBODY)))
		return 0;
	return errno == EPERM || errno == EINVAL ? 0 : -errno;
}

/* Who has none, as in a unit that is nobody, may not even ask to lose them. */
static bool has_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct has[2];

	return syscall(__NR_capget, &header, has) || has[0].permitted || has[1].permitted || has[0].inheritable ||
	       has[1].inheritable;
}

int rights_drop(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	return (has_capabilities() && syscall(__NR_capset, &header, none)) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
			       prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
		       ? -errno
		       : 0;
}

int rights_calls(const struct sock_filter *filter, size_t n)
{
	struct sock_fprog program = { (unsigned short)n, (struct sock_filter *)(uintptr_t)filter };

	/* By prctl(2): the unit has no seccomp(2). */
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) ? -errno : 0;
}

uint64_t rights_in_effect(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct has[2];

	return syscall(__NR_capget, &header, has) ? 0 : has[0].effective | (uint64_t)has[1].effective << 32;
}

/* Another user's is his file, and of whoever has other rights than we the kernel asks as for ptrace(2). */
bool rights_read_others(uint64_t capabilities, bool perfmon)
{
	uint64_t files = 1ULL << CAP_DAC_READ_SEARCH | 1ULL << CAP_DAC_OVERRIDE,
		 memory = 1ULL << CAP_SYS_PTRACE | (perfmon ? 1ULL << CAP_PERFMON | 1ULL << CAP_SYS_ADMIN : 0);

	return capabilities & memory && capabilities & files;
}
