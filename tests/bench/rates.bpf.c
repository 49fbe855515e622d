// SPDX-License-Identifier: GPL-2.0-only
/*
 * One program a subject, as in lookup.bpf.c: each is charged a packet of one random source after the other. What it
 * returns is the sum of what it found: the detector enum detected, a sketch whether its cell is hot, a table its count.
 */
#include <linux/bpf.h>

#include "bpf/detect.h"
#include "lookup.h"
#include "rates.h"

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
	__u64 random, mask, chained, found;
	void *from;
};

static __always_inline __u64 in_lru(void *map, __u32 addr)
{
	__u64 one = 1, *count = bpf_map_lookup_elem(map, &addr);

	if (count)
		return ++*count;
	bpf_map_update_elem(map, &addr, &one, BPF_ANY);
	return 1;
}

static __always_inline struct detect_packet packet_of(const struct detect *d, __u32 addr)
{
	struct hash_seeds seeds = { DETECT(d, hash.add), DETECT(d, hash.mul1), DETECT(d, hash.mul2), 0 };

	/* 0.0.0.0 is nobody's; the flood is of 0. */
	addr ^= 1U << 31;
	return (struct detect_packet){ .key = addr,
				       .kind = SUSPECT_IPV4,
				       .hash = hash_ipv4(seeds, addr),
				       .bytes = 64,
				       .classes = DETECT_BIT(CLASS_UDP) };
}

static __always_inline __u64 in_detector(__u32 addr, void *from)
{
	const struct detect *d = NULL;
	struct detect_packet packet = packet_of(d, addr);

	packet.from = from;
	return detect_packet(d, &packet, bpf_jiffies64() * DETECT(d, tick));
}

static __always_inline __u64 in_sketch(__u32 addr)
{
	const struct detect *d = NULL;
	struct detect_packet packet = packet_of(d, addr);

	return sketch_charge(d, packet.hash, bpf_jiffies64() * DETECT(d, tick), detect_prices(d, &packet));
}

/* The same without lost updates, but for those of a cell that is in the past; it is not held back at `most`. */
static __always_inline __u64 in_sketch_atomic(__u32 addr)
{
	const struct detect *d = NULL;
	struct detect_packet packet = packet_of(d, addr);
	__u64 now = bpf_jiffies64() * DETECT(d, tick), price = detect_prices(d, &packet);
	__u64 *cell = (__u64 *)DETECT(d, sketch) + reduce(packet.hash >> 32, DETECT(d, cells)),
	      ahead = stamp_ahead(detect_load(cell), now);

	if (ahead)
		__sync_fetch_and_add(cell, price);
	else
		detect_store(cell, now + price);
	return ahead + price > DETECT(d, cap);
}

/* Chained, each packet waits for the one before, as real ones do. */
#define SUBJECT(subject, ask)                                             \
	static long each_##subject(__u32 i, struct loop *loop)            \
	{                                                                 \
		__u32 addr;                                               \
		__u64 found;                                              \
                                                                          \
		(void)i;                                                  \
		loop->random = RANDOM_NEXT(loop->random);                 \
		addr = loop->random >> 32 & loop->mask;                   \
		found = ask;                                              \
		loop->found += found;                                     \
		if (loop->chained)                                        \
			loop->random += found;                            \
		return 0;                                                 \
	}                                                                 \
                                                                          \
	SEC("xdp") int subject(struct xdp_md *ctx)                        \
	{                                                                 \
		__u32 zero = 0;                                           \
		struct loop_run *run = bpf_map_lookup_elem(&runs, &zero); \
		struct loop loop = { 0 };                                 \
                                                                          \
		if (!run)                                                 \
			return 0;                                         \
		loop.from = ctx;                                          \
		loop.random = run->random;                                \
		loop.mask = run->mask;                                    \
		loop.chained = run->chained;                              \
		bpf_loop(run->rounds, each_##subject, &loop, 0);          \
		return loop.found;                                        \
	}

SUBJECT(empty, addr & 1)
SUBJECT(detector, in_detector(addr, loop->from))
SUBJECT(sketch, in_sketch(addr))
SUBJECT(sketch_atomic, in_sketch_atomic(addr))
SUBJECT(lru_hash, in_lru(&lru, addr))
SUBJECT(lru_percpu_hash, in_lru(&lru_percpu, addr))

char _license[] SEC("license") = "GPL";
