// SPDX-License-Identifier: GPL-2.0-only
/* What is made of what a machine says of itself, where its files, calls and rights are made up. */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "base/close_fd.h"
#include "base/log.h"
#include "base/netlink.h"
#include "kernel/host.h"
#include "shown.h"

static const struct shown known[] = {
#include "unit_host.txt"
};

static struct shows shows = { .file = "tests/unit/unit_host.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define MOST 16
#define FD   40 /* of the first file */

/* What there is; text NULL: it cannot be opened, or with err -EIO read. */
static struct made {
	const char *path, *text;
	int err;
} files[MOST];
static size_t files_n;
static int open_now; /* so many are open */

static struct {
	const char *release;
	int bpf;    /* errno */
	int capget; /* the same */
	__u32 low, high;
	rlim_t memlock;
	bool limit_fails;
} may;

static struct made *find(const char *path)
{
	for (size_t i = 0; i < files_n; i++)
		if (!strcmp(files[i].path, path))
			return &files[i];
	return NULL;
}

static void file(const char *path, const char *text, int err)
{
	struct made *made = find(path);

	if (!made)
		made = &files[files_n++];
	if (files_n > MOST)
		abort();
	*made = (struct made){ path, text, err };
}

static int given_open(const char *path, int flags)
{
	struct made *made = find(path);

	if (flags != (O_RDONLY | O_CLOEXEC))
		abort();
	errno = made ? made->err : ENOENT;
	if (!made || (!made->text && !err_is(-made->err, EIO)))
		return -1;
	open_now++;
	return FD + (int)(made - files);
}

static ssize_t given_read(int fd, void *to, size_t size)
{
	const struct made *made = &files[fd - FD];
	size_t n = made->text ? strlen(made->text) : 0;

	errno = EIO;
	if (!made->text)
		return -1;
	n = n < size ? n : size;
	memcpy(to, made->text, n);
	return (ssize_t)n;
}

static void given_close(int fd)
{
	open_now -= fd >= FD;
}

static FILE *given_fopen(const char *path, const char *how)
{
	const struct made *made = find(path);
	size_t n = made && made->text ? strlen(made->text) : 0;
	FILE *text;

	if (strcmp(how, "re") != 0)
		abort();
	if (!n)
		return NULL;
	text = tmpfile();
	if (!text || fwrite(made->text, 1, n, text) != n)
		abort();
	rewind(text);
	open_now++;
	return text;
}

static int given_fclose(FILE *text)
{
	open_now--;
	return fclose(text);
}

static int given_access(const char *path, int how)
{
	if (how != F_OK)
		abort();
	return find(path) ? 0 : -1;
}

static int given_uname(struct utsname *name)
{
	snprintf(name->release, sizeof(name->release), "%s", may.release);
	return 0;
}

static long given_sysconf(int what)
{
	return what == _SC_PAGESIZE ? 4096 : what == _SC_NPROCESSORS_CONF ? 6 : -1;
}

static int given_limit(int what, struct rlimit *limit)
{
	if (what != (int)RLIMIT_MEMLOCK)
		abort();
	limit->rlim_cur = may.memlock;
	limit->rlim_max = 77;
	return may.limit_fails ? -1 : 0;
}

static long given_bpf(int command, const void *nothing, size_t size)
{
	static const union bpf_attr zero;

	if (command != -1 || size != sizeof(zero) || memcmp(nothing, &zero, size) != 0)
		abort();
	errno = may.bpf;
	return may.bpf ? -1 : 0;
}

static uint64_t given_rights(void)
{
	return may.capget ? 0 : may.low | (uint64_t)may.high << 32;
}

static int diag_fails[3]; /* to be opened, of TCP, of UDP */
static int diag_open;

static int given_netlink(struct nl_socket **socket, int family, int flags, unsigned int groups)
{
	if (family != NETLINK_SOCK_DIAG || flags || groups)
		abort();
	*socket = (struct nl_socket *)&diag_open;
	diag_open += !diag_fails[0];
	return diag_fails[0];
}

static int given_dump(struct nl_socket *socket, uint16_t kind, const void *request, size_t size, netlink_each_fn *each,
		      void *arg)
{
	const struct inet_diag_req_v2 *of = request;

	if (socket != (struct nl_socket *)&diag_open || kind != SOCK_DIAG_BY_FAMILY || size != sizeof(*of) ||
	    of->sdiag_family != AF_INET || of->idiag_states)
		abort();
	each(arg, NULL);
	return diag_fails[of->sdiag_protocol == IPPROTO_TCP ? 1 : 2];
}

static void given_end(struct nl_socket *socket)
{
	diag_open -= socket == (struct nl_socket *)&diag_open;
}

#define netlink_open	    given_netlink
#define netlink_dump	    given_dump
#define nl_close	    given_end
#define SYS_GIVEN_SYS_bpf   given_bpf
#define rights_in_effect    given_rights
#define syscall(which, ...) SYS_GIVEN_##which(__VA_ARGS__)
#define read(fd, to, size)  given_read(fd, to, size)
#define close_fd	    given_close
#define fopen(path, how)    given_fopen(path, how)
#define fclose(text)	    given_fclose(text)
#define access(path, how)   given_access(path, how)
#define uname(name)	    given_uname(name)
#define sysconf(what)	    given_sysconf(what)
#define getrlimit(what, to) given_limit(what, to)
#define open(path, flags)   given_open(path, flags)
#include "kernel/host.c"
#undef open
#undef read

static void begin(void)
{
	files_n = 0;
	memset(&may, 0, sizeof(may));
	may.release = "6.12.43+deb13-amd64";
	may.memlock = RLIM_INFINITY;
}

static void look(const char *what)
{
	char text[HOST_LACKS_MAX];
	struct host host;

	memset(&host, 0xff, sizeof(host));
	host_look(&host);
	printf("%s\n  %s: %u.%u.%u, page %u, cpus %u, btf %d, bpf %d, jit %d, unprivileged %d\n", what, host.release,
	       host.kernel >> 16, host.kernel >> 8 & 255, host.kernel & 255, host.page, host.cpus, host.btf, host.bpf,
	       host.jit, host.unprivileged);
	printf("  lockdown '%s', selinux %d, apparmor '%s', seccomp %d, capabilities %llx, memlock %lld, memory %llu\n",
	       host.lockdown, host.selinux, host.apparmor, host.seccomp, (unsigned long long)host.capabilities,
	       (long long)host.memlock, (unsigned long long)host.memory);
	printf("  lacks '%s'%s%s\n", host_lacks_text(&host, text), host.unwraps ? ", unwraps by " : "",
	       host.unwraps ?: "");
	if (open_now)
		abort();
}

static void none(void)
{
	look("it says nothing");
	may.release = "5.10";
	look("a short name");
	may.release = "5";
	look("no number");
	may.release = "a.b";
	look("none at all");
}

static void all(void)
{
	may.bpf = EINVAL;
	may.memlock = 65536;
	may.low = 0xfffffffe;
	may.high = 0x1ff;
	file("/sys/kernel/btf/vmlinux", "", 0);
	file("/proc/sys/net/core/bpf_jit_enable", "1\n", 0);
	file("/proc/sys/kernel/unprivileged_bpf_disabled", "2\n", 0);
	file("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n", 0);
	file("/sys/fs/selinux/enforce", "0", 0);
	file("/sys/kernel/security/apparmor/features/file/mask", "create read\n", 0);
	file("/proc/self/attr/apparmor/current", "docker-default (enforce)\n", 0);
	file("/proc/self/attr/current", "unconfined\n", 0);
	file("/proc/self/status", "Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n", 0);
	file("/proc/self/cgroup", "0::/\n", 0);
	look("all is there");
	may.limit_fails = true;
	may.capget = EPERM;
	look("neither limits nor capabilities");
}

static void unseen(void)
{
	file("/proc/sys/net/core/bpf_jit_enable", NULL, EACCES);
	file("/proc/sys/kernel/unprivileged_bpf_disabled", NULL, EPERM);
	file("/sys/fs/selinux/enforce", NULL, EIO);
	file("/sys/kernel/security/lockdown", NULL, EACCES);
	look("root alone may look, and one cannot be read");
	file("/sys/kernel/security/lockdown", "[none] integrity\n", 0);
	look("the first word");
	file("/sys/kernel/security/lockdown", "none integrity [confidentiality]\n", 0);
	look("the last");
	file("/sys/kernel/security/lockdown", "[a-word-that-is-longer-than-its-room]\n", 0);
	look("a long one");
	file("/sys/kernel/security/lockdown", "none\n", 0);
	look("none is chosen");
}

static void apparmor(void)
{
	file("/proc/self/attr/current", "a-profile\nof two lines", 0);
	look("a profile, and no AppArmor");
	file("/sys/module/apparmor", "", 0);
	look("AppArmor by its module");
	files_n = 1;
	file("/sys/kernel/security/apparmor/features/file/mask", NULL, EACCES);
	look("by what it has, which root may see");
	file("/sys/kernel/security/apparmor/features/file/mask", "1", 0);
	file("/proc/self/attr/apparmor/current", "unconfined\n", 0);
	look("not confined");
	file("/proc/self/attr/apparmor/current",
	     "a-profile-with-a-name-that-is-so-long-that-its-end-has-no-room-any-more\n", 0);
	look("a long name");
	file("/proc/self/attr/apparmor/current", "a-profile", 0);
	look("no end of the line");
	file("/proc/self/attr/apparmor/current", NULL, ENOENT);
	file("/proc/self/attr/current", NULL, ENOENT);
	look("none is said");
}

static void unwraps(void)
{
	file("/proc/sys/net/ipv6/conf/all/rpl_seg_enabled", "1\n", 0);
	look("one kind of routing headers");
	file("/proc/sys/net/ipv6/conf/all/seg6_enabled", "0\n", 0);
	look("not the other");
	file("/proc/sys/net/ipv6/conf/all/seg6_enabled", "1\n", 0);
	look("both");
	file("/proc/sys/net/ipv6/conf/all/rpl_seg_enabled", "0\n", 0);
	look("the other");
	file("/proc/sys/net/ipv6/conf/all/seg6_enabled", NULL, EACCES);
	look("it is not seen");
}

static void seccomp(void)
{
	static const char *const each[] = { "Seccomp:\t0\n", "Seccomp:\t1\n", "Seccomp:\t2\n",
					    "Seccomp:\tx\nNoSeccomp: 2\n" };

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		file("/proc/self/status", each[i], 0);
		look("seccomp");
	}
}

static void memory(void)
{
	file("/proc/self/cgroup", "0::/a.slice/b.service\n", 0);
	file("/sys/fs/cgroup/a.slice/b.service/memory.max", "max\n", 0);
	look("no limit");
	file("/sys/fs/cgroup/a.slice/memory.max", "3000000\n", 0);
	look("above");
	file("/sys/fs/cgroup/a.slice/b.service/memory.max", "3000001\n", 0);
	file("/sys/fs/cgroup/memory.max", "2999999\n", 0);
	look("the least is that of all");
	file("/sys/fs/cgroup/a.slice/b.service/memory.max", "2000000\n", 0);
	look("its own is");
	file("/sys/fs/cgroup/a.slice/b.service/memory.max", "1125899906842624\n", 0);
	file("/sys/fs/cgroup/a.slice/memory.max", "1125899906842623\n", 0);
	file("/sys/fs/cgroup/memory.max", "0\n", 0);
	look("as large as none");
	file("/sys/fs/cgroup/a.slice/memory.max", "9\n", 0);
	look("one digit");
	file("/sys/fs/cgroup/a.slice/memory.max", ":\n", 0);
	look("no digit");
	begin();
	file("/proc/self/cgroup", "12:pids:/x\n9:memory:/docker/ab\n3:name=memory0::/no\n0::/\n", 0);
	file("/sys/fs/cgroup/memory/docker/ab/memory.limit_in_bytes", "9223372036854771712\n", 0);
	file("/sys/fs/cgroup/memory/docker/memory.limit_in_bytes", "5000000\n", 0);
	file("/sys/fs/cgroup/no/memory.max", "4\n", 0);
	file("/sys/fs/cgroup/memory.max", "6000000\n", 0);
	look("the older kind");
	file("/sys/fs/cgroup/memory/docker/memory.limit_in_bytes", NULL, EACCES);
	look("both");
}

static void lacks(void)
{
	static const struct {
		const char *what;
		uint64_t has;
	} each[] = { { "nothing", 0 },
		     { "the administrator's", 1ULL << CAP_SYS_ADMIN },
		     { "the network's", 1ULL << CAP_NET_ADMIN },
		     { "BPF's", 1ULL << CAP_BPF },
		     { "the counters'", 1ULL << CAP_PERFMON },
		     { "two", 1ULL << CAP_SYS_ADMIN | 1ULL << CAP_NET_ADMIN },
		     { "three", 1ULL << CAP_BPF | 1ULL << CAP_PERFMON | 1ULL << CAP_NET_ADMIN } };

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		const struct host host = { .capabilities = each[i].has };
		char text[HOST_LACKS_MAX] = "before";

		printf("with %s: '%s', %d\n", each[i].what, host_lacks_text(&host, text), host_lacks(&host, CAP_BPF));
	}
}

static void of_another(void)
{
	static const char *const each[] = { "Name:\tx\nCapEff:\t000001ffffffffff\nCapBnd:\t0\n", "CapEff:\t0\n",
					    "CapEff:\tx\nXCapEff:\t7\n" };

	printf("of no process: %llx, of one that is gone: %llx\n", (unsigned long long)host_capabilities(0),
	       (unsigned long long)host_capabilities(7));
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		file("/proc/7/status", each[i], 0);
		printf("%llx\n", (unsigned long long)host_capabilities(7));
	}
	if (open_now)
		abort();
}

static void sockets(void)
{
	static const char *const what[] = { "not at all", "of TCP", "of UDP" };

	printf("they can be asked about: %d\n", host_has_diag());
	for (size_t i = 0; i < 3; i++) {
		diag_fails[i] = i ? -ENOENT : -EPROTONOSUPPORT;
		printf("%s: %d\n", what[i], host_has_diag());
		diag_fails[i] = 0;
	}
	if (diag_open)
		abort();
}

static void word_for_word(void)
{
	static const struct scene scenes[] = { { "none", none },       { "all", all },
					       { "unseen", unseen },   { "apparmor", apparmor },
					       { "seccomp", seccomp }, { "memory", memory },
					       { "lacks", lacks },     { "of another", of_another },
					       { "unwraps", unwraps }, { "sockets", sockets } };

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
