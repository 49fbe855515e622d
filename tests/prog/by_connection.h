/* SPDX-License-Identifier: GPL-2.0-only */
/* Frames of a connection through the program in force, and what its detector sees of who sends them. */
#ifndef BY_CONNECTION_H
#define BY_CONNECTION_H

#include <linux/ipv6.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>

#include "bpf/detect.h"
#include "connection.h"
#include "in_force.h"

enum { LOOPBACK = 1 };

/* The verdict of the last of them. */
/* DROP where the last one of any tenth is dropped: a machine that is held up for a moment lets the next ones pass. */
static __u32 send_frames(const uint8_t *frame, unsigned int packets)
{
	unsigned int tenth = (packets + 9) / 10;
	__u32 verdict = PASS;

	for (unsigned int sent = 0; sent < packets; sent += tenth) {
		unsigned int n = packets - sent < tenth ? packets - sent : tenth;
		LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = FRAME, .repeat = (int)n);

		if (!CHECK(!bpf_prog_test_run_opts(program, &opts), "test run: %s", strerror(errno)))
			return 0;
		if (opts.retval != PASS)
			verdict = opts.retval;
	}
	return verdict;
}

static struct addr address_of(const struct connection *c)
{
	struct addr addr = { .family = (unsigned char)c->family };

	for (int i = 0; i < (c->family == 4 ? 4 : 16); i++)
		addr.num = addr.num << 8 | c->from[i];
	return addr;
}

struct found {
	bool known, banned;
	size_t places; /* that it has */
	struct suspect is;
	__u64 now, packets[DETECTEDS];
};

static struct found find(const struct connection *c)
{
	struct addr addr = address_of(c);
	__u64 key = c->family == 4 ? (__u64)addr.num : (__u64)(addr.num >> 64);
	struct found found = { 0 };
	struct seen seen;
	int err = kernel_seen(&own_context, &seen);

	if (!CHECK(!err && seen.on, "what was seen: %s", reason(err)))
		return found;
	found.now = seen.now;
	memcpy(found.packets, seen.packets, sizeof(found.packets));
	for (size_t i = 0; i < seen.n; i++)
		if (seen.suspect[i].key == key && MARK_KIND(seen.suspect[i].mark) == (__u64)c->family) {
			found.known = true;
			found.places++;
			found.is = seen.suspect[i].is;
			found.banned = found.is.until > seen.now;
		}
	seen_free(&seen);
	return found;
}

/* As ip(8) would: it is not everywhere. */
static bool loopback_up(void)
{
	static const char *const addresses[] = { SERVER6, CLIENT6 };
	struct ifreq up = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING };
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);
	bool done = fd >= 0 && !ioctl(fd, SIOCSIFFLAGS, &up);

	for (size_t i = 0; i < 2; i++) {
		struct in6_ifreq address = { .ifr6_prefixlen = 64, .ifr6_ifindex = LOOPBACK };

		inet_pton(AF_INET6, addresses[i], &address.ifr6_addr);
		done = done && !ioctl(fd, SIOCSIFADDR, &address);
	}
	if (fd >= 0)
		close(fd);
	return done;
}

#endif
