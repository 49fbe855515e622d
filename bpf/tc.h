/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The programs of tc, by the same stages and arrays. What skb->protocol says is no help: whoever has a packet socket
 * may say there what he likes. So a frame is read from its first byte, and where there is none a packet by its version;
 * which of them an interface has, its root tells. What comes in by a netkit or a VXLAN is delivered by what its
 * sender's socket has said, and is read as if it had no frame.
 *
 * They are written for what leaves. For what comes in the loader puts others into the place of three kinds of
 * instruction (programs.c): so whoever has the one pays nothing for the other. It finds them by wire_len, whose place
 * ctx->len takes, as nobody says how long a packet was before it was joined; by ANSWER_OUT; and by LEAVES_TO.
 */
#ifndef TC_H
#define TC_H

#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include "match.h"

#define PACKET		    struct __sk_buff
#define PACKET_IFINDEX(ctx) ((ctx)->ifindex)
inline_always __u32 copy_packet(const struct __sk_buff *ctx, struct sample *sample);
inline_always int read_bytes(struct __sk_buff *ctx, __u64 at, void *to, __u32 size);
#include "shared.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNTERS);
	__type(key, __u32);
	__type(value, struct tally);
} counters_out SEC(".maps"); /* what comes in has PIN_COUNTERS there */

/* As if behind Ethernet without addresses, which has nothing but a type. */
struct headers {
	__u16 pad;
	struct ethernet eth;
	char bytes[HEADERS_MAX - sizeof(struct ethernet)];
} __attribute__((aligned(8)));

/* From the network's header on, where it is in the packet's first buffer. */
#define READ_BEHIND(ctx, at, to, bytes) bpf_skb_load_bytes_relative(ctx, at, to, bytes, BPF_HDR_START_NET)
#define READ_HEADERS(ctx, to, bytes)	READ_BEHIND(ctx, 0, to, bytes)

/* Before it: of Ethernet, and of a tunnel over IPv4, where the kernel leaves them there. Over IPv6 it may be more. */
#define LINK_HEADER 96

inline_always int bring_in(struct __sk_buff *ctx, __u64 bytes)
{
	return bpf_skb_pull_data(ctx, ctx->len < bytes ? ctx->len : bytes);
}

/*
 * From there on, wherever it is: what is not in the packet's first buffer comes there, or all does. No packet of the
 * stack's own is so, but what comes out of a tunnel may be: who sends it in fragments says where that buffer ends.
 */
inline_never int read_bare(struct __sk_buff *ctx, __u64 at, void *to, __u64 bytes)
{
	/* The compiler knows it, and the verifier does not. */
	KEEP(bytes, to);
	if (bytes < sizeof(__u16) || bytes > SAMPLE_BYTES - sizeof(struct ethernet))
		return -1;
	at &= 0x7fff;
	return READ_BEHIND(ctx, at, to, bytes) &&
	       (bring_in(ctx, LINK_HEADER + at + bytes) ||
		(READ_BEHIND(ctx, at, to, bytes) && (bring_in(ctx, ctx->len) || READ_BEHIND(ctx, at, to, bytes))));
}

/* A root says it to what it jumps to: packets begin with IP. */
#define IS_BARE(ctx) ((ctx)->cb[0])

/* Is this the program of what comes in? Verifiers remove what is for the other. */
inline_always int comes_in(void)
{
	JUMP_BELOW((__u64)ANSWER_TO, LEAVES_TO, in);
	return 0;
in:
	return 1;
}

/*
 * Is there something else before IP, that the stack takes off? Where it does, it goes by what the kernel says; the
 * first tag it has taken off by then. Of what leaves whoever sends it says that, so there it must look like a tag, too.
 */
inline_never int is_wrapped(const struct __sk_buff *ctx, const char *at)
{
	__u16 said = ctx->protocol;

	if (comes_in())
		return PARSE_VLAN(said) || said == NET16(ETH_P_PPP_SES);
	return PARSE_VLAN(said) && parse_bare_tag(at, at + sizeof(struct ipv4_header));
}

#define SAYS_IP(ctx) ((__u16)(ctx)->protocol == NET16(ETH_P_IP) || (__u16)(ctx)->protocol == NET16(ETH_P_IPV6))

/*
 * Of what comes in: is it what the kernel and the frame both call something else? That may begin as IP does, as STP's
 * packets do. Where there is no frame, nobody takes for IP what the kernel does not.
 */
inline_never int is_other(struct __sk_buff *ctx)
{
	__u16 said = ctx->protocol, type;

	if (!comes_in() || bpf_skb_load_bytes(ctx, offsetof(struct ethernet, proto), &type, sizeof(type)))
		return 0;
	return type == said || (said == NET16(ETH_P_802_2) && NET16(type) < ETH_P_802_3_MIN);
}

/* Not inlined: of a register more the stack of the largest programs would not be enough. */
inline_never __u16 type_of(const struct __sk_buff *ctx, const char *at)
{
	return !SAYS_IP(ctx) && is_wrapped(ctx, at) ? ctx->protocol : parse_version((const __u8 *)at);
}

inline_always int read_behind(struct __sk_buff *ctx, struct headers *headers, __u32 at, __u16 type)
{
	const struct pppoe_session *ppp = (const void *)(headers->bytes + at);
	__u32 bytes = type == NET16(ETH_P_IPV6) ? sizeof(struct ipv6_header) : sizeof(struct ipv4_header);

	if (type == NET16(ETH_P_PPP_SES)) {
		if (READ_BEHIND(ctx, at, headers->bytes + at, sizeof(*ppp)))
			return 1;
		if (ppp->proto != NET16(PPP_IPV4) && ppp->proto != NET16(PPP_IPV6))
			return 0;
		if (ppp->proto == NET16(PPP_IPV6))
			bytes = sizeof(struct ipv6_header);
		at += sizeof(*ppp);
	}
	return READ_BEHIND(ctx, at, headers->bytes + at, bytes);
}

/* Tag by tag, and what is behind the last. Without read_bare(): its stack would be one too many. */
inline_never int find_wrapped(struct __sk_buff *ctx, struct headers *headers, int pull)
{
	struct vlan_tag *tag = (struct vlan_tag *)headers->bytes;
	__u16 type = ctx->protocol;

	headers->eth.proto = type;
	if (pull) {
		bring_in(ctx, LINK_HEADER + sizeof(headers->bytes));
		bring_in(ctx, ctx->len);
	}
	UNROLL
	for (int i = 0; i < TAGS_MAX; i++) {
		if (!PARSE_VLAN(type))
			return read_behind(ctx, headers, i * sizeof(*tag), type);
		if (READ_BEHIND(ctx, i * sizeof(*tag), tag + i, sizeof(*tag)))
			return 1;
		type = tag[i].proto;
	}
	return PARSE_VLAN(type) ? 0 : read_behind(ctx, headers, TAGS_MAX * sizeof(*tag), type);
}

inline_always int find_bare_with(struct __sk_buff *ctx, struct headers *headers, int pull)
{
	if (READ_HEADERS(ctx, headers->bytes, sizeof(struct ipv4_header)) &&
	    (!pull || read_bare(ctx, 0, headers->bytes, sizeof(struct ipv4_header))))
		return 1;
	if (!SAYS_IP(ctx) && is_wrapped(ctx, headers->bytes))
		return find_wrapped(ctx, headers, pull);
	if (pull && !SAYS_IP(ctx) && is_other(ctx))
		return 1;
	headers->eth.proto = parse_version((const __u8 *)headers->bytes);
	if (headers->eth.proto != NET16(ETH_P_IPV6))
		return !headers->eth.proto;
	return READ_HEADERS(ctx, headers->bytes, sizeof(struct ipv6_header)) &&
	       (!pull || read_bare(ctx, 0, headers->bytes, sizeof(struct ipv6_header)));
}

inline_never int find_bare(struct __sk_buff *ctx, struct headers *headers)
{
	return find_bare_with(ctx, headers, 1);
}

inline_always __u32 read_framed(struct __sk_buff *ctx, void *to, __u32 most)
{
	__u32 bytes = ctx->len;

	if (bytes > most)
		bytes = most;
	if (bytes < ETH_HLEN || bpf_skb_load_bytes(ctx, 0, to, bytes))
		return 0;
	return bytes;
}

/* 0, or there are none. What is behind them is as if it were zeros. */
inline_always int find_headers(struct __sk_buff *ctx, struct headers *headers)
{
	return IS_BARE(ctx) ? find_bare(ctx, headers) : !read_framed(ctx, &headers->eth, HEADERS_MAX);
}

/* What begins with IP is shown behind Ethernet without addresses. */
inline_always __u32 copy_packet(const struct __sk_buff *packet, struct sample *sample)
{
	struct __sk_buff *ctx = (struct __sk_buff *)packet;
	__u32 behind = SAMPLE_BYTES - sizeof(struct ethernet), whole = ctx->len < behind ? ctx->len : behind;
	struct ethernet *eth = (struct ethernet *)sample->bytes;

	if (!IS_BARE(ctx))
		return read_framed(ctx, sample->bytes, SAMPLE_BYTES);
	*eth = (struct ethernet){ 0 };
	if (read_bare(ctx, 0, eth + 1, whole))
		return sizeof(*eth);
	eth->proto = type_of(ctx, (const char *)(eth + 1));
	return sizeof(*eth) + whole;
}

/* --- Scopes ----------------------------------------------------------------------------------------------------------
 */

#define PACKETS(ctx)	   ((ctx)->gso_segs ?: 1)
#define PACKET_LENGTH(ctx) ((ctx)->wire_len)

#define scope_plain(ctx) NULL /* they are copied in any case */

/* So many bytes from that place on. */
inline_always int read_bytes(struct __sk_buff *ctx, __u64 at, void *to, __u32 size)
{
	at &= 0x7fff;
	if (!IS_BARE(ctx))
		return bpf_skb_load_bytes(ctx, at, to, size);
	return read_bare(ctx, at - sizeof(struct ethernet), to, size);
}

struct scope_seen;
inline_always int scope_see(const void *base, const void *end, struct scope_seen *seen);

inline_never int scope_see_headers(struct __sk_buff *ctx, struct scope_seen *seen)
{
	struct headers headers = { 0 };

	/* They were found before, so they, though not what is behind them, are in the first buffer by now. */
	if (IS_BARE(ctx) ? find_bare_with(ctx, &headers, 0) : !read_framed(ctx, &headers.eth, HEADERS_MAX))
		return 0;
	return scope_see(&headers.eth, headers.bytes + sizeof(headers.bytes), seen);
}

#if MATCH == MATCH_BOTH
#define SCOPE_DECIDE_TO(ctx, headers) decide_to(G, &(headers)->eth, (headers)->bytes + sizeof((headers)->bytes))
#endif

/*
 * What is for all of its link goes no further, so it is nobody's way out; and without it neighbours, leases and routers
 * are not found. A list that has it as a bogon takes it from nobody. Of what comes in nothing is spared.
 */
inline_always int is_spared(__u32 answer, int family, __u32 ipv4, const __u32 *ipv6)
{
	JUMP_BELOW((__u64)(answer & ANSWER_TO), LEAVES_TO, others); /* or always */
	if (family == SOURCE_IPV4)
		return ipv4 >> 8 == 0xe00000 || ipv4 == ~0u;
	return family == SOURCE_IPV6 && (ipv6[0] & NET32(0xff0f0000)) == NET32(0xff020000);
others:
	return 0;
}

#define IS_SPARED is_spared

inline_never __u64 find_inner(struct __sk_buff *ctx);

#include "scope.h"
#include "inner.h"

inline_never __u64 find_inner(struct __sk_buff *ctx)
{
	struct headers headers = { 0 };

	return find_headers(ctx, &headers) ? 0 : inner_find(ctx, &headers.eth, headers.bytes + sizeof(headers.bytes));
}

#if MATCH == MATCH_SOURCE
#define spare_link(data, end, answer) (answer)
#else

/* Asked behind a yes. What lies within a packet was asked there. */
inline_never __u32 spare_link(const void *data, const void *end, __u32 answer)
{
	struct source source;
	int family = parse_source(data, end, &source);

	source_turn(&source, family);
	return is_spared(answer, family, family == SOURCE_IPV4 ? source.ipv4 : 0, source.ipv6)
		       ? answer & ~(ANSWER_DROP | 0xff)
		       : answer;
}

#endif

/* What a look into the packet makes of it. */
inline_never __u32 packet_inner(struct __sk_buff *ctx, const void *data, const void *end, __u32 answer)
{
	__u64 any = ctx->ifindex;

	(void)data;
	(void)end;
	ANY_BITS(answer, any);
	if (answer & ANSWER_DROP)
		answer = spare_link(data, end, answer);
	return answer & ANSWER_DROP ? answer : inner_apart(ctx, answer);
}

/* A packet that is to be cut into several, or was joined of them, counts as these; what leaves with all their headers.
 */
#define COUNT(map, key) count_several(map, key, packets, bytes)

inline_always int judge_packet(struct __sk_buff *ctx)
{
	struct headers headers = { 0 };
	const void *end = headers.bytes + sizeof(headers.bytes);
	__u64 packets = ctx->gso_segs, bytes = ctx->wire_len;
	__u32 port = PORT_OF(ctx->ifindex);
	__s64 answer = (int)ANSWER_UNPARSED;

	if (!packets)
		packets = 1;
	if (!find_headers(ctx, &headers))
		answer = decide_matched(G, &headers.eth, end, ctx->ifindex);
	RARE_ANSWER(answer, rare);
	goto judged;
rare:
	if (answer == (int)ANSWER_UNPARSED) {
		COUNT(&counters_out, COUNTER(port, REASON_UNPARSED));
		return TC_ACT_UNSPEC;
	}
	if (answer == (int)ANSWER_HIDDEN) {
	hidden:
		COUNT(&counters_out, COUNTER(port, REASON_HIDDEN));
		return TC_ACT_SHOT;
	}
	if (SCOPED(ANSWER_LABEL(answer)))
		answer = packet_scope(ctx, answer, &headers);
	else if (ANSWER_LABEL(answer) == LABEL_ENDS)
		answer = match_ended(&headers.eth, end, answer);
	if (INNER_ON(G, answer)) {
		answer = packet_inner(ctx, &headers.eth, end, answer);
		if (answer == INNER_HIDDEN)
			goto hidden;
		goto spared;
	}
judged:
	if (answer & ANSWER_DROP)
		answer = spare_link(&headers.eth, end, answer);
spared:
	if (answer & ANSWER_SHADOW)
		COUNT(&list_counters, ANSWER_LABEL(answer));
	COUNT(&counters_out, COUNTER(port, REASON((__u32)answer)));
	if (!(answer & ANSWER_DROP))
		return TC_ACT_UNSPEC;
	COUNT(&list_counters, ANSWER_LABEL(answer));
	if (GEN(G, samples))
		take_sample(ctx, answer | ANSWER_OUT, bytes);
	return TC_ACT_SHOT;
}

/* What is attached. Whatever is not dropped goes on to the programs and filters behind, as if this one were not there.
 */
inline_always int jump(struct __sk_buff *ctx, int bare)
{
	IS_BARE(ctx) = bare;
	bpf_tail_call_static(ctx, &slot, 0);
	return TC_ACT_UNSPEC;
}

SEC("tc")
int xdp_bloom_root(struct __sk_buff *ctx)
{
	return jump(ctx, 0);
}

SEC("tc")
int xdp_bloom_bare(struct __sk_buff *ctx)
{
	return jump(ctx, 1);
}

SEC("tc")
int xdp_bloom_gen(struct __sk_buff *ctx)
{
	return judge_packet(ctx);
}

SEC("tc")
int xdp_bloom_trial(struct __sk_buff *ctx)
{
	if (!trial_is_over())
		return judge_packet(ctx);
	bpf_tail_call_static(ctx, &before, 0);
	return TC_ACT_UNSPEC;
}

SEC("tc")
int xdp_bloom_trial_root(struct __sk_buff *ctx)
{
	return trial_is_over() ? TC_ACT_UNSPEC : jump(ctx, 0);
}

SEC("tc")
int xdp_bloom_bare_trial(struct __sk_buff *ctx)
{
	return trial_is_over() ? TC_ACT_UNSPEC : jump(ctx, 1);
}

char _license[] SEC("license") = "GPL";

#endif
