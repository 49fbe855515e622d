/* SPDX-License-Identifier: GPL-2.0-only */
/* What the machine's kernel has, allows and forbids, and what this process may: as far as it can be seen. */
#ifndef KERNEL_HOST_H
#define KERNEL_HOST_H

#include <linux/version.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define HOST_UNSEEN (-2) /* only root may look */
#define HOST_NONE   (-1) /* there is no such thing */

#define HOST_OLDEST	   KERNEL_VERSION(5, 10, 0)
#define HOST_PERFMON_READS KERNEL_VERSION(6, 15, 0) /* the memory of other processes */
#define HOST_FRAGS	   KERNEL_VERSION(5, 18, 0) /* programs may say that they take packets in several buffers */

struct host {
	unsigned int kernel; /* KERNEL_VERSION(major, minor, 0); 0: who knows? */
	char release[65];
	unsigned int page, cpus;
	bool btf;
	int bpf;	  /* errno of bpf() when it is asked for nothing */
	int jit;	  /* net.core.bpf_jit_enable; only the first network namespace has it */
	int unprivileged; /* kernel.unprivileged_bpf_disabled */
	char lockdown[24];
	int selinux;	   /* does it enforce? */
	char apparmor[64]; /* the profile that this process is confined by; "": none */
	bool seccomp;
	const char
		*unwraps; /* a setting by which IPv6 takes packets out of routing headers (for all); NULL: none is on */
	uint64_t capabilities;
	uint64_t service; /* what a service that runs may; host_look() takes it for all */
	bool no_diag;	  /* sockets cannot be asked about; host_look() takes it that they can */
	uint64_t memlock; /* RLIMIT_MEMLOCK; ~0: no limit */
	uint64_t memory;  /* of its control group; 0: no limit is seen */
};

/* The running kernel, as KERNEL_VERSION(major, minor, 0). */
unsigned int host_kernel(void);
void host_look(struct host *host);
/* What that process may; all, where there is none or that is not seen. */
uint64_t host_capabilities(pid_t pid);
/* Does the kernel say whom sockets of TCP and UDP are connected to? */
bool host_has_diag(void);
bool host_lacks(const struct host *host, int capability);
/* The names of those that the filter needs and this process lacks: "CAP_BPF, CAP_PERFMON"; "" where it has all. */
#define HOST_LACKS_MAX 64
const char *host_lacks_text(const struct host *host, char text[HOST_LACKS_MAX]);

#endif
