// SPDX-License-Identifier: GPL-2.0-only
#include <linux/bpf.h>

#define CODES_LATER
#include "match.h"
#if MATCH == MATCH_SOURCE
#include "detect.h"
#endif

#define PACKET		    struct xdp_md
#define PACKET_IFINDEX(ctx) ((ctx)->ingress_ifindex)
inline_always __u32 copy_packet(const struct xdp_md *ctx, struct sample *sample);
inline_always int read_bytes(struct xdp_md *ctx, __u64 at, void *to, __u32 size);
#include "shared.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNTERS);
	__type(key, __u32);
	__type(value, struct tally);
} counters SEC(".maps");

inline_always __u32 copy_packet(const struct xdp_md *ctx, struct sample *sample)
{
	const __u8 *byte = (const __u8 *)(long)ctx->data, *end = (const __u8 *)(long)ctx->data_end;
	__u32 n;

	/* Rare, and small this way. */
	_Pragma("clang loop unroll(disable)") for (n = 0; n < SAMPLE_BYTES && byte + 1 <= end; n++) sample->bytes[n] =
		*byte++;
	return n;
}

/* So many bytes from that place on, wherever they lie. */
inline_always int read_bytes(struct xdp_md *ctx, __u64 at, void *to, __u32 size)
{
	const __u8 *data = (const __u8 *)(long)ctx->data, *end = (const __u8 *)(long)ctx->data_end;

	at &= 0x7fff;
	data += at;
	if (PARSE_FITS(data, size, end)) {
		__builtin_memcpy(to, data, size);
		return 0;
	}
	return GEN(G, frags) ? bpf_xdp_load_bytes(ctx, at, to, size) : -1;
}

/*
 * Drivers fill a buffer before they begin another, but for those that leave the first one empty: a head shorter than
 * this in which a source was found is the whole packet, and spares the call that would say so.
 */
#define FRAGS_HEAD 512

/* Behind fourteen bytes of Ethernet the address is aligned. */
struct headers {
	__u16 pad;
	char bytes[HEADERS_MAX];
} __attribute__((aligned(8)));

/*
 * Where the headers are not in the packet's first buffer: code of its own, that costs other packets nothing. A packet
 * that ends within them counts as if zeros followed.
 */
inline_never __s64 decide_frags(struct xdp_md *ctx, __u64 length)
{
	struct headers headers = { 0 };
	__s64 answer;

	if (length > HEADERS_MAX)
		length = HEADERS_MAX;
	/* Said as a lower bound: verifiers before 6.4 learn nothing from "not zero". */
	if (length < ETH_HLEN || bpf_xdp_load_bytes(ctx, 0, headers.bytes, length))
		return -1;
	answer = decide_matched(G, headers.bytes, headers.bytes + HEADERS_MAX, ctx->ingress_ifindex);
	RARE_ANSWER(answer, rare);
	return answer;
rare:
	if (answer < 0 || ANSWER_LABEL(answer) != LABEL_ENDS)
		return answer;
	/* With scopes it is the source's, and the destination was not asked yet. */
	if (MATCH == MATCH_BOTH && SCOPED(ANSWER_LABEL(answer)))
		return answer;
	return match_ended(headers.bytes, headers.bytes + HEADERS_MAX, answer);
}

/* What is attached, and never changes: it jumps to the generation in force. An empty slot lets packets pass. */
SEC("xdp")
int xdp_bloom_root(struct xdp_md *ctx)
{
	bpf_tail_call_static(ctx, &slot, 0);
	return XDP_PASS;
}

/* The same where packets may lie in several buffers; its name tells. One slot cannot serve both. */
SEC("xdp")
int xdp_bloom_frags(struct xdp_md *ctx)
{
	bpf_tail_call_static(ctx, &slot, 0);
	return XDP_PASS;
}

/*
 * From a function of its own a program that is jumped to comes back (5.10 on x86-64, 6.0 on arm64), with a verdict that
 * the compiler does not see.
 */
inline_never int judge_framed(struct xdp_md *ctx, __u16 proto)
{
	struct ethernet *eth = (struct ethernet *)(long)ctx->data;

	if (!PARSE_FITS(eth, sizeof(*eth), (const void *)(long)ctx->data_end))
		return XDP_ABORTED;
	*eth = (struct ethernet){ .proto = proto };
	bpf_tail_call_static(ctx, &slot, 0);
	return RARE(XDP_PASS);
}

/*
 * Of an interface whose packets begin with IP: while they are judged they have an Ethernet header, without addresses,
 * so that one program of a generation serves all interfaces. A packet that could not have one would not be judged.
 */
inline_always int judge_bare(struct xdp_md *ctx)
{
	const __u8 *version = (const __u8 *)(long)ctx->data, *end = (const __u8 *)(long)ctx->data_end;
	__u16 proto, tag;
	int verdict;

	if (!PARSE_FITS(version, 1, end))
		return XDP_PASS;
	proto = parse_version(version);
	tag = parse_bare_tag(version, end) ? NET16(ETH_P_8021Q) : 0;
	if (bpf_xdp_adjust_head(ctx, -(int)sizeof(struct ethernet)))
		return XDP_ABORTED;
	verdict = tag ? judge_framed(ctx, tag) : XDP_PASS;
	if (verdict == XDP_PASS && (!tag || proto == NET16(ETH_P_IPV6)))
		verdict = judge_framed(ctx, proto);
	return verdict == XDP_PASS && bpf_xdp_adjust_head(ctx, sizeof(struct ethernet)) ? XDP_ABORTED : verdict;
}

/* The root of such interfaces. */
SEC("xdp")
int xdp_bloom_bare(struct xdp_md *ctx)
{
	return judge_bare(ctx);
}

inline_never int drop_hidden(__u32 port, __u64 bytes)
{
	count(&counters, COUNTER(port, REASON_HIDDEN), bytes);
	return XDP_DROP;
}

/* --- Scopes ----------------------------------------------------------------------------------------------------------
 */

#define PACKETS(ctx) 1
inline_always __u64 PACKET_LENGTH(struct xdp_md *ctx)
{
	return GEN(G, frags) ? bpf_xdp_get_buff_len(ctx) : ctx->data_end - ctx->data;
}

/* Its header, where all of a packet lies as nearly all do: Ethernet, IPv4 without options, its port. */
inline_always const struct ipv4_header *scope_plain(struct xdp_md *ctx)
{
	const struct ethernet *eth = (const void *)(long)ctx->data;
	const struct ipv4_header *ip = (const void *)(eth + 1);

	if (!PARSE_FITS(ip, sizeof(*ip) + 4, (const void *)(long)ctx->data_end) || eth->proto != NET16(ETH_P_IP))
		return NULL;
	if ((ip->version_ihl & 15) != 5 || (ip->rest[5] << 8 | ip->rest[6]) & 0x1fff)
		return NULL;
	return ip->rest[8] == 6 || ip->rest[8] == 17 ? ip : NULL;
}

/* Where the headers are not in the first buffer. */
inline_always int copy_headers(struct xdp_md *ctx, struct headers *headers)
{
	__u64 length = bpf_xdp_get_buff_len(ctx);

	if (length > HEADERS_MAX)
		length = HEADERS_MAX;
	return length >= ETH_HLEN && !bpf_xdp_load_bytes(ctx, 0, headers->bytes, length);
}

struct scope_seen;
inline_always int scope_see(const void *base, const void *end, struct scope_seen *seen);

inline_never int scope_see_here(struct xdp_md *ctx, struct scope_seen *seen)
{
	return scope_see((const void *)(long)ctx->data, (const void *)(long)ctx->data_end, seen);
}

inline_never int scope_see_frags(struct xdp_md *ctx, struct scope_seen *seen)
{
	struct headers headers = { 0 };

	return copy_headers(ctx, &headers) && scope_see(headers.bytes, headers.bytes + HEADERS_MAX, seen);
}

inline_always int scope_see_headers(struct xdp_md *ctx, struct scope_seen *seen)
{
	return scope_see_here(ctx, seen) || (GEN(G, frags) && scope_see_frags(ctx, seen));
}

#if MATCH == MATCH_BOTH

inline_never __s64 decide_to_frags(struct xdp_md *ctx)
{
	struct headers headers = { 0 };

	return copy_headers(ctx, &headers) ? decide_to(G, headers.bytes, headers.bytes + HEADERS_MAX) : 0;
}

looked_at_apart __u64 scope_decide_to(struct xdp_md *ctx)
{
	__s64 answer = decide_to(G, (const void *)(long)ctx->data, (const void *)(long)ctx->data_end);

	if (answer < 0)
		answer = GEN(G, frags) ? decide_to_frags(ctx) : 0;
	return answer;
}

#define SCOPE_DECIDE_TO(ctx, headers) scope_decide_to(ctx)

#endif

inline_never __u64 find_inner(struct xdp_md *ctx);

#include "scope.h"
#include "inner.h"

inline_never __u64 find_inner_frags(struct xdp_md *ctx)
{
	struct headers headers = { 0 };

	return copy_headers(ctx, &headers) ? inner_find(ctx, headers.bytes, headers.bytes + HEADERS_MAX) : 0;
}

inline_never __u64 find_inner(struct xdp_md *ctx)
{
	const void *data = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;

	if (GEN(G, frags) && !PARSE_FITS(data, ETH_HLEN + sizeof(struct ipv6_header), end))
		return find_inner_frags(ctx);
	return inner_find(ctx, data, end);
}

/*
 * A roster of codes is asked in a way of its own, which reads the headers anew: so whoever keeps addresses has not one
 * instruction of it, and a packet that is kept neither.
 */
#if MATCH == MATCH_SOURCE

inline_never __u32 packet_codes(struct xdp_md *ctx)
{
	const void *data = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;
	struct headers headers = { 0 };
	struct source source;
	int family = parse_source(data, end, &source);
	__u32 answer;

	if (family != SOURCE_IPV4 && GEN(G, frags) && copy_headers(ctx, &headers))
		family = parse_source(headers.bytes, headers.bytes + HEADERS_MAX, &source);
	if (family != SOURCE_IPV4)
		return 0;
	answer = decide_shadow(G, decide_codes4(G, source.ipv4));
	RARE_ANSWER(answer, rare);
	return answer;
rare:
	/* The end, too, is asked here: whoever is called next looks into the first buffer alone. */
	if (SCOPED(ANSWER_LABEL(answer)) || ANSWER_LABEL(answer) != LABEL_ENDS)
		return answer;
	return end_answer(answer, end_is_over4(NET32(source.ipv4)));
}

/* As a switch; an answer is no number below this. */
#define ASK_CODES(answer, label) JUMP_BELOW(answer, CODES_MAGIC, label)
#else
#define packet_codes(ctx) 0
#define ASK_CODES(answer, label)    \
	do {                        \
		if (0)              \
			goto label; \
	} while (0)
#endif

/* What the clock makes of an answer that may be one of a ban that ends. */
inline_never __u32 packet_end(struct xdp_md *ctx, MATCHED answer)
{
	if (SCOPED(ANSWER_LABEL(answer)))
		return packet_scope(ctx, answer, NULL);
	if (ANSWER_LABEL(answer) != LABEL_ENDS)
		return answer;
	return match_ended((const void *)(long)ctx->data, (const void *)(long)ctx->data_end, answer);
}

/* What a look into the packet makes of it. */
inline_never __u32 packet_inner(struct xdp_md *ctx, __u32 answer)
{
	__u64 any = ctx->ingress_ifindex;

	ANY_BITS(answer, any);
	return answer & ANSWER_DROP ? answer : inner_apart(ctx, answer);
}

/* The detector is about sources that come in. */
#if MATCH == MATCH_SOURCE

/* Of a packet whose headers are not in its first buffer: as decide_frags(). */
inline_never int watch_frags(struct xdp_md *ctx, struct detect_packet *packet)
{
	struct {
		__u16 pad;
		char bytes[DETECT_HEADERS];
	} __attribute__((aligned(8))) headers = { 0 };
	__u64 length = packet->bytes;

	if (length > DETECT_HEADERS)
		length = DETECT_HEADERS;
	if (length < ETH_HLEN || bpf_xdp_load_bytes(ctx, 0, headers.bytes, length))
		return 0;
	return detect_parse(D, headers.bytes, headers.bytes + DETECT_HEADERS, 1, packet);
}

inline_always int watch_with(struct xdp_md *ctx, __u64 bytes, int by_slot, int looks_up)
{
	const void *data = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;
	struct detect_packet packet;
	__u64 *counts;
	__u32 found;

	if (!DETECT(D, sketch) || !DETECT(D, detected))
		return 0;
	packet.bytes = bytes;
	packet.from = ctx;
	if (!detect_parse(D, data, end, 0, &packet) && !(GEN(G, frags) && watch_frags(ctx, &packet)))
		return 0;
	packet.by = by_slot ? slot_of(ctx) : NULL;
	if (by_slot) {
		if (!packet.by)
			return 0;
		packet.hash = hash_in_slot(D, packet.hash, packet.by);
	}
	found = detect_one(D, &packet, bpf_jiffies64() * DETECT(D, tick), looks_up);
	if (!found)
		return 0;
	counts = bpf_map_lookup_elem((void *)DETECT(D, detected), &found);
	if (counts)
		++*counts;
	return detected_drops(found);
}

/* The detector, where there is one: is a packet dropped that would be kept? */
looked_at_apart int watch_packet(struct xdp_md *ctx, __u64 bytes)
{
	return watch_with(ctx, bytes, 0, 0);
}

/* The same where sockets are asked, too. */
looked_at_apart int watch_looking(struct xdp_md *ctx, __u64 bytes)
{
	return DETECT(D, looks_up) ? watch_with(ctx, bytes, 0, 1) : 0;
}

/* Both where interfaces have limits of their own. */
looked_at_apart int watch_slot(struct xdp_md *ctx, __u64 bytes)
{
	return watch_with(ctx, bytes, 1, 0);
}

looked_at_apart int watch_slot_looking(struct xdp_md *ctx, __u64 bytes)
{
	return DETECT(D, looks_up) ? watch_with(ctx, bytes, 1, 1) : 0;
}

inline_never int drop_detected(struct xdp_md *ctx, __u64 bytes)
{
	void *policed = (void *)DETECT(D, policed);

	if (!policed)
		return XDP_DROP;
	count(policed, PORT_OF(ctx->ingress_ifindex), bytes);
	if (DETECT(D, account))
		count(&list_counters, LABEL_DETECTOR, bytes);
	if (GEN(G, samples))
		take_sample(ctx, ANSWER_DROP | ANSWER(STAGE_DETECTOR, 0, LABEL_DETECTOR), bytes);
	return XDP_DROP;
}

#endif

/*
 * Whether a program has the detector, and of which kind. Where it is on trial these are switches, elsewhere programs;
 * with limits of interfaces, whether sockets are asked is one in each.
 */
enum { UNWATCHED, WATCHED, WATCHED_LOOKING, WATCHED_IF_ON, WATCHED_BY_SLOT };
#define IS_WATCHED(watch, word) ((watch) != WATCHED_IF_ON || SWITCH(DETECT_MAGIC, word))
#define LOOKS_UP(watch, word)	((watch) == WATCHED_LOOKING || ((watch) >= WATCHED_IF_ON && SWITCH(LOOKS_UP_MAGIC, word)))
#define WATCH_LOOKING(watch, ctx, bytes) \
	((watch) == WATCHED_BY_SLOT ? watch_slot_looking(ctx, bytes) : watch_looking(ctx, bytes))
#define WATCH(watch, ctx, bytes) ((watch) == WATCHED_BY_SLOT ? watch_slot(ctx, bytes) : watch_packet(ctx, bytes))

inline_always int judge_packet(struct xdp_md *ctx, int watch)
{
	const void *data = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;
	__u64 bytes = (const char *)end - (const char *)data;
	__u32 port = PORT_OF(ctx->ingress_ifindex);
	__s64 answer = decide_matched(G, data, end, ctx->ingress_ifindex);
	__u64 whole;

	(void)watch;
	if (GEN(G, frags)) {
		RARE_ANSWER(answer, rare_or_split);
		if (bytes >= FRAGS_HEAD)
			bytes = bpf_xdp_get_buff_len(ctx);
		goto judged;
	}
	RARE_ANSWER(answer, rare);
	goto judged;
rare_or_split:
	whole = bpf_xdp_get_buff_len(ctx);
	if (answer < 0 && whole > bytes)
		answer = decide_frags(ctx, whole);
	bytes = whole;
	RARE_ANSWER(answer, rare);
	goto judged;
rare:
	/* In this order: what is unparsed passes, and is far more. */
	JUMP_UNLESS(answer, (int)ANSWER_UNPARSED, rarer);
	count(&counters, COUNTER(port, REASON_UNPARSED), bytes);
	LEAVE(XDP_PASS);
rarer:
	if (answer == (int)ANSWER_HIDDEN)
		return drop_hidden(port, bytes);
	ASK_CODES(answer, codes);
asked:
	answer = packet_end(ctx, answer);
	if (INNER_ON(G, answer)) {
		answer = packet_inner(ctx, answer);
		JUMP_IF(answer, INNER_HIDDEN, hidden);
	}
judged:
	if (answer & ANSWER_SHADOW)
		count(&list_counters, ANSWER_LABEL(answer), bytes);
#if MATCH == MATCH_SOURCE
	if (watch != UNWATCHED && !(answer & ANSWER_DROP) && IS_WATCHED(watch, answer) &&
	    (LOOKS_UP(watch, answer) ? WATCH_LOOKING(watch, ctx, bytes) : WATCH(watch, ctx, bytes)))
		return drop_detected(ctx, bytes);
#endif
	count(&counters, COUNTER(port, REASON((__u32)answer)), bytes);
	if (!(answer & ANSWER_DROP))
		return XDP_PASS;
	count(&list_counters, ANSWER_LABEL(answer), bytes);
	if (GEN(G, samples))
		take_sample(ctx, answer, bytes);
	return XDP_DROP;
codes:
	if (answer == ANSWER_CODES)
		answer = packet_codes(ctx);
	RARE_ANSWER(answer, asked);
	goto judged;
hidden:
	drop_hidden(port, bytes);
	LEAVE(XDP_DROP);
}

SEC("xdp")
int xdp_bloom_gen(struct xdp_md *ctx)
{
	return judge_packet(ctx, UNWATCHED);
}

#if MATCH == MATCH_SOURCE

/* In its place where there is a detector. */
SEC("xdp")
int xdp_bloom_rates(struct xdp_md *ctx)
{
	return judge_packet(ctx, WATCHED);
}

SEC("xdp")
int xdp_bloom_looks(struct xdp_md *ctx)
{
	return judge_packet(ctx, WATCHED_LOOKING);
}

/* In the place of both where interfaces have limits of their own. */
SEC("xdp")
int xdp_bloom_slots(struct xdp_md *ctx)
{
	return judge_packet(ctx, WATCHED_BY_SLOT);
}

#endif

/*
 * On trial, until somebody confirms it: from its end on the generation before is called, by a clock that setting the
 * date does not move, and no process has a part in it. The same for an interface, which then lets all packets pass.
 * What is confirmed is replaced by the programs above, and reads no clock.
 */
inline_always int on_trial(struct xdp_md *ctx, int watch)
{
	if (!trial_is_over())
		return judge_packet(ctx, watch);
	bpf_tail_call_static(ctx, &before, 0);
	return XDP_PASS;
}

SEC("xdp")
int xdp_bloom_trial(struct xdp_md *ctx)
{
	return on_trial(ctx, WATCHED_IF_ON);
}

#if MATCH == MATCH_SOURCE

SEC("xdp")
int xdp_bloom_trial_slots(struct xdp_md *ctx)
{
	return on_trial(ctx, WATCHED_BY_SLOT);
}

/* Behind a dispatcher, where most kernels refuse a tail call. */
SEC("xdp")
int xdp_bloom_trial_shared(struct xdp_md *ctx)
{
	if (trial_is_over())
		LEAVE(XDP_PASS);
	return judge_packet(ctx, WATCHED_IF_ON);
}

SEC("xdp")
int xdp_bloom_trial_shared_slots(struct xdp_md *ctx)
{
	if (trial_is_over())
		LEAVE(XDP_PASS);
	return judge_packet(ctx, WATCHED_BY_SLOT);
}

#endif

SEC("xdp")
int xdp_bloom_trial_root(struct xdp_md *ctx)
{
	if (!trial_is_over())
		bpf_tail_call_static(ctx, &slot, 0);
	return XDP_PASS;
}

SEC("xdp")
int xdp_bloom_bare_trial(struct xdp_md *ctx)
{
	return trial_is_over() ? XDP_PASS : judge_bare(ctx);
}

#if MATCH == MATCH_SOURCE

/* What is asked by such a packet says where it came in, and whether scopes are asked at all. */
inline_never __u32 asked_end(struct xdp_md *ctx, __u32 answer)
{
	const struct ask_frame *frame = (const void *)(long)ctx->data;

	if (CODES4_ON(answer) && answer == ANSWER_CODES) {
		answer = packet_codes(ctx);
		RARE_ANSWER(answer, rare);
		return answer;
	}
rare:
	if (SCOPED(ANSWER_LABEL(answer)) && PARSE_FITS(frame, sizeof(*frame), (const void *)(long)ctx->data_end) &&
	    frame->scopes)
		return scope_judge(ctx, answer, frame->ifindex, 0);
	if (ANSWER_LABEL(answer) != LABEL_ENDS)
		return answer;
	return decide_match_end((const void *)(long)ctx->data, (const void *)(long)ctx->data_end, answer);
}

/* The same decision, counting nothing: run by the test verb on made packets. */
SEC("xdp")
int xdp_bloom_ask(struct xdp_md *ctx)
{
	const void *data = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;
	__s64 answer = decide_packet(G, data, end);

	RARE_ANSWER(answer, rare);
	return answer;
rare:
	return answer < 0 ? answer : asked_end(ctx, answer);
}

#endif

char _license[] SEC("license") = "GPL";
