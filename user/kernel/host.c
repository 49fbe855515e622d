// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/host.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/close_fd.h"
#include "base/log.h"
#include "base/netlink.h"
#include "base/rights.h"

unsigned int host_kernel(void)
{
	unsigned int major = 0, minor = 0;
	struct utsname host = { 0 };

	uname(&host);
	return sscanf(host.release, "%u.%u", &major, &minor) == 2 ? KERNEL_VERSION(major, minor, 0) : 0;
}

/* Its first bytes, without the line's end. Returns 0 or -errno. */
static int first_line(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
	int err = n < 0 ? -errno : 0;

	close_fd(fd);
	text[n < 0 ? 0 : n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return err;
}

static int number_in(const char *path)
{
	char text[32];
	int err = first_line(path, text, sizeof(text));

	if (err)
		return err_is(err, EACCES) || err_is(err, EPERM) ? HOST_UNSEEN : HOST_NONE;
	return (int)strtol(text, NULL, 10);
}

/* "none [integrity] confidentiality" */
static void chosen(const char *path, char *word, size_t size)
{
	char text[128], *open;

	word[0] = '\0';
	if (first_line(path, text, sizeof(text)) || !(open = strchr(text, '[')))
		return;
	open[strcspn(open, "]")] = '\0';
	snprintf(word, size, "%s", open + 1);
}

#define OF_ALL "/proc/sys/net/ipv6/conf/all/"

/* On an interface where it is on, too. */
static const char *find_unwraps(void)
{
	static const char *const settings[] = { OF_ALL "seg6_enabled", OF_ALL "rpl_seg_enabled" };

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (number_in(settings[i]) > 0)
			return settings[i] + strlen(OF_ALL);
	return NULL;
}

static void find_apparmor(char profile[64])
{
	char text[128];

	profile[0] = '\0';
	if (number_in("/sys/kernel/security/apparmor/features/file/mask") == HOST_NONE &&
	    access("/sys/module/apparmor", F_OK))
		return;
	if (first_line("/proc/self/attr/apparmor/current", text, sizeof(text)) &&
	    first_line("/proc/self/attr/current", text, sizeof(text)))
		return;
	if (strcmp(text, "unconfined") != 0)
		snprintf(profile, 64, "%.63s", text);
}

static void find_status(struct host *host)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[256];
	int mode = 0;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Seccomp: %d", &mode) == 1)
			host->seccomp = mode == 2;
	if (file)
		fclose(file);
}

static uint64_t limit_at(const char *path)
{
	char text[32];

	/* "max", or of the older kind a number near the largest. */
	return !first_line(path, text, sizeof(text)) && text[0] >= '0' && text[0] <= '9' ? strtoull(text, NULL, 10) : 0;
}

/* The least of its own control group's and those above it. */
static uint64_t find_memory(void)
{
	static const char *const kinds[][3] = {
		{ "0::", "/sys/fs/cgroup", "memory.max" },
		{ "memory:", "/sys/fs/cgroup/memory", "memory.limit_in_bytes" },
	};
	FILE *file = fopen("/proc/self/cgroup", "re");
	char line[1024], path[1200];
	uint64_t least = 0;

	while (file && fgets(line, sizeof(line), file))
		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
			char *at = strstr(line, kinds[i][0]), *slash;

			if (!at || (i == 0 && at != line))
				continue;
			at += strlen(kinds[i][0]);
			at[strcspn(at, "\n")] = '\0';
			do {
				uint64_t limit;

				snprintf(path, sizeof(path), "%s%s/%s", kinds[i][1], at, kinds[i][2]);
				limit = limit_at(path);
				if (limit && limit < (uint64_t)1 << 50 && (!least || limit < least))
					least = limit;
				slash = strrchr(at, '/');
				if (slash)
					*slash = '\0';
			} while (slash);
		}
	if (file)
		fclose(file);
	return least;
}

uint64_t host_capabilities(pid_t pid)
{
	unsigned long long is, has = ~0ULL;
	char path[64], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = pid ? fopen(path, "re") : NULL;
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "CapEff: %llx", &is) == 1)
			has = is;
	if (file)
		fclose(file);
	return has;
}

void host_look(struct host *host)
{
	union bpf_attr nothing = { 0 };
	struct rlimit memlock = { 0 };
	struct utsname name = { 0 };

	*host = (struct host){ .kernel = host_kernel(), .page = (unsigned int)sysconf(_SC_PAGESIZE) };
	uname(&name);
	snprintf(host->release, sizeof(host->release), "%s", name.release);
	host->cpus = (unsigned int)sysconf(_SC_NPROCESSORS_CONF);
	host->btf = !access("/sys/kernel/btf/vmlinux", F_OK);
	/* A command that there is not. */
	host->bpf = syscall(SYS_bpf, -1, &nothing, sizeof(nothing)) < 0 ? errno : 0;
	host->jit = number_in("/proc/sys/net/core/bpf_jit_enable");
	host->unprivileged = number_in("/proc/sys/kernel/unprivileged_bpf_disabled");
	chosen("/sys/kernel/security/lockdown", host->lockdown, sizeof(host->lockdown));
	host->unwraps = find_unwraps();
	host->selinux = number_in("/sys/fs/selinux/enforce");
	find_apparmor(host->apparmor);
	find_status(host);
	host->capabilities = rights_in_effect();
	host->service = ~(uint64_t)0;
	host->memlock = getrlimit(RLIMIT_MEMLOCK, &memlock) || memlock.rlim_cur == RLIM_INFINITY ? ~(uint64_t)0
												 : memlock.rlim_cur;
	host->memory = find_memory();
}

static void pass_over(void *arg, const struct nlmsghdr *message)
{
	(void)arg;
	(void)message;
}

/* Of sockets in no state at all, which there are none of: a module that is not there says so. */
bool host_has_diag(void)
{
	static const struct inet_diag_req_v2 none[] = {
		{ .sdiag_family = AF_INET, .sdiag_protocol = IPPROTO_TCP },
		{ .sdiag_family = AF_INET, .sdiag_protocol = IPPROTO_UDP },
	};
	struct nl_socket *socket;
	int err = netlink_open(&socket, NETLINK_SOCK_DIAG, 0, 0);

	if (err)
		return false;
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		err = err ?: netlink_dump(socket, SOCK_DIAG_BY_FAMILY, &none[i], sizeof(none[i]), pass_over, NULL);
	nl_close(socket);
	return !err;
}

bool host_lacks(const struct host *host, int capability)
{
	return !(host->capabilities >> capability & 1);
}

const char *host_lacks_text(const struct host *host, char text[HOST_LACKS_MAX])
{
	static const struct {
		int capability, or_else;
		const char *name;
	} needed[] = {
		{ CAP_BPF, CAP_SYS_ADMIN, "CAP_BPF" },
		{ CAP_NET_ADMIN, CAP_NET_ADMIN, "CAP_NET_ADMIN" },
		{ CAP_PERFMON, CAP_SYS_ADMIN, "CAP_PERFMON" },
	};
	size_t n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (host_lacks(host, needed[i].capability) && host_lacks(host, needed[i].or_else))
			n += (size_t)snprintf(text + n, HOST_LACKS_MAX - n, "%s%s", n ? ", " : "", needed[i].name);
	return text;
}
