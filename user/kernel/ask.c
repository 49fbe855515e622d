// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/ask.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/log.h"
#include "bpf/parse.h"
#include "kernel/live.h"
#include "kernel/pins.h"

/* A frame from that source, as small as one can be. */
static void make_frame(unsigned char frame[64], const struct addr *addr)
{
	struct ethhdr *eth = (struct ethhdr *)frame;

	memset(frame, 0, 64);
	if (addr->family == 4) {
		struct ipv4_header *ip = (struct ipv4_header *)(eth + 1);

		eth->h_proto = NET16(ETH_P_IP);
		ip->version_ihl = 0x45;
		ip->source = NET32((__u32)addr->num);
	} else {
		struct ipv6_header *ip = (struct ipv6_header *)(eth + 1);

		eth->h_proto = NET16(ETH_P_IPV6);
		ip->version_class = 0x60;
		for (int i = 0; i < 4; i++)
			ip->source[i] = NET32((__u32)(addr->num >> (96 - 32 * i)));
	}
}

/* Closes fd, which may be an error of opening it. */
static int ask(int fd, const struct addr *addrs, size_t n, __u32 *answers)
{
	/* Behind fourteen bytes of Ethernet the address is aligned. */
	_Alignas(4) unsigned char room[2 + 64];
	unsigned char *frame = room + 2;
	int err = 0;

	if (err_is(fd, ENOENT))
		return because(fd, "nothing is loaded here; load or attach first");
	if (fd < 0)
		return because_kernel(fd, PIN_ASK);
	for (size_t i = 0; i < n && !err; i++) {
		LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = frame, .data_size_in = 64, .repeat = 1);

		make_frame(frame, &addrs[i]);
		err = bpf_prog_test_run_opts(fd, &run) ? -errno : 0;
		answers[i] = run.retval;
	}
	close(fd);
	return err ? because_kernel(err, "running the loaded program") : 0;
}

int kernel_ask(const struct context *context, const struct addr *addrs, size_t n, __u32 *answers)
{
	struct live live;
	int fd;

	live_open(&live, context);
	do
		fd = live_pin(&live, PIN_ASK);
	while (err_is(fd, ENOENT) && live_overtaken(&live));
	live_close(&live);
	return ask(fd, addrs, n, answers);
}

bool live_drops(const struct live *live, struct addr addr)
{
	__u32 answer = ANSWER_UNPARSED;

	return !ask(live_pin(live, PIN_ASK), &addr, 1, &answer) && answer_drops(answer);
}

bool answer_drops(__u32 answer)
{
	return answer != ANSWER_UNPARSED && answer & ANSWER_DROP;
}

const char *answer_stage(__u32 answer)
{
	static const char *const names[] = { [STAGE_GATE] = "gate",
					     [STAGE_FILTER] = "filter",
					     [STAGE_ROSTER] = "roster",
					     [STAGE_DETECTOR] = "detector" };

	unsigned int stage = ANSWER_STAGE(answer);

	/* The two answers that are no answer, unparsed and hidden, have no stage either. */
	return stage < sizeof(names) / sizeof(*names) && names[stage] ? names[stage] : "parse";
}
