// SPDX-License-Identifier: GPL-2.0-only
/*
 * One program a subject: a loop that asks it for one address after the other and returns how many were found. Whatever
 * a loop does but ask, the empty loop of its family does too.
 */
#include <linux/bpf.h>

#define MATCH MATCH_BOTH

#include "bpf/constants.h"
#include "bpf/match.h"
#include "lookup.h"
#include "bpf/parse.h"

struct frame {
	char ahead[2]; /* as drivers have it: then the addresses are aligned */
	struct ethhdr eth;
	struct ipv4_header ip;
	char rest[222]; /* the verifier knows of no end in a map: all that a parser may read lies within */
};

#define MAP(name, kind, key_t, value_t, ...)         \
	struct {                                     \
		__uint(type, kind);                  \
		__uint(max_entries, 1);              \
		__uint(key_size, sizeof(key_t));     \
		__uint(value_size, sizeof(value_t)); \
		__VA_ARGS__                          \
	} name SEC(".maps")

MAP(runs, BPF_MAP_TYPE_ARRAY, __u32, struct run);
MAP(keys4, BPF_MAP_TYPE_ARRAY, __u32, __u32, __uint(map_flags, BPF_F_MMAPABLE););
MAP(keys6, BPF_MAP_TYPE_ARRAY, __u32, struct key6, __uint(map_flags, BPF_F_MMAPABLE););
MAP(frames, BPF_MAP_TYPE_ARRAY, __u32, struct frame);
MAP(floor_memory, BPF_MAP_TYPE_ARRAY, __u32, __u64[8], __uint(map_flags, BPF_F_MMAPABLE););
MAP(hash4, BPF_MAP_TYPE_HASH, __u32, __u8);
MAP(hash6, BPF_MAP_TYPE_HASH, struct key6, __u8);
MAP(lpm4, BPF_MAP_TYPE_LPM_TRIE, struct lpm4, __u8, __uint(map_flags, BPF_F_NO_PREALLOC););
MAP(cidr4, BPF_MAP_TYPE_LPM_TRIE, struct lpm4, __u8, __uint(map_flags, BPF_F_NO_PREALLOC););
MAP(lpm6, BPF_MAP_TYPE_LPM_TRIE, struct lpm6, __u8, __uint(map_flags, BPF_F_NO_PREALLOC););

struct {
	__uint(type, BPF_MAP_TYPE_BLOOM_FILTER);
	__uint(max_entries, 1);
	__uint(value_size, sizeof(__u32));
} bloom4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_BLOOM_FILTER);
	__uint(max_entries, 1);
	__uint(value_size, sizeof(struct key6));
} bloom6 SEC(".maps");

/* A generation as maps in a map: sizes and seeds are data, every array is one look-up further away. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, INNERS);
	__uint(key_size, sizeof(__u32));
	__array(
		values, struct {
			__uint(type, BPF_MAP_TYPE_ARRAY);
			__uint(max_entries, 1);
			__uint(map_flags, BPF_F_INNER_MAP | BPF_F_MMAPABLE);
			__uint(key_size, sizeof(__u32));
			__uint(value_size, BLOCK_BYTES);
		});
} generations SEC(".maps");

MAP(meta, BPF_MAP_TYPE_ARRAY, __u32, struct generation);

const volatile __u64 floor_lines; /* in floor_memory, all of them one value */

struct loop {
	struct run run;
	const char *floor;
	struct frame *frame;
	__u64 found;
};

inline_always __u32 next4(__u32 i, struct loop *loop)
{
	__u32 *key;

	if (loop->run.from_keys) {
		i = (i + loop->run.first) & (KEYS - 1);
		key = bpf_map_lookup_elem(&keys4, &i);
		return key ? *key : 0;
	}
	loop->run.random = RANDOM_NEXT(loop->run.random);
	return loop->run.random >> 32;
}

inline_always struct key6 next6(__u32 i, struct loop *loop)
{
	struct key6 *key;

	i = (i + loop->run.first) & (KEYS - 1);
	key = bpf_map_lookup_elem(&keys6, &i);
	return key ? *key : (struct key6){ 0 };
}

#define SUBJECT(subject, next, decision)                                                 \
	static long each_##subject(__u32 i, struct loop *loop)                           \
	{                                                                                \
		const struct generation *g = NULL;                                       \
		__auto_type addr = next(i, loop);                                        \
                                                                                         \
		(void)g;                                                                 \
		loop->found += (decision);                                               \
		return 0;                                                                \
	}                                                                                \
                                                                                         \
	SEC("xdp") int subject(struct xdp_md *ctx)                                       \
	{                                                                                \
		__u32 zero = 0;                                                          \
		struct run *run = bpf_map_lookup_elem(&runs, &zero);                     \
		struct loop loop = { .floor = bpf_map_lookup_elem(&floor_memory, &zero), \
				     .frame = bpf_map_lookup_elem(&frames, &zero) };     \
                                                                                         \
		(void)ctx;                                                               \
		if (!run || !loop.floor || !loop.frame)                                  \
			return 0;                                                        \
		loop.run = *run;                                                         \
		bpf_loop(run->rounds, each_##subject, &loop, 0);                         \
		return loop.found;                                                       \
	}

SUBJECT(empty4, next4, addr & 1)
SUBJECT(empty6, next6, addr.lo & 1)

/* One cache line, chosen at random, and nothing else. */
inline_always __u64 read_line(const char *floor, __u32 word32)
{
	__u64 at = reduce(word32, floor_lines);

	barrier_var(at); /* the two shifts made one would leave the verifier with a bound too wide */
	return *(const __u64 *)(floor + at * BLOCK_BYTES) & 1;
}

SUBJECT(floor4, next4, read_line(loop->floor, addr))
SUBJECT(floor6, next6, read_line(loop->floor, (__u32)addr.lo))

/* Stage and label are part of the answer, though the loop wants only its verdict. */
inline_always __u64 dropped(__u32 answer)
{
	barrier_var(answer);
	return answer / ANSWER_DROP;
}

SUBJECT(ours4, next4, dropped(decide_whole4(g, addr)))
SUBJECT(ours6, next6, dropped(decide_ipv6(g, addr.hi, addr.lo)))

/* A packet from that address to another, which as good as no list holds: what is asked about a packet, by each match.
 */
inline_always struct frame *make_frame(struct loop *loop, __u32 addr)
{
	loop->frame->eth.h_proto = NET16(ETH_P_IP);
	loop->frame->ip.version_ihl = 0x45;
	loop->frame->ip.source = NET32(addr);
	loop->frame->ip.destination = NET32(addr * 2654435761u);
	asm volatile("" ::: "memory");
	return loop->frame;
}

inline_always __u64 by_source(struct loop *loop, const struct generation *g, __u32 addr)
{
	struct frame *frame = make_frame(loop, addr);

	return dropped(decide_packet(g, &frame->eth, frame + 1));
}

inline_always __u64 by_both(struct loop *loop, const struct generation *g, __u32 addr)
{
	struct frame *frame = make_frame(loop, addr);

	return dropped(decide_matched(g, &frame->eth, frame + 1, loop->run.rounds));
}

SUBJECT(source4, next4, by_source(loop, g, addr))
SUBJECT(both4, next4, by_both(loop, g, addr))

inline_always __u64 in_map(void *map, const void *key)
{
	return bpf_map_lookup_elem(map, key) != NULL;
}

SUBJECT(hash4_map, next4, in_map(&hash4, &addr))
SUBJECT(hash6_map, next6, in_map(&hash6, &addr))

inline_always __u64 in_lpm4(void *map, __u32 addr)
{
	struct lpm4 key = { 32, NET32(addr) };

	return in_map(map, &key);
}

inline_always __u64 in_lpm6(struct key6 addr)
{
	struct lpm6 key = { 128,
			    { NET32((__u32)(addr.hi >> 32)), NET32((__u32)addr.hi), NET32((__u32)(addr.lo >> 32)),
			      NET32((__u32)addr.lo) } };

	return in_map(&lpm6, &key);
}

SUBJECT(lpm4_map, next4, in_lpm4(&lpm4, addr))
/* As prefilters have it: a trie of the networks, and a hash of the hosts. */
SUBJECT(lpm4_hash, next4, in_lpm4(&cidr4, addr) || in_map(&hash4, &addr))
SUBJECT(lpm6_map, next6, in_lpm6(addr))

SUBJECT(bloom4_map, next4, !bpf_map_peek_elem(&bloom4, &addr))
SUBJECT(bloom6_map, next6, !bpf_map_peek_elem(&bloom6, &addr))
SUBJECT(bloom4_hash, next4, bpf_map_peek_elem(&bloom4, &addr) ? 0 : in_map(&hash4, &addr))
SUBJECT(bloom6_hash, next6, bpf_map_peek_elem(&bloom6, &addr) ? 0 : in_map(&hash6, &addr))

inline_always const void *inner_line(__u32 which, __u32 index)
{
	void *map = bpf_map_lookup_elem(&generations, &which);

	return map ? bpf_map_lookup_elem(map, &index) : NULL;
}

inline_always __u64 in_inner_bucket(__u32 at, __u32 addr)
{
	const struct bucket4 *line = inner_line(INNER_ROSTER, at / 2);

	return line && roster4_test(line + at % 2, addr);
}

inline_always __u64 has_inner_code(struct code4 at)
{
	const struct codes4 *line = inner_line(INNER_ROSTER, at.bucket / 2);

	return line && codes4_test(line + at.bucket % 2, at.code);
}

inline_always __u64 in_inner_codes(const struct generation *g, __u32 addr)
{
	__u64 shape = g->roster4_buckets;
	__u32 mixed = codes4_mix(g->hash, addr);
	struct code4 second;

	if (has_inner_code(codes4_first(shape, mixed)))
		return 1;
	second = codes4_second(shape, codes4_mix_more(g->hash, mixed));
	return codes4_is_second(shape, second.code) && has_inner_code(second);
}

inline_always __u64 in_inner_maps(__u32 addr)
{
	const struct generation *g;
	struct roster_choice at;
	const __u64 *block;
	const __u8 *gate;
	__u64 hash, word;
	__u32 zero = 0;

	g = bpf_map_lookup_elem(&meta, &zero);
	if (!g)
		return 0;
	if (g->gate4) {
		gate = inner_line(INNER_GATE, addr >> 16);
		if (!gate)
			return 0;
		switch (gate[addr >> 10 & 63] >> (addr >> 7 & 6) & 3) {
		case GATE4_CLEAR:
			return 0;
		case GATE4_ALL:
		case GATE4_MIXED:
			return 1;
		}
	}
	hash = hash_ipv4(g->hash, addr);
	word = hash_more(g->hash, hash);
	block = inner_line(INNER_FILTER, lanes_block(hash, g->filter_blocks));
	if (!block || !LANES_TEST(block, hash, word))
		return 0;
	if ((__s64)g->roster4_buckets < 0)
		return in_inner_codes(g, addr);
	at = roster4_choose(g->hash, word, g->roster4_buckets);
	return in_inner_bucket(at.first, addr) || in_inner_bucket(at.second, addr);
}

SUBJECT(map_in_map4, next4, in_inner_maps(addr))

char _license[] SEC("license") = "GPL";
