// SPDX-License-Identifier: GPL-2.0-only
/* Asks the production decision for one address after the other, and a bitmap of all IPv4 addresses what is true. */
#include <linux/bpf.h>

#include "bpf/constants.h"
#include "bpf/decide.h"
#include "exact.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct exact_run);
} run SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, EXACT_BITMAP_WORDS);
	__uint(key_size, 4);
	__uint(value_size, 8);
} banned SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, EXACT_KEYS);
	__uint(key_size, 4);
	__uint(value_size, 8); /* elements are rounded up to that */
} keys SEC(".maps");

static void judge(struct exact_run *r, __u32 addr)
{
	__u32 word = addr >> 6;
	__u64 *bits = bpf_map_lookup_elem(&banned, &word);
	__u32 is, answer;

	if (!bits)
		return;
	is = *bits >> (addr & 63) & 1;
	answer = decide_whole4(NULL, addr);
	r->asked++;
	r->banned += is;
	if (is == !!(answer & ANSWER_DROP))
		return;
	r->wrong[is]++;
	r->last_wrong = addr;
}

static long random_address(__u32 index, void *arg)
{
	struct exact_run *r = arg;

	(void)index;
	r->state = r->state * 6364136223846793005ULL + 1442695040888963407ULL;
	judge(r, r->state >> 32);
	return 0;
}

static long key(__u32 index, void *arg)
{
	__u64 *addr = bpf_map_lookup_elem(&keys, &index);

	if (addr)
		judge(arg, *addr);
	return 0;
}

/* A loop's callback is given a place on the stack, or none. */
#define PROGRAM(name, rounds_of, callback)               \
	SEC("xdp")                                       \
	int name(struct xdp_md *ctx)                     \
	{                                                \
		__u32 zero = 0;                          \
		struct exact_run *kept, r;               \
                                                         \
		(void)ctx;                               \
		kept = bpf_map_lookup_elem(&run, &zero); \
		if (!kept)                               \
			return XDP_ABORTED;              \
		r = *kept;                               \
		bpf_loop(rounds_of, callback, &r, 0);    \
		*kept = r;                               \
		return XDP_PASS;                         \
	}

PROGRAM(exact_random, r.rounds, random_address)
PROGRAM(exact_keys, EXACT_KEYS, key)

char _license[] SEC("license") = "GPL";
