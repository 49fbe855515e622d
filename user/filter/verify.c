// SPDX-License-Identifier: GPL-2.0-only
#include "filter/verify.h"

#include <errno.h>
#include <pthread.h>

#include "bpf/decide.h"
#include "filter/arrays.h"
#include "filter/by_place.h"
#include "filter/roster_table.h"
#include "base/log.h"

/* The answer must be a drop, and where labels are kept on the right account. */
static int check(const struct generation *g, __u32 answer, __u8 label)
{
	__u32 stage = ANSWER_STAGE(answer);
	bool labelled = stage == STAGE_ROSTER || (stage == STAGE_GATE && g->gate4_labels);

	return !(answer & ANSWER_DROP) || (labelled && ANSWER_LABEL(answer) != label) ? -EILSEQ : 0;
}

/* How many hosts are prefetched at once, so that their cache misses overlap. */
#define AHEAD 64
/* And how many that are not in their first bucket. */
#define AHEAD_SECOND 16
/* A thread for fewer ranges costs more than it saves. */
#define THREAD_WORTH 20000

struct host {
	__u32 addr;
	__u8 label;
};

struct checker {
	const struct generation *g;
	const struct owned *owned;
	/* Of large arrays the filter is asked apart, and the rest of the decision with a filter that says yes. */
	struct by_place by_block, by_bucket;
	struct generation filter_apart;
	size_t first6[LABELS]; /* where each label's first IPv6 prefix stands: the earlier list wins */
	struct host first[AHEAD], second[AHEAD_SECOND];
	unsigned int firsts, seconds;
	int err;
};

static int check_host_now(const struct checker *c, const struct host *host)
{
	const struct generation *g = c->by_bucket.came ? &c->filter_apart : c->g;

	return check(g, decide_ipv4(g, host->addr), host->label);
}

static bool is_in_bucket4(const struct generation *g, __u64 at, __u32 addr)
{
	if (keeps_codes4(g))
		return codes4_test(bucket_of_codes4(g, at), value4(g, at, addr));
	return roster4_test(bucket4(g, at), addr);
}

/* The cache lines of the host are here, unless it is in its second bucket: then it waits once more. */
static int check_host_first(struct checker *c, const struct host *host)
{
	struct host *second = &c->second[c->seconds % AHEAD_SECOND];
	struct roster_choice at;
	int err = 0;

	if (!c->g->roster4)
		return check_host_now(c, host);
	at = choose4(c->g, host->addr);
	if (is_in_bucket4(c->g, at.first, host->addr))
		return check_host_now(c, host);
	__builtin_prefetch(bucket4(c->g, at.second));
	if (c->seconds++ >= AHEAD_SECOND)
		err = check_host_now(c, second);
	*second = *host;
	return err;
}

static int check_next(void *arg, __u64 host)
{
	struct checker *c = arg;
	const struct generation *g = c->g;
	struct host *oldest = &c->first[c->firsts % AHEAD];
	__u32 addr = (__u32)host;
	int err = 0;

	if (g->filter && !c->by_bucket.came)
		filter_prefetch(g, hash_ipv4(g->hash, addr));
	if (g->roster4)
		__builtin_prefetch(bucket4(g, choose4(g, addr).first));
	if (c->firsts++ >= AHEAD)
		err = check_host_first(c, oldest);
	*oldest = (struct host){ addr, (__u8)(host >> 32) };
	return err;
}

static int check_filter(void *arg, __u64 hash)
{
	const struct checker *c = arg;

	return filter_test(c->g, hash) ? 0 : -EILSEQ;
}

static int check_host(void *arg, __u32 addr, __u8 label, bool filter)
{
	__u64 host = addr | (__u64)label << 32;
	struct checker *c = arg;
	int err = 0;

	if (!c->by_bucket.came)
		return check_next(c, host);
	if (filter) {
		__u64 hash = hash_ipv4(c->g->hash, addr);

		err = by_place_put(&c->by_block, hash, lanes_block(hash, c->g->lanes_blocks), check_filter, c);
	}
	return err ?: by_place_put(&c->by_bucket, host, choose4(c->g, addr).first, check_next, c);
}

static const __u64 yes[BLOCK_BYTES / sizeof(__u64)]
	__attribute__((aligned(BLOCK_BYTES))) = { -1, -1, -1, -1, -1, -1, -1, -1 };

static void put_in_order(struct checker *c)
{
	const struct generation *g = c->g;
	__u64 bytes = g->lanes_blocks ? array_bytes(g, ARRAY_ROSTER4) : 0;

	by_place_begin(&c->by_block, g->lanes_blocks, bytes);
	if (c->by_block.came)
		by_place_begin(&c->by_bucket, buckets4(g), bytes);
	c->filter_apart = *g;
	c->filter_apart.filter = (__u64)(uintptr_t)yes;
	c->filter_apart.filter_blocks = c->filter_apart.lanes_blocks = 1;
}

/* All hosts that still wait. */
static int check_waiting(struct checker *c)
{
	int err = by_place_flush(&c->by_block, check_filter, c) ?: by_place_flush(&c->by_bucket, check_next, c);

	for (unsigned int i = 0; i < c->firsts && i < AHEAD && !err; i++)
		err = check_host_first(c, &c->first[i]);
	for (unsigned int i = 0; i < c->seconds && i < AHEAD_SECOND && !err; i++)
		err = check_host_now(c, &c->second[i]);
	return err;
}

static int check_net24(void *arg, __u32 net24, enum gate4 state, __u8 label)
{
	const struct checker *c = arg;

	if (state == GATE4_SOME || state == GATE4_MIXED)
		return gate4_test((const __u8 *)c->g->gate4, net24 << 8) == state ? 0 : -EILSEQ;
	return check(c->g, decide_ipv4(c->g, net24 << 8), label);
}

/*
 * A longer rung may answer for another list's prefix within this one, and on the same rung an earlier list's key
 * stands for both; a shorter rung never comes before it.
 */
static int check_piece(void *arg, unsigned int rung, ip6 first, size_t entry)
{
	const struct checker *c = arg;
	__u32 answer = decide_ipv6(c->g, (__u64)(first >> 64), (__u64)first);

	if (!(answer & ANSWER_DROP) || (c->g->roster6 && ANSWER_RUNG(answer) > rung))
		return -EILSEQ;
	if (ANSWER_STAGE(answer) != STAGE_ROSTER || ANSWER_LABEL(answer) == c->owned->label6[entry])
		return 0;
	return ANSWER_RUNG(answer) < rung || c->first6[ANSWER_LABEL(answer)] < entry ? 0 : -EILSEQ;
}

static void *check_ipv4(void *arg)
{
	static const struct keys_ipv4_calls calls = { check_host, check_net24 };
	struct checker *c = arg;

	put_in_order(c);
	c->err = keys_ipv4(c->g, c->owned, &calls, c);
	if (!c->err)
		c->err = check_waiting(c);
	by_place_end(&c->by_block);
	by_place_end(&c->by_bucket);
	return NULL;
}

static int check_ipv6(struct checker *c)
{
	const struct owned *owned = c->owned;

	for (unsigned int label = 0; label < LABELS; label++)
		c->first6[label] = SIZE_MAX;
	for (size_t i = owned->n6; i-- > 0;)
		c->first6[owned->label6[i]] = i;
	return keys_ipv6(c->g, owned, check_piece, c);
}

/* Where the ranges can be cut in two without cutting a /24; all of them if nowhere. */
static size_t middle(const struct owned *owned)
{
	size_t i = owned->n4 / 2;

	while (i && i < owned->n4 && owned->v4[i - 1].hi >> 8 == owned->v4[i].lo >> 8)
		i++;
	return i;
}

int check_arrays(const struct generation *g, const struct owned *owned)
{
	size_t half = owned->n4 > THREAD_WORTH ? middle(owned) : 0;
	struct owned lower = { .v4 = owned->v4, .label4 = owned->label4, .n4 = half }, upper = *owned;
	struct checker below = { .g = g, .owned = &lower }, above = { .g = g, .owned = &upper };
	pthread_t thread;
	bool two = half && !pthread_create(&thread, NULL, check_ipv4, &below);

	upper.v4 += half;
	upper.label4 += half;
	upper.n4 -= half;
	if (half && !two)
		check_ipv4(&below);
	check_ipv4(&above);
	if (!above.err)
		above.err = check_ipv6(&above);
	if (two)
		pthread_join(thread, NULL);
	return below.err ? below.err : above.err;
}

static const char *check_bucket4(struct checker *c, __u64 at, const bool known[LABELS])
{
	const struct generation *g = c->g;
	__u32 addr;

	for (unsigned int i = 0; i < slots4(g); i++) {
		if (!addr4_at(g, at, i, &addr)) {
			if (value4_at(g, at, i) != no_value4(g, at))
				return "an address is in a bucket that is not its own";
			continue;
		}
		if (!known[*label4(g, at, i)])
			return "an address is on the account of a list that is not there";
		if (check_host(c, addr, *label4(g, at, i), true))
			return "an address does not get through to the roster";
	}
	return NULL;
}

static const char *check_bucket6(const struct generation *g, __u64 at, const bool known[LABELS])
{
	struct bucket6 *bucket = bucket6(g, at);

	for (unsigned int i = 0; i < ROSTER6_SLOTS; i++) {
		if (!bucket->key[i])
			continue;
		if (bucket->key[i] >> 63 || !(bucket->key[i] & 1))
			return "an IPv6 tag is none";
		if (!known[*label6(bucket, i)])
			return "a prefix is on the account of a list that is not there";
	}
	return NULL;
}

static const char *check_gate4(const struct generation *g, const bool known[LABELS])
{
	for (__u32 net24 = 0; net24 < 1u << 24; net24++)
		if (gate4_test((const __u8 *)g->gate4, net24 << 8) >= GATE4_ALL &&
		    !known[decide_gate4_label(g, net24 << 8)])
			return "a /24 is on the account of a list that is not there";
	return NULL;
}

const char *check_stored(const struct generation *g, const bool known[LABELS])
{
	struct checker c = { .g = g };
	const char *fault = g->gate4 ? check_gate4(g, known) : NULL;

	for (__u64 at = 0; g->roster4 && at < buckets4(g) && !fault; at++)
		fault = check_bucket4(&c, at, known);
	if (!fault && check_waiting(&c))
		fault = "an address does not get through to the roster";
	for (__u64 at = 0; g->roster6 && at < g->roster6_buckets && !fault; at++)
		fault = check_bucket6(g, at, known);
	return fault;
}

/* Beyond so many no seeds are found: at the usual rate a thousand of them would be dropped. */
#define ALLOWED_MAX 1000000
#define GATE6_NETS  (1u << 24)

int check_allowed(const struct generation *g, const struct ranges *allowed)
{
	uint64_t n = 0, nets32 = 0;

	for (size_t i = 0; i < allowed->n4; i++) {
		for (__u64 addr = allowed->v4[i].lo; addr <= allowed->v4[i].hi; addr++) {
			/* A /24 that the gate clears is safe as a whole. */
			if (g->gate4 && gate4_test((const __u8 *)g->gate4, (__u32)addr) == GATE4_CLEAR) {
				addr |= 255;
				continue;
			}
			if (++n > ALLOWED_MAX)
				goto too_wide;
			if (decide_ipv4(g, (__u32)addr) & ANSWER_DROP)
				return -EAGAIN;
		}
	}
	for (size_t i = 0; i < allowed->n6 && g->rungs; i++) {
		for (ip6 addr = allowed->v6[i].lo;; addr++) {
			if (g->gate6 && !((const __u8 *)g->gate6)[gate6_index(g->gate6_add, g->gate6_mul, g->gate6_log2,
									      (__u64)(addr >> 96))]) {
				addr |= ((ip6)1 << 96) - 1;
				if (++nets32 > GATE6_NETS)
					goto too_wide;
			} else {
				if (++n > ALLOWED_MAX)
					goto too_wide;
				if (decide_ipv6(g, (__u64)(addr >> 64), (__u64)addr) & ANSWER_DROP)
					return -EAGAIN;
			}
			if (addr >= allowed->v6[i].hi)
				break;
		}
	}
	return 0;
too_wide:
	return because(-E2BIG, "the allow lists are too wide for --exact=off: some allowed address would be dropped");
}
