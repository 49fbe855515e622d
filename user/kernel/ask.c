// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/ask.h"

#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "base/close_fd.h"
#include "base/log.h"
#include "bpf/parse.h"
#include "kernel/live.h"
#include "kernel/pins.h"

/* IPv4 in IPv6 is mapped; what cannot be is 0. */
static void put_address(__u32 *words, int family, const struct addr *addr)
{
	ip6 num = addr->family == family ? addr->num : addr->family == 4 ? (ip6)0xffff << 32 | addr->num : 0;

	if (family == 4)
		words[0] = NET32((__u32)num);
	for (int i = 0; i < 4 && family == 6; i++)
		words[i] = NET32((__u32)(num >> (96 - 32 * i)));
}

/* A frame from that source, as small as one can be. */
static void make_frame(unsigned char frame[64], const struct addr *addr, const struct asked_packet *packet)
{
	struct ethhdr *eth = (struct ethhdr *)frame;
	struct ask_frame *ask = (struct ask_frame *)frame;
	unsigned char *port;

	memset(frame, 0, 64);
	ask->ifindex = packet->ifindex;
	if (addr->family == 4) {
		struct ipv4_header *ip = (struct ipv4_header *)(eth + 1);

		eth->h_proto = NET16(ETH_P_IP);
		ip->version_ihl = 0x45;
		ip->rest[8] = packet->protocol;
		put_address(&ip->source, 4, addr);
		put_address(&ip->destination, 4, &packet->to);
		port = (unsigned char *)(ip + 1) + 2;
	} else {
		struct ipv6_header *ip = (struct ipv6_header *)(eth + 1);

		eth->h_proto = NET16(ETH_P_IPV6);
		ip->version_class = 0x60;
		ip->rest[5] = packet->protocol;
		put_address(ip->source, 6, addr);
		put_address(ip->destination, 6, &packet->to);
		port = (unsigned char *)(ip + 1) + 2;
	}
	port[0] = (unsigned char)(packet->port >> 8);
	port[1] = (unsigned char)packet->port;
}

/* fd may be an error of opening it. */
static int ask(int fd, const struct addr *addrs, size_t n, const struct asked_packet *packet, __u32 *answers)
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

		make_frame(frame, &addrs[i], packet ?: &(struct asked_packet){ 0 });
		((struct ask_frame *)frame)->scopes = packet != NULL;
		err = bpf_prog_test_run_opts(fd, &run) ? -errno : 0;
		answers[i] = run.retval;
	}
	return err ? because_kernel(err, "running the loaded program") : 0;
}

static int ask_live(const struct context *context, const struct addr *addrs, size_t n,
		    const struct asked_packet *packet, __u32 *answers)
{
	struct live live;
	int fd, err;

	live_open(&live, context);
	do
		fd = live_ask(&live);
	while (err_is(fd, ENOENT) && live_overtaken(&live));
	live_close(&live);
	err = ask(fd, addrs, n, packet, answers);
	close_fd(fd);
	return err;
}

int kernel_ask(const struct context *context, const struct addr *addrs, size_t n, __u32 *answers)
{
	return ask_live(context, addrs, n, NULL, answers);
}

int kernel_ask_packet(const struct context *context, const struct addr *addr, const struct asked_packet *packet,
		      __u32 *answer)
{
	return ask_live(context, addr, 1, packet, answer);
}

int live_ask(const struct live *live)
{
	return live_pin(live, PIN_ASK);
}

bool ask_drops(int asked, struct addr addr)
{
	__u32 answer = ANSWER_UNPARSED;

	return !ask(asked, &addr, 1, NULL, &answer) && answer_drops(answer);
}

bool live_drops(const struct live *live, struct addr addr)
{
	int asked = live_ask(live);
	bool drops = ask_drops(asked, addr);

	close_fd(asked);
	return drops;
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
