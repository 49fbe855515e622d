// SPDX-License-Identifier: GPL-2.0-only
/* One program a subject, as in lookup.bpf.c: each is charged a packet of one random source after the other. */
#include <linux/bpf.h>

#include "bpf/detect.h"
#include "lookup.h"

struct loop_run {
	__u64 rounds, random, mask; /* sources: as many as the mask has numbers */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct loop_run);
} runs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1 << 20);
	__type(key, __u32);
	__type(value, __u64);
} lru SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_PERCPU_HASH);
	__uint(max_entries, 1 << 20);
	__type(key, __u32);
	__type(value, __u64);
} lru_percpu SEC(".maps");

struct loop {
	__u64 random, mask, found;
};

static __always_inline __u64 in_lru(void *map, __u32 addr)
{
	__u64 one = 1, *count = bpf_map_lookup_elem(map, &addr);

	if (count)
		return ++*count;
	bpf_map_update_elem(map, &addr, &one, BPF_ANY);
	return 1;
}

static __always_inline __u64 in_detector(__u32 addr)
{
	const struct detect *d = NULL;
	struct hash_seeds seeds = { DETECT(d, hash.add), DETECT(d, hash.mul1), DETECT(d, hash.mul2), 0 };
	struct detect_packet packet = { addr, SUSPECT_IPV4, hash_ipv4(seeds, addr), 64, DETECT_BIT(CLASS_UDP) };

	return detect_packet(d, &packet, bpf_jiffies64() * DETECT(d, tick));
}

#define SUBJECT(subject, ask)                                             \
	static long each_##subject(__u32 i, struct loop *loop)            \
	{                                                                 \
		__u32 addr;                                               \
                                                                          \
		(void)i;                                                  \
		loop->random = RANDOM_NEXT(loop->random);                 \
		addr = loop->random >> 32 & loop->mask;                   \
		loop->found += (ask);                                     \
		return 0;                                                 \
	}                                                                 \
                                                                          \
	SEC("xdp") int subject(struct xdp_md *ctx)                        \
	{                                                                 \
		__u32 zero = 0;                                           \
		struct loop_run *run = bpf_map_lookup_elem(&runs, &zero); \
		struct loop loop = { 0 };                                 \
                                                                          \
		(void)ctx;                                                \
		if (!run)                                                 \
			return 0;                                         \
		loop.random = run->random;                                \
		loop.mask = run->mask;                                    \
		bpf_loop(run->rounds, each_##subject, &loop, 0);          \
		return loop.found;                                        \
	}

SUBJECT(empty, addr & 1)
SUBJECT(detector, in_detector(addr))
SUBJECT(lru_hash, in_lru(&lru, addr))
SUBJECT(lru_percpu_hash, in_lru(&lru_percpu, addr))

char _license[] SEC("license") = "GPL";
