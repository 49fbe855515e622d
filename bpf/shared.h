/* SPDX-License-Identifier: GPL-2.0-only */
/* What all programs share, wherever they are attached: their maps, what is counted, sampled, and on trial. */
#ifndef SHARED_H
#define SHARED_H

#include "constants.h"

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 4);
} slot SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LABELS);
	__type(key, __u32);
	__type(value, struct tally);
} list_counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, SAMPLES_RING);
} samples SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LABELS);
	__type(key, __u32);
	__type(value, struct sample_share);
} sample_shares SEC(".maps");

/* A generation or an interface on trial has these two to itself. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct trial);
} trial SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 4);
} before SEC(".maps");

inline_always void count_several(void *map, __u32 key, __u64 packets, __u64 bytes)
{
	struct tally *tally = bpf_map_lookup_elem(map, &key);

	if (tally) {
		tally->packets += packets;
		tally->bytes += bytes;
	}
}

inline_always void count(void *map, __u32 key, __u64 bytes)
{
	count_several(map, key, 1, bytes);
}

#define G ((const struct generation *)NULL)

inline_always void next_block(struct sample_share *share)
{
	__u32 block = share->next & 31, last = (1u << block) - 1, at = bpf_get_prandom_u32() & last;

	share->left--;
	if (share->left < share->growing && block < SAMPLE_BLOCK_MAX - 2)
		share->next = block + 2;
	share->skip = share->behind + at;
	share->behind = last - at;
	share->block = block;
}

inline_always void take_sample(const PACKET *ctx, __u32 answer, __u32 length)
{
	__u32 label = ANSWER_LABEL(answer), n;
	struct sample_share *share = bpf_map_lookup_elem(&sample_shares, &label);
	struct sample *sample;
	__u16 block;

	if (!share || !share->left)
		return;
	if (share->skip) {
		share->skip--;
		return;
	}
	block = share->block;
	next_block(share);
	sample = bpf_ringbuf_reserve(&samples, sizeof(*sample), 0);
	if (!sample)
		return;
	sample->time = bpf_ktime_get_ns();
	sample->ifindex = PACKET_IFINDEX(ctx);
	sample->length = length;
	sample->answer = answer;
	n = copy_packet(ctx, sample);
	sample->captured = n;
	sample->block = block;
	bpf_ringbuf_submit(sample, 0);
}

/* Not inlined: what it has on its stack would lie below that of all that is called later. */
inline_never int trial_is_over(void)
{
	__u32 key = 0;
	const struct trial *now = bpf_map_lookup_elem(&trial, &key);

	return !now || bpf_ktime_get_boot_ns() >= now->until;
}

#endif
