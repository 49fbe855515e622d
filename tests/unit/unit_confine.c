// SPDX-License-Identifier: GPL-2.0-only
/* What is left to a process that speaks to servers: never as root, and each call that it may make or not. */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/calls.h"
#include "base/log.h"
#include "base/rights.h"
#include "ktap.h"

#define NEEDED(is)               \
	do {                     \
		if (!(is))       \
			abort(); \
	} while (0)

/* Of the process that is confined; it has no file to write to. */
static struct seen {
	char text[4096];
} * seen;
static bool made_up; /* users: these; and nothing is given up */
static uid_t real_user, effective_user;
static int limit_err;

__attribute__((format(printf, 1, 2))) static void line(const char *fmt, ...)
{
	size_t n = strlen(seen->text);
	va_list args;

	va_start(args, fmt);
	vsnprintf(seen->text + n, sizeof(seen->text) - n, fmt, args);
	va_end(args);
}

static int given_limit(int resource, rlim_t most)
{
	line("%s %llu\n",
	     resource == RLIMIT_FSIZE	 ? "bytes"
	     : resource == RLIMIT_CORE	 ? "core"
	     : resource == RLIMIT_NOFILE ? "files"
	     : resource == RLIMIT_CPU	 ? "seconds"
					 : "another",
	     (unsigned long long)most);
	return limit_err;
}

static int given_memory(size_t most)
{
	line("memory %zu MiB\n", most >> 20);
	return 0;
}

static int given_user(void)
{
	return made_up ? 0 : rights_own_user();
}

static int given_drop(void)
{
	line("no rights\n");
	return made_up ? -EXDEV : rights_drop();
}

static uid_t given_getuid(void)
{
	return made_up ? real_user : getuid();
}

static uid_t given_geteuid(void)
{
	return made_up ? effective_user : geteuid();
}

/* Landlock, where it is made up: its descriptors are real, so that whoever leaves one open is seen. */
static bool landlock_made_up;
static int no_ruleset, no_restriction; /* errors */
static int ruleset = -1;
static const char *missing = "", *last_opened = "";

static long given_landlock(long number, va_list args)
{
	const struct landlock_path_beneath_attr *beneath;
	const struct landlock_ruleset_attr *attr;
	int rules;

	if (number == __NR_landlock_create_ruleset) {
		attr = va_arg(args, void *);
		line("handles %llx", (unsigned long long)attr->handled_access_fs);
		line(", %zu bytes", va_arg(args, size_t));
		line(", %d\n", va_arg(args, int));
		errno = no_ruleset;
		return ruleset = no_ruleset ? -1 : open("/", O_PATH | O_CLOEXEC);
	}
	rules = va_arg(args, int);
	if (rules != ruleset || (number != __NR_landlock_add_rule && number != __NR_landlock_restrict_self))
		abort();
	if (number == __NR_landlock_restrict_self) {
		line("no more, %d\n", va_arg(args, int));
		errno = no_restriction;
		return no_restriction ? -1 : 0;
	}
	if (va_arg(args, int) != LANDLOCK_RULE_PATH_BENEATH)
		abort();
	beneath = va_arg(args, void *);
	line("%s%s: %llx", beneath->parent_fd < 0 ? "no " : "", last_opened,
	     (unsigned long long)beneath->allowed_access);
	line(", %d\n", va_arg(args, int));
	return 0;
}

static long given_syscall(long number, ...)
{
	long value[4] = { 0 };
	va_list args;

	va_start(args, number);
	if (landlock_made_up) {
		value[0] = given_landlock(number, args);
		va_end(args);
		return value[0];
	}
	for (int i = 0; i < 4; i++)
		value[i] = va_arg(args, long);
	va_end(args);
	return syscall(number, value[0], value[1], value[2], value[3]);
}

static int given_open(const char *path, int how)
{
	if (!landlock_made_up)
		return open(path, how);
	if (how != (O_PATH | O_CLOEXEC))
		abort();
	last_opened = path;
	return strcmp(path, missing) ? open("/", how) : -1;
}

#define rights_limit	    given_limit
#define rights_limit_memory given_memory
#define rights_own_user	    given_user
#define rights_drop	    given_drop
/* As calls in a list they keep their names. */
#define getuid()	given_getuid()
#define geteuid()	given_geteuid()
#define syscall		given_syscall
#define open(path, how) given_open(path, how)
#include "fetch/confine.c"
#undef getuid
#undef geteuid
#undef syscall
#undef open

#define IN_MEMORY (SANITIZED ? "" : "memory 256 MiB\n")

static void never_as_root(void)
{
	static const struct {
		uid_t real, effective;
		bool good;
	} users[] = { { 0, 0, false }, { 5, 0, false }, { 0, 5, false }, { 5, 5, true }, { 1, 1, true } };
	const struct confinement c = { .does = "fetches", .bytes = 4711, .cpu_seconds = 60 };

	made_up = true;
	for (size_t i = 0; i < sizeof(users) / sizeof(*users); i++) {
		char wanted[200];
		int err;

		real_user = users[i].real;
		effective_user = users[i].effective;
		*seen->text = '\0';
		err = confine(&c);
		CHECK(users[i].good
			      ? err_is(err, EXDEV) && strstr(reason(err), "it cannot give up its rights: ")
			      : err_is(err, EPERM) &&
					!strcmp(reason(err),
						"it may not become another user than root, and fetches nothing as root"),
		      "%u, %u: %s", users[i].real, users[i].effective, err ? reason(err) : "no error");
		snprintf(wanted, sizeof(wanted), "%sbytes 4711\ncore 0\nfiles 32\nseconds 60\n%s", IN_MEMORY,
			 users[i].good ? "no rights\n" : "");
		CHECK(!strcmp(seen->text, wanted), "%s", seen->text);
	}
	/* As long as it likes; and where a limit cannot be set. */
	*seen->text = '\0';
	limit_err = -EPERM;
	CHECK(err_is(confine(&(struct confinement){ .does = "speaks" }), EPERM), "no error");
	limit_err = 0;
	confine(&(struct confinement){ .does = "speaks", .bytes = 1 });
	CHECK(!strstr(seen->text, "seconds") && strstr(seen->text, "bytes 0\n") && strstr(seen->text, "bytes 1\n"),
	      "%s", seen->text);
	made_up = false;
}

/* What it may read; a kernel without Landlock does without, and one that fails does not. */
static void reads_only(void)
{
	static const struct {
		int err;
		bool goes_on;
	} errors[] = { { ENOSYS, true }, { EOPNOTSUPP, true }, { EPERM, true }, { EMFILE, false }, { ENOMEM, false } };
	char wanted[300];

	landlock_made_up = true;
	missing = "/lib64";
	*seen->text = '\0';
	CHECK(!only_read("/ca.pem"), "it fails");
	/* Of the header's size; what the kernel does not know of it is 0. */
	snprintf(wanted, sizeof(wanted),
		 "handles 1fff, %zu bytes, 0\n/etc: c, 0\n/usr: c, 0\n/lib: c, 0\n"
		 "/run/systemd/resolve: c, 0\n/run/resolvconf: c, 0\n/run/NetworkManager: c, 0\n"
		 "/var/lib/ca-certificates: c, 0\n/ca.pem: 4, 0\nno more, 0\n",
		 sizeof(struct landlock_ruleset_attr));
	CHECK(!strcmp(seen->text, wanted), "%s", seen->text);
	*seen->text = '\0';
	CHECK(!only_read("") && !only_read(NULL) && !strstr(seen->text, ": 4"), "%s", seen->text);
	no_restriction = E2BIG;
	CHECK(err_is(only_read(NULL), E2BIG), "it goes on without");
	no_restriction = 0;
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		*seen->text = '\0';
		no_ruleset = errors[i].err;
		CHECK(error_number(only_read(NULL)) == (errors[i].goes_on ? 0 : errors[i].err), "%s",
		      strerrorname_np(errors[i].err));
		CHECK(!strchr(seen->text, '/'), "%s", seen->text);
	}
	no_ruleset = 0;
	landlock_made_up = false;
}

#ifdef CALLS_ARCHITECTURE
static bool is_there(const char *what)
{
	char text[128];
	FILE *file = fopen("/proc/self/status", "re");
	bool found = false;

	while (file && !found && fgets(text, sizeof(text), file))
		found = !strncmp(text, what, strlen(what));
	if (file)
		fclose(file);
	return found;
}

static void said(const char *what, long result)
{
	line("%s: %s\n", what, result >= 0 ? "yes" : strerrorname_np(errno));
}

static void a_socket(const char *what, int family, int type, int protocol)
{
	said(what, socket(family, type, protocol));
}

/* A file that everybody may read; where it stands is no way to open it. */
static char beside[64] __attribute__((aligned(4096)));
static int six = AF_INET6; /* where the kernel has it */

static void calls(void)
{
	char *const none[] = { NULL };
	struct sigaction pipes, sizes;
	struct rlimit limit;

	a_socket("TCP", AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	a_socket("UDP", six, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	a_socket("raw", AF_INET, SOCK_RAW, IPPROTO_ICMP);
	a_socket("SCTP", AF_INET, SOCK_SEQPACKET, 132);
	a_socket("packets", AF_PACKET, SOCK_DGRAM, 0);
	a_socket("netlink", AF_NETLINK, SOCK_DGRAM, 0);
	a_socket("its own", AF_UNIX, SOCK_STREAM, 0);
	said("two of its own", syscall(__NR_socketpair, AF_UNIX, SOCK_STREAM, 0, (int[2]){ 0 }));
	said("reads /etc", open("/etc/passwd", O_RDONLY | O_CLOEXEC));
	said("lists /etc", open("/etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	said("reads another", open(beside, O_RDONLY | O_CLOEXEC));
	said("writes", open(beside, O_WRONLY));
	said("reads and writes", open(beside, O_RDWR));
#ifdef __NR_open
	said("writes by the old call", syscall(__NR_open, beside, O_WRONLY));
#else
	errno = EPERM;
	said("writes by the old call", -1);
#endif
	said("cuts", open(beside, O_RDONLY | O_TRUNC));
	said("makes a file", open("/etc/xdp-bloom-new", O_RDONLY | O_CREAT, 0600));
	said("ignores SIGPIPE and SIGXFSZ", !sigaction(SIGPIPE, NULL, &pipes) && !sigaction(SIGXFSZ, NULL, &sizes) &&
							    pipes.sa_handler == SIG_IGN && sizes.sa_handler == SIG_IGN
						    ? 0
						    : -1);
	said("starts a program", execve("/bin/true", none, none));
	said("a process", syscall(__NR_clone, SIGCHLD, 0, 0, 0, 0));
	said("its limits", syscall(__NR_prlimit64, 0, RLIMIT_CORE, NULL, &limit));
	said("prctl", prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
	said("bpf", syscall(__NR_bpf, 0, NULL, 0));
	said("ptrace", ptrace(PTRACE_TRACEME, 0, NULL, NULL));
	said("mounts", syscall(__NR_mount, "none", "/", "tmpfs", 0, NULL));
	said("execveat", syscall(__NR_execveat, -1, "/bin/true", none, none, 0));
}

static void as_its_child(const struct confinement *c)
{
	int status;
	pid_t child;

	*seen->text = '\0';
	fflush(stdout);
	child = fork();
	if (!child) {
		int err = confine(c);

		line("%s\n", err ? reason(err) : "confined");
		if (!err)
			calls();
		_exit(0);
	}
	NEEDED(child > 0 && waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status), "status %x", (unsigned int)status);
}

static const char refusals[] =
	"writes: EPERM\nreads and writes: EPERM\nwrites by the old call: EPERM\ncuts: EPERM\nmakes a file: EPERM\n"
	"ignores SIGPIPE and SIGXFSZ: yes\n"
	"starts a program: EPERM\na process: EPERM\nits limits: EPERM\nprctl: EPERM\nbpf: EPERM\n"
	"ptrace: EPERM\nmounts: ENOSYS\nexecveat: EPERM\n";

static void left(void)
{
	static const struct {
		int sockets;
		const char *wanted;
	} known[] = {
		{ CONFINE_INTERNET, "TCP: yes\nUDP: yes\nraw: EAFNOSUPPORT\nSCTP: EAFNOSUPPORT\npackets: EAFNOSUPPORT\n"
				    "netlink: EAFNOSUPPORT\nits own: EAFNOSUPPORT\ntwo of its own: yes\n" },
		{ CONFINE_OWN, "TCP: yes\nUDP: yes\nraw: EAFNOSUPPORT\nSCTP: EAFNOSUPPORT\npackets: EAFNOSUPPORT\n"
			       "netlink: EAFNOSUPPORT\nits own: yes\ntwo of its own: yes\n" },
		{ CONFINE_NONE,
		  "TCP: EPERM\nUDP: EPERM\nraw: EAFNOSUPPORT\nSCTP: EAFNOSUPPORT\npackets: EAFNOSUPPORT\nnetlink: EAFNOSUPPORT\n"
		  "its own: EPERM\ntwo of its own: EPERM\n" },
	};
	bool landlock = syscall(__NR_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) > 0;
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char text[4096];

	six = fd < 0 ? AF_INET : AF_INET6;
	close(fd);
	strcpy(beside, "/tmp/xdp-bloom-confine-XXXXXX");
	fd = mkstemp(beside);
	NEEDED(fd >= 0 && !fchmod(fd, 0666));
	close(fd);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		for (int file = 0; file < 2; file++) {
			const struct confinement c = { .does = "fetches",
						       .file = file ? beside : "",
						       .bytes = 4711,
						       .sockets = known[i].sockets };

			as_its_child(&c);
			if (strstr(seen->text, "it may not become another user")) {
				ktap_skip("it may not become another user");
				continue;
			}
			snprintf(text, sizeof(text),
				 "memory 256 MiB\nbytes 4711\ncore 0\nfiles 32\nno rights\nconfined\n%s"
				 "reads /etc: yes\nlists /etc: yes\nreads another: %s\n%s",
				 known[i].wanted, landlock && !file ? "EACCES" : "yes", refusals);
			CHECK(!strcmp(seen->text, text), "%d, file %d: %s", known[i].sockets, file, seen->text);
		}
	unlink(beside);
}

static void what_is_left(void)
{
	if (!SANITIZED && is_there("Seccomp:"))
		left();
	else
		ktap_skip("no seccomp");
}
#else
static void what_is_left(void)
{
	ktap_skip("no seccomp");
}
#endif

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "never as root", never_as_root },
		{ "what it may read", reads_only },
		{ "what is left to it", what_is_left },
	};

	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	NEEDED(seen != MAP_FAILED);
	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
