// SPDX-License-Identifier: GPL-2.0-only
/*
 * To be preloaded into xdp-bloom-fetch: where it would ask a server, or check a signature, it tries what a hole in a
 * library would, and writes a line for each try into the body: "denied WHAT" or "done WHAT". Into xdp-bloom-fleet:
 * where it would look a server's address up; the lines go to the command. ESCAPE_STATE, ESCAPE_PIN, ESCAPE_FILE: a file
 * of the state, a pin and a file that everybody may read.
 */
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BODY	3
#define COMMAND 0

static int to = BODY;

static void report(const char *what, bool done)
{
	char line[128];
	int n = snprintf(line, sizeof(line), "%s %s%s%s\n", done ? "done" : "denied", what, done ? "" : ": ",
			 done ? "" : strerror(errno));

	if (write(to, line, (size_t)n) != n)
		_exit(9);
}

static bool opens(const char *path, int flags)
{
	return open(path, flags | O_CLOEXEC, 0600) >= 0;
}

static bool pinned(const char *path)
{
	union bpf_attr attr = { .pathname = (__u64)(unsigned long)path };

	return syscall(__NR_bpf, BPF_OBJ_GET, &attr, sizeof(attr)) >= 0;
}

static bool makes_map(void)
{
	union bpf_attr attr = { .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1 };

	return syscall(__NR_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)) >= 0;
}

static bool forks(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	return pid > 0;
}

/* What is declared in sodium.h, which is not needed for it. */
int crypto_sign_verify_detached(const unsigned char *sig, const unsigned char *text, unsigned long long length,
				const unsigned char *key);

static void try_all(void)
{
	const char *state = getenv("ESCAPE_STATE"), *pin = getenv("ESCAPE_PIN"), *file = getenv("ESCAPE_FILE");
	char *argv[] = { (char *)"/bin/true", NULL };
	char path[64];

	report("read the state", opens(state, O_RDONLY));
	report("write the state", opens(state, O_RDWR));
	report("read a file of others", opens(file, O_RDONLY));
	report("make a file", opens("/tmp/xdp-bloom-escaped", O_WRONLY | O_CREAT));
	report("take a pin", pinned(pin));
	report("make a map", makes_map());
	report("a raw socket", socket(AF_INET, SOCK_RAW, IPPROTO_ICMP) >= 0);
	report("a raw socket of IPv6", socket(AF_INET6, SOCK_RAW, IPPROTO_ICMPV6) >= 0);
	report("a socket of packets", socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL)) >= 0);
	report("a socket of this machine", socket(AF_UNIX, SOCK_STREAM, 0) >= 0);
	report("a socket to the kernel", socket(AF_NETLINK, SOCK_RAW, 0) >= 0);
	report("another process", forks());
	report("become root", !setuid(0) || !setresuid(0, 0, 0));
	report("trace who started it", !ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)getppid());
	report("the memory of who started it", opens(path, O_RDWR) || opens(path, O_RDONLY));
	report("end who started it", !kill(getppid(), 0));
	report("a namespace", !unshare(CLONE_NEWUSER) || !unshare(CLONE_NEWNS));
	report("a mount", !mount("none", "/tmp", "tmpfs", 0, NULL));
	report("change its root", !chroot("/tmp"));
	/* Last: were it not denied, it would be the end of this. */
	execv(argv[0], argv);
	report("another program", false);
}

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found)
{
	static bool tried;

	(void)name;
	(void)service;
	(void)hints;
	(void)found;
	to = COMMAND;
	if (!tried)
		try_all();
	tried = true;
	return EAI_FAIL;
}

CURLcode curl_easy_perform(CURL *curl)
{
	(void)curl;
	try_all();
	return CURLE_OK;
}

int crypto_sign_verify_detached(const unsigned char *sig, const unsigned char *text, unsigned long long length,
				const unsigned char *key)
{
	(void)sig;
	(void)text;
	(void)length;
	(void)key;
	report("a connection", socket(AF_INET, SOCK_STREAM, 0) >= 0);
	report("a connection of IPv6", socket(AF_INET6, SOCK_STREAM, 0) >= 0);
	report("a question to a name server", socket(AF_INET, SOCK_DGRAM, 0) >= 0);
	try_all();
	return -1;
}
