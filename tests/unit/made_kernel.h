/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's side of the filter as plain C: what the loader would write into its instructions is read from the
 * generation, and what the kernel does for a program is made up. Before any header of bpf/: then MATCH, and the
 * program.
 */
#ifndef MADE_KERNEL_H
#define MADE_KERNEL_H

#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <string.h>

#define __bpf__
#define __BPF_HELPERS__
#define INSTRUCTIONS_H /* no instructions */
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define SEC(name)
#define __uint(name, value) int(*name)[value]
#define __type(name, value) typeof(value) *name

#include "bpf/abi.h"
#include "ktap.h"

/* --- What the loader writes ------------------------------------------------------------------------------------------
 */

static struct generation given;
static struct detect given_detect;
static struct scopes given_scopes;
static __u64 given_codes; /* the shape of a roster of codes; 0: it keeps addresses */
static bool given_coming; /* a program of tc is for what comes in */
static struct {
	int any;
} map_of_ends, map_of_unread;

#define GEN(g, field)	   ((void)(g), (__u64)given.field)
#define GEN_LATE(g, field) GEN(g, field)

static __u64 loaded(__u64 index);
#define LOADED(index) loaded(index)

static bool is_on(__s64 magic);
#define SWITCH(magic, word)	  ((void)(word), (int)is_on(magic))
#define SWITCH_ON(g, field, word) ((void)(g), SWITCH(SWITCH_MAGIC, word))
#define SCOPED(label)		  SWITCH(SCOPES_MAGIC, label)

static bool jumps_below(__s64 word, __s64 number);
#define JUMP_BELOW(word, number, label)                        \
	do {                                                   \
		if (jumps_below((__s64)(word), (int)(number))) \
			goto label;                            \
	} while (0)
#define JUMP_IF(word, number, label)                  \
	do {                                          \
		if ((__u32)(word) == (__u32)(number)) \
			goto label;                   \
	} while (0)
#define JUMP_UNLESS(word, number, label)       \
	do {                                   \
		if ((word) != (__s64)(number)) \
			goto label;            \
	} while (0)
#define RARE_ANSWER(answer, label) JUMP_BELOW((__s64)(answer), RARE_BELOW, label)

static __s64 rare(__s64 number);
#define RARE(number)		 rare(number)
#define LEAVE(action)		 return action
#define BRANCH_APART()		 ((void)0)
#define KEEP(a, b)		 ((void)(a), (void)(b))
#define LOW_16_BITS(number)	 ((number) &= 0xffff)
#define SETTLE(number)		 ((void)(number))
#define FORGET(number, unknown)	 ((void)(unknown))
#define ANY_BITS(number, any)	 ((void)(any))
#define ANY_15_BITS(number, any) ((void)(any), (number) &= 0x7fff)
#define SHIFT_LEFT(word, amount) ((word) <<= ((amount)&63))
#define MULTIPLY(word, constant) ((word) *= (constant))

/* --- What the kernel does --------------------------------------------------------------------------------------------
 */

/* A packet: its first buffer, and all of it. */
struct made_packet {
	__u64 data, data_end;
	__u32 ingress_ifindex, ifindex, len, wire_len, gso_segs, protocol, cb[5];
	const __u8 *whole;
	__u32 bytes;
};
#define xdp_md	  made_packet
#define __sk_buff made_packet

static void *bpf_map_lookup_elem(void *map, const void *key);
static long bpf_map_update_elem(void *map, const void *key, const void *value, __u64 flags);
static long bpf_map_delete_elem(void *map, const void *key);
static void *bpf_ringbuf_reserve(void *ring, __u64 size, __u64 flags);
static void bpf_ringbuf_submit(void *at, __u64 flags);
static __u32 bpf_get_prandom_u32(void);
static __u64 bpf_ktime_get_ns(void);
static __u64 bpf_ktime_get_boot_ns(void);
static __u64 bpf_jiffies64(void);
static long bpf_xdp_load_bytes(struct made_packet *ctx, __u32 at, void *to, __u32 n);
static __u64 bpf_xdp_get_buff_len(struct made_packet *ctx);
static long bpf_xdp_adjust_head(struct made_packet *ctx, int delta);
static long bpf_skb_load_bytes(struct made_packet *ctx, __u32 at, void *to, __u32 n);
static long bpf_skb_load_bytes_relative(struct made_packet *ctx, __u32 at, void *to, __u32 n, __u32 from);
static long bpf_skb_pull_data(struct made_packet *ctx, __u32 n);
static bool tail_call(struct made_packet *ctx, const void *map, __u32 index, int *verdict);

/* Who is jumped to does not come back: what it says is said. */
#define bpf_tail_call_static(ctx, map, index)              \
	do {                                               \
		int verdict_;                              \
		if (tail_call(ctx, map, index, &verdict_)) \
			return verdict_;                   \
	} while (0)

/* What sockets say: made_sockets.h. */
static struct bpf_sock *bpf_skc_lookup_tcp(struct made_packet *ctx, struct bpf_sock_tuple *tuple, __u32 size,
					   __u64 space, __u64 flags);
static struct bpf_sock *bpf_sk_lookup_udp(struct made_packet *ctx, struct bpf_sock_tuple *tuple, __u32 size,
					  __u64 space, __u64 flags);
static void *bpf_skc_to_tcp_sock(void *sock);
static long bpf_sk_release(void *sock);
static long bpf_tcp_check_syncookie(struct bpf_sock *sock, void *ip, __u32 ip_size, void *tcp, __u32 tcp_size);
static long bpf_fib_lookup(struct made_packet *ctx, struct bpf_fib_lookup *route, int size, __u32 flags);

#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wparentheses"

#endif
