/* SPDX-License-Identifier: GPL-2.0-only */
/* Behind a program that was made of made_kernel.h: what its kernel does, a world of lists, and what becomes of frames.
 */
#ifndef MADE_PROGRAM_H
#define MADE_PROGRAM_H

#include "filter/arrays.h"
#include "filter/build.h"
#include "filter/plan_sizes.h"
#undef SCOPE_TO
#include "filter/scopes.h"
#include "made_frames.h"
#include "sets/owned.h"
#include "shown.h"

#define ENOUGH(is)               \
	do {                     \
		if (!(is))       \
			abort(); \
	} while (0)

/* --- The loader ------------------------------------------------------------------------------------------------------
 */

static __u64 loaded(__u64 index)
{
	if (index == CONSTANT_CODES)
		return given_codes;
	if (index == CONSTANT_SCOPES)
		return given.scoped ? (__u64)(uintptr_t)&given_scopes : 0;
	if (index == CONSTANT_UNREAD)
		return given.scoped ? (__u64)(uintptr_t)&map_of_unread : 0;
	if (index == CONSTANT_ENDS)
		return given.ends ? (__u64)(uintptr_t)&map_of_ends : 0;
	return ((const __u64 *)&given_detect)[index - CONSTANT_DETECT];
}

static bool is_on(__s64 magic)
{
	switch ((int)magic) {
	case SWITCH_MAGIC:
		return given.embedded;
	case DETECT_MAGIC:
		return given_detect.cells != 0;
	case LOOKS_UP_MAGIC:
		return given_detect.looks_up != 0;
	case SCOPES_MAGIC:
		return given.scoped;
	case INNER_MAGIC:
		return given.inner;
	case CODES_MAGIC:
		return given_codes != 0;
	}
	abort();
}

static bool jumps_below(__s64 word, __s64 number)
{
	if (number == (int)LEAVES_TO)
		return given_coming || word < number;
	if (number != RARE_BELOW)
		return is_on(number);
	if (given.inner)
		return true;
	return given.ends || given.scoped ? (word & (__s64)RARE_BITS) != 0 : word < number;
}

static __s64 rare(__s64 number)
{
	if (number != ALONE_MAGIC)
		return number;
	return given_codes ? ANSWER_CODES : ANSWER_DROP | ANSWER(STAGE_FILTER, 0, LABEL_LIVE);
}

/* --- Maps ------------------------------------------------------------------------------------------------------------
 */

static struct tally made_counters[COUNTERS], made_lists[LABELS], made_unread[LABELS];
static struct sample_share made_shares[LABELS];
static struct trial made_trial;
static struct {
	struct end_key key;
	__u64 until;
} made_ends[8];
static unsigned int made_ends_n;
static __u64 clock_is;
static struct sample made_sample;
static bool ring_is_full;
static __u32 random_is;
static const void *jumps_to; /* the map that has a program */
static __u32 held_bytes;     /* the first buffer's; 0: all */

/* Each unit's, ended by one without a map. */
static const struct made_map {
	const void *map;
	void *values;
	size_t size, n;
	void *(*find)(const void *key); /* instead of these */
} * made_maps;

#define MADE_MAP(map_, values_, n_)                                                    \
	{                                                                              \
		.map = &(map_), .values = values_, .size = sizeof(*(values_)), .n = n_ \
	}
#define MADE_MAPS(counters)                                                                                 \
	MADE_MAP(counters, made_counters, COUNTERS), MADE_MAP(list_counters, made_lists, LABELS),           \
		MADE_MAP(map_of_unread, made_unread, LABELS), MADE_MAP(sample_shares, made_shares, LABELS), \
		MADE_MAP(trial, &made_trial, 1)

static bool is_within(const struct end_key *prefix, const struct end_key *key)
{
	__u32 bits = prefix->bits - 32, at = 0;

	if (prefix->family != key->family)
		return false;
	for (; bits >= 32; bits -= 32, at++)
		if (prefix->addr[at] != key->addr[at])
			return false;
	return !bits || !(ntohl(prefix->addr[at] ^ key->addr[at]) >> (32 - bits));
}

/* The longest prefix that has it. */
static void *end_of(const struct end_key *key)
{
	unsigned int best = made_ends_n;

	for (unsigned int i = 0; i < made_ends_n; i++)
		if (key->bits >= made_ends[i].key.bits && is_within(&made_ends[i].key, key) &&
		    (best == made_ends_n || made_ends[i].key.bits > made_ends[best].key.bits))
			best = i;
	return best < made_ends_n ? &made_ends[best].until : NULL;
}

static void *bpf_map_lookup_elem(void *map, const void *key)
{
	const struct made_map *m = made_maps;
	__u32 index;

	if (map == &map_of_ends)
		return end_of(key);
	memcpy(&index, key, sizeof(index));
	for (; m->map; m++)
		if (m->map == map && m->find)
			return m->find(key);
		else if (m->map == map)
			return index < m->n ? (char *)m->values + index * m->size : NULL;
	/* One of the generation's arrays, whose value is a line. */
	return (char *)map + (size_t)index * BLOCK_BYTES;
}

static long bpf_map_update_elem(void *map, const void *key, const void *value, __u64 flags)
{
	(void)map;
	(void)key;
	(void)value;
	(void)flags;
	return 0;
}

static long bpf_map_delete_elem(void *map, const void *key)
{
	(void)map;
	(void)key;
	return 0;
}

static void *bpf_ringbuf_reserve(void *ring, __u64 size, __u64 flags)
{
	(void)ring;
	CHECK(size == sizeof(made_sample) && !flags, "%llu bytes are reserved", (unsigned long long)size);
	memset(&made_sample, 0xee, sizeof(made_sample));
	return ring_is_full ? NULL : &made_sample;
}

static void bpf_ringbuf_submit(void *at, __u64 flags)
{
	unsigned int sum = 0;

	CHECK(at == &made_sample && !flags, "another sample");
	for (__u32 i = 0; i < made_sample.captured && i < SAMPLE_BYTES; i++)
		sum = sum * 31 + made_sample.bytes[i];
	printf(" sample(at %llu, if %u, %u of %u bytes %x, %#x, of %u)", (unsigned long long)made_sample.time,
	       made_sample.ifindex, made_sample.captured, made_sample.length, sum, made_sample.answer,
	       made_sample.block);
}

static __u32 bpf_get_prandom_u32(void)
{
	return random_is;
}

static __u64 bpf_ktime_get_ns(void)
{
	return clock_is + 5;
}

static __u64 bpf_ktime_get_boot_ns(void)
{
	return clock_is;
}

static __u64 bpf_jiffies64(void)
{
	return clock_is;
}

static bool tail_call(struct made_packet *ctx, const void *map, __u32 index, int *verdict)
{
	const __u8 *data = (const __u8 *)(uintptr_t)ctx->data;
	bool there = map == jumps_to && !index;

	*verdict = 77;
	printf(" jump(%s, %u of type %02x%02x, cb %u)", map == &slot ? "slot" : "before", index, data[12], data[13],
	       ctx->cb[0]);
	return there;
}

/* --- Packets ---------------------------------------------------------------------------------------------------------
 */

static long bpf_xdp_load_bytes(struct made_packet *ctx, __u32 at, void *to, __u32 n)
{
	if (at > ctx->bytes || ctx->bytes - at < n)
		return -EINVAL;
	memcpy(to, ctx->whole + at, n);
	return 0;
}

static __u64 bpf_xdp_get_buff_len(struct made_packet *ctx)
{
	return ctx->bytes;
}

static long head_fails;

static long bpf_xdp_adjust_head(struct made_packet *ctx, int delta)
{
	if (head_fails && !--head_fails)
		return -EINVAL;
	ctx->data += (__u64)(__s64)delta;
	ctx->whole += delta;
	ctx->bytes -= (__u32)delta;
	return 0;
}

static __u32 link_header;		   /* bytes before the network's */
static __u32 segments, says_type, bare_is; /* of a packet of tc */

static long bpf_skb_load_bytes(struct made_packet *ctx, __u32 at, void *to, __u32 n)
{
	return bpf_xdp_load_bytes(ctx, at, to, n);
}

/* From the first buffer alone. */
static long bpf_skb_load_bytes_relative(struct made_packet *ctx, __u32 at, void *to, __u32 n, __u32 from)
{
	CHECK(from == BPF_HDR_START_NET, "from %u", from);
	at += link_header;
	return held_bytes && at + n > held_bytes ? -EFAULT : bpf_xdp_load_bytes(ctx, at, to, n);
}

static long bpf_skb_pull_data(struct made_packet *ctx, __u32 n)
{
	if (n > ctx->len)
		return -ENOMEM;
	if (held_bytes && held_bytes < n)
		held_bytes = n;
	printf(" pull(%u)", n);
	return 0;
}

/* --- What becomes of it ----------------------------------------------------------------------------------------------
 */

static void say_tallies(const char *what, struct tally *tallies, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!tallies[i].packets && !tallies[i].bytes)
			continue;
		printf(" %s %zu", what, i);
		if (tallies[i].packets != 1)
			printf(" x%llu", (unsigned long long)tallies[i].packets);
		printf(" of %llu", (unsigned long long)tallies[i].bytes);
	}
	memset(tallies, 0, n * sizeof(*tallies));
}

static void say_counts(void)
{
	say_tallies("counter", made_counters, COUNTERS);
	say_tallies("list", made_lists, LABELS);
	say_tallies("unread", made_unread, LABELS);
}

static __u32 comes_in_by = 3;

/* The frame that was made, through this program. */
static int judged(int (*program)(struct made_packet *))
{
	__u32 held = held_bytes, first = held && held < frame_n ? held : frame_n;
	struct made_packet packet = { .data = (__u64)(uintptr_t)made,
				      .data_end = (__u64)(uintptr_t)(made + first),
				      .ingress_ifindex = comes_in_by,
				      .ifindex = comes_in_by,
				      .len = frame_n,
				      .wire_len = frame_n + 100,
				      .gso_segs = segments,
				      .protocol = says_type,
				      .cb = { bare_is },
				      .whole = made,
				      .bytes = frame_n };

	int verdict = program(&packet);

	held_bytes = held; /* before it was pulled */
	return verdict;
}

#define FRAMES_MOST 256

static char said_before[FRAMES_MOST][400];
static bool silent; /* nobody asks how it was in the world before */

/* How a frame fares, where that is not what it was in the world before. */
static bool frame(size_t i, const char *text, int (*program)(struct made_packet *))
{
	char line[400];
	FILE *real = stdout, *to = fmemopen(line, sizeof(line), "w");
	bool differs;

	ENOUGH(to && i < FRAMES_MOST);
	make(text);
	stdout = to;
	printf("= %d", judged(program));
	say_counts();
	fputc('\0', to);
	fclose(to);
	stdout = real;
	differs = strcmp(line, said_before[i]);
	if (differs && !silent)
		printf("  %s: %s\n", text, line);
	strcpy(said_before[i], line);
	return differs;
}

/* --- A world ---------------------------------------------------------------------------------------------------------
 */

#define LABEL_A	     7
#define LABEL_SHADOW 200 /* without a scope */
#define LABEL_SSH    128 /* and these stand for scopes */
#define LABEL_NET    129
#define LABEL_IF     130
#define LABEL_TWO    131
#define LABEL_SOON   132 /* a ban that ends, beside a scope */
#define LABEL_SCTP   133

static const struct {
	__u8 label;
	const char *prefix;
} world[] = {
	{ LABEL_LIVE, "45.0.0.1" },	  { LABEL_LIVE, "2001:db8:1::/48" }, { LABEL_ENDS, "45.0.0.9" },
	{ LABEL_ENDS, "2001:db8:9::9" },  { LABEL_A, "45.0.1.0/24" },	     { LABEL_A, "45.0.2.5" },
	{ LABEL_A, "2001:db8:2::5" },	  { LABEL_SHADOW, "45.0.3.3" },	     { LABEL_SHADOW, "2001:db8:3::3" },
	{ LABEL_SSH, "45.0.4.4" },	  { LABEL_SSH, "2001:db8:4::4" },    { LABEL_NET, "45.0.5.5" },
	{ LABEL_NET, "2001:db8:5::5" },	  { LABEL_IF, "45.0.6.6" },	     { LABEL_IF, "2001:db8:6::6" },
	{ LABEL_TWO, "45.0.7.7" },	  { LABEL_TWO, "2001:db8:7::7" },    { LABEL_SOON, "45.0.8.8" },
	{ LABEL_SOON, "2001:db8:8::8" },  { LABEL_SCTP, "45.0.9.9" },	     { LABEL_SCTP, "2001:db8:99::9" },
	{ LABEL_A, "64:ff9b::45.0.4.4" }, { LABEL_A, "224.0.0.0/4" },	     { LABEL_A, "255.255.255.254/31" },
	{ LABEL_A, "ff00::/8" },
};

/* Few: of one network and one interface, and none that only counts. */
static void make_scopes(bool few)
{
	static const struct {
		const char *text;
		__u8 label;
		bool counts;
	} of[] = { { "tcp/22", 10, false },
		   { "udp to 203.0.113.0/24,2001:db8:cb::/48", 11, false },
		   { "on edge0", 12, false },
		   { "sctp/22,113", 14, false },
		   { "tcp/80", 13, true } };
	const size_t n = few ? 4 : 5;
	struct scoped scoped[5];

	memset(scoped, 0, sizeof(scoped));
	for (size_t i = 0; i < n; i++) {
		ENOUGH(!scope_parse(&scoped[i].scope, few && i == 1 ? "udp to 203.0.113.0/24" : of[i].text));
		scoped[i].label = of[i].label;
		scoped[i].counts = of[i].counts;
	}
	ENOUGH(!scopes_make(&given_scopes, scoped, n));
	for (size_t i = 0; i < given_scopes.names; i++)
		given_scopes.on[i].ifindex = 3;
	given_scopes.of[LABEL_ENDS] = SCOPE_ENDS;
	given_scopes.of[LABEL_SSH] = 1;
	given_scopes.of[LABEL_NET] = 2;
	given_scopes.of[LABEL_IF] = 4;
	given_scopes.of[LABEL_SCTP] = 8;
	given_scopes.of[LABEL_TWO] = few ? 1 : 1 | 16;
	given_scopes.of[LABEL_SOON] = SCOPE_ENDS | 1;
}

/* As codes4_shape() makes it. */
static __u64 codes_shape(void)
{
	const __u64 buckets = 131000;

	return ROSTER4_CODES | ((1ULL << 32) + buckets - 1) / buckets << 32 | buckets;
}

static void fixed_seeds(struct generation *g)
{
	g->hash = (struct hash_seeds){ 0x123456789abcdef, 0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f, 0x165667b19e3779f9 };
	g->tag = (struct hash_seeds){ 0xfedcba987654321, 0x27d4eb2f165667c5, 0x85ebca77c2b2ae63, 0xff51afd7ed558ccd };
	g->gate6_add = 0x1234567;
	g->gate6_mul = 0x9e3779b97f4a7c15;
	for (unsigned int i = 0; i < g->rungs; i++)
		g->rung[i].salt =
			((0x1111111111111111 * (i + 1)) & ~SALT_WIDE) | (g->rung[i].length > 64 ? SALT_WIDE : 0);
}

enum {
	WORLD_SCOPED = 1,
	WORLD_ENDS = 2,
	WORLD_CODES = 4,
	WORLD_ALONE = 8,
	WORLD_INNER = 16,
	WORLD_EMBEDDED = 32,
	WORLD_FEW = 64
};

static void make_world(unsigned int how)
{
	struct settings settings = SETTINGS_DEFAULT;
	struct account accounts[LABELS];
	struct ranges sets[sizeof(world) / sizeof(*world)] = { 0 }, none = RANGES_EMPTY;
	struct owned owned;
	size_t n = 0;

	settings.exact = !(how & WORLD_ALONE);
	settings.inner = how & WORLD_INNER;
	settings.embedded = how & WORLD_EMBEDDED;
	for (size_t i = 0; i < sizeof(world) / sizeof(*world); i++) {
		struct addr first;
		unsigned int length;
		bool scoped = world[i].label >= LABEL_SSH && world[i].label <= LABEL_SCTP;

		if ((scoped && !(how & WORLD_SCOPED)) || (world[i].label == LABEL_ENDS && !(how & WORLD_ENDS)) ||
		    (world[i].label == LABEL_SOON && !(how & WORLD_ENDS)) ||
		    (world[i].label == LABEL_SHADOW && how & WORLD_FEW))
			continue;
		ENOUGH(!prefix_parse(world[i].prefix, strlen(world[i].prefix), &first, &length));
		ENOUGH(!ranges_add_prefix(&sets[n], first, length) && !ranges_finish(&sets[n]));
		accounts[n] = (struct account){ &sets[n], world[i].label };
		n++;
	}
	ENOUGH(!owned_settle(&owned, accounts, n, &none));
	for (size_t i = 0; i < n; i++)
		ranges_free(&sets[i]);
	memset(&given, 0, sizeof(given));
	ENOUGH(!plan_generation(&given, &owned, &settings));
	given_codes = 0;
	if (how & WORLD_CODES) {
		given.roster4_buckets = codes_shape();
		given.version = GENERATION_CODES;
	}
	fixed_seeds(&given);
	ENOUGH(!build_until_placed(&given, &owned, &(struct build_how){ .given_seeds = true }));
	owned_free(&owned);
	if (how & WORLD_CODES) {
		given_codes = given.roster4_buckets;
		given.roster4_buckets = 0;
	}
	given.shadows = 1;
	given.shadow[LABEL_SHADOW / 64] = 1ULL << LABEL_SHADOW % 64;
	given.ends = how & WORLD_ENDS ? 1 : 0;
	given.scoped = how & WORLD_SCOPED ? 1 : 0;
	if (how & WORLD_SCOPED)
		make_scopes(how & WORLD_FEW);
	if (how & WORLD_FEW)
		given.shadows = 0;
}

static void end_world(void)
{
	if (given_codes)
		given.roster4_buckets = given_codes;
	arrays_release(&given);
}

static void ends_at(const char *prefix, __u64 until)
{
	struct addr first;
	unsigned int length;

	ENOUGH(!prefix_parse(prefix, strlen(prefix), &first, &length));
	made_ends[made_ends_n].key = (struct end_key){ .bits = END_KEY_BITS(length), .family = first.family };
	for (unsigned int i = 0; i < 4; i++)
		made_ends[made_ends_n].key.addr[i] = first.family == 4 ? (i ? 0 : htonl((__u32)first.num))
								       : htonl((__u32)(first.num >> (96 - 32 * i)));
	made_ends[made_ends_n++].until = until;
}

#endif
