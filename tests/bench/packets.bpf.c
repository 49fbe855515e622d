// SPDX-License-Identifier: GPL-2.0-only
/*
 * A source of frames, to be run with BPF_F_TEST_XDP_LIVE_FRAMES: it gives each its address and sends it on its way. And
 * the two programs to compare with: one that drops all, so that its cost is that of making and delivering a frame; and
 * one that parses and counts, and keeps all.
 */
#include <linux/bpf.h>

#include "packets.h"
#include "bpf/parse.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SOURCES);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct stamp);
} stamps SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} turns SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 3);
	__type(key, __u32);
	__type(value, struct tally);
} tallies SEC(".maps");

const volatile __u32 out; /* the interface that the frames leave by */

SEC("xdp")
int send_frame(struct xdp_md *ctx)
{
	char *data = (char *)(long)ctx->data;
	struct ipv4_header *ip = (struct ipv4_header *)(data + sizeof(struct ethhdr));
	struct stamp *stamp;
	__u32 key = 0, *turn = bpf_map_lookup_elem(&turns, &key);
	struct ethhdr *eth = (struct ethhdr *)data;

	if (!turn || (char *)(ip + 1) + sizeof(__u16) > (char *)(long)ctx->data_end)
		return XDP_ABORTED;
	key = (*turn)++ & (SOURCES - 1);
	stamp = bpf_map_lookup_elem(&stamps, &key);
	if (!stamp)
		return XDP_ABORTED;
	ip->source = stamp->source;
	ip->destination = stamp->destination;
	/* The frame may have been through a router before, which wrote into it. */
	__builtin_memcpy(eth->h_dest, (const __u8[]){ 2, 0, 0, 0, 0, 1 }, ETH_ALEN);
	__builtin_memcpy(eth->h_source, (const __u8[]){ 2, 0, 0, 0, 0, 2 }, ETH_ALEN);
	ip->rest[7] = 64;
	*(__u16 *)(ip + 1) = NET16(9);
	*(__u16 *)&ip->rest[9] = stamp->checksum;
	return bpf_redirect(out, 0);
}

SEC("xdp")
int drop_all(struct xdp_md *ctx)
{
	(void)ctx;
	return XDP_DROP;
}

SEC("xdp")
int parse_count(struct xdp_md *ctx)
{
	const void *data = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;
	struct source source = { 0 };
	__u32 key = parse_source(data, end, &source) / 2 % 3;
	struct tally *tally;

	/* Read it, or the compiler leaves the parsing of it out. */
	barrier_var(source.ipv4);
	tally = bpf_map_lookup_elem(&tallies, &key);
	if (tally) {
		tally->packets++;
		tally->bytes += (const char *)end - (const char *)data;
	}
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
