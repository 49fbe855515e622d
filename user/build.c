// SPDX-License-Identifier: GPL-2.0-only
#include "build.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

#include "decide.h"
#include "log.h"
#include "owned.h"

/* How many keys are on their way at once, so that a cache miss of one hides behind the others. */
#define BATCH 64
/* A random walk that has not found a place by then will not: the roster is too full for these seeds. */
#define WALK_MAX 2000

static int draw(void *to, size_t size)
{
	ssize_t got = getrandom(to, size, 0);

	return got == (ssize_t)size ? 0 : got < 0 ? -errno : -EIO;
}

static int draw_seeds(struct hash_seeds *seeds)
{
	int err = draw(seeds, sizeof(*seeds));

	seeds->mul1 |= 1;
	seeds->mul2 |= 1;
	seeds->mul3 |= 1;
	return err;
}

int build_seeds(struct generation *g)
{
	int err = draw_seeds(&g->hash);

	if (!err)
		err = draw_seeds(&g->tag);
	if (!err)
		err = draw(&g->gate6_add, sizeof(g->gate6_add));
	if (!err)
		err = draw(&g->gate6_mul, sizeof(g->gate6_mul));
	for (unsigned int i = 0; !err && i < g->rungs; i++)
		err = draw(&g->rung[i].salt, sizeof(g->rung[i].salt));
	g->gate6_mul |= 1;
	return err;
}

/* Everything about a key that its places follow from. */
struct key {
	__u64 hash, word, tag; /* tag: IPv6 only */
	__u32 addr;	       /* IPv4 only */
	__u8 label;
	bool filter;
};

struct builder {
	const struct generation *g;
	const struct owned *owned;
	struct key batch[BATCH];
	unsigned int waiting;
	__u64 walk;		   /* state of the random walk */
	struct roster_choice zero; /* the buckets where address 0 may be: there, vacant is another value */
	__u32 vacant_first, vacant_second;
};

static __u64 *block_of(const struct builder *b, const struct key *key)
{
	return (__u64 *)(b->g->filter + filter_block(key->hash, b->g->filter_blocks) * BLOCK_BYTES);
}

static struct bucket4 *bucket4(const struct builder *b, __u64 at)
{
	return (struct bucket4 *)b->g->roster4 + at;
}

static struct bucket6 *bucket6(const struct builder *b, __u64 at)
{
	return (struct bucket6 *)b->g->roster6 + at;
}

static __u32 vacant4(const struct builder *b, __u64 at)
{
	return at == b->zero.first ? b->vacant_first : at == b->zero.second ? b->vacant_second : 0;
}

static struct roster_choice choose4(const struct builder *b, const struct key *key)
{
	return roster4_choose(b->g->hash, key->word, b->g->roster4_buckets);
}

static bool put4(const struct builder *b, __u64 at, __u32 addr, __u8 label)
{
	struct bucket4 *bucket = bucket4(b, at);
	__u32 vacant = vacant4(b, at);

	for (unsigned int i = 0; i < ROSTER4_SLOTS; i++) {
		if (bucket->addr[i] == vacant) {
			roster4_set(bucket, i, addr, label);
			return true;
		}
	}
	return false;
}

static bool put6(const struct builder *b, __u64 at, __u64 tag, __u8 label)
{
	struct bucket6 *bucket = bucket6(b, at);

	for (unsigned int i = 0; i < ROSTER6_SLOTS; i++) {
		if (!bucket->key[i]) {
			roster6_set(bucket, i, tag, label);
			return true;
		}
	}
	return false;
}

static unsigned int random_slot(struct builder *b, unsigned int slots)
{
	b->walk = b->walk * 6364136223846793005ULL + 1442695040888963407ULL;
	return reduce(b->walk >> 32, slots);
}

/* Takes a place in bucket `at` by pushing somebody out to their other bucket, who may have to push in turn. */
static int push4(struct builder *b, __u64 at, __u32 addr, __u8 label)
{
	for (unsigned int step = 0; step < WALK_MAX; step++) {
		struct bucket4 *bucket = bucket4(b, at);
		unsigned int slot = random_slot(b, ROSTER4_SLOTS);
		__u32 out = bucket->addr[slot];
		__u8 out_label = bucket->label[roster4_label_index(roster4_slot_bit(slot))];
		struct key key = { .hash = hash_ipv4(b->g->hash, out) };
		struct roster_choice choice;

		roster4_set(bucket, slot, addr, label);
		key.word = hash_more(b->g->hash, key.hash);
		choice = choose4(b, &key);
		at = choice.first == at ? choice.second : choice.first;
		if (put4(b, at, out, out_label))
			return 0;
		addr = out;
		label = out_label;
	}
	return -EAGAIN;
}

static int push6(struct builder *b, __u64 at, __u64 tag, __u8 label)
{
	for (unsigned int step = 0; step < WALK_MAX; step++) {
		struct bucket6 *bucket = bucket6(b, at);
		unsigned int slot = random_slot(b, ROSTER6_SLOTS);
		__u64 out = bucket->key[slot];
		__u8 out_label = bucket->label[roster6_label_index(1ULL << slot)];

		roster6_set(bucket, slot, tag, label);
		at = roster6_other(at, out, b->g->roster6_buckets);
		if (put6(b, at, out, out_label))
			return 0;
		tag = out;
		label = out_label;
	}
	return -EAGAIN;
}

static int enrol4(struct builder *b, const struct key *key)
{
	struct roster_choice at = choose4(b, key);

	if (put4(b, at.first, key->addr, key->label) || put4(b, at.second, key->addr, key->label))
		return 0;
	return push4(b, at.first, key->addr, key->label);
}

static int enrol6(struct builder *b, const struct key *key)
{
	__u64 first = roster6_first(key->word, b->g->roster6_buckets);
	__u64 second = roster6_other(first, key->tag, b->g->roster6_buckets);

	/* Two prefixes with one tag: the chance is 1 in 2^62 a pair, and one entry answers for both. */
	if (roster6_test(bucket6(b, first), key->tag) || roster6_test(bucket6(b, second), key->tag))
		return 0;
	if (put6(b, first, key->tag, key->label) || put6(b, second, key->tag, key->label))
		return 0;
	return push6(b, first, key->tag, key->label);
}

static int flush(struct builder *b)
{
	int err = 0;

	for (unsigned int i = 0; i < b->waiting; i++) {
		const struct key *key = &b->batch[i];

		if (key->filter)
			__builtin_prefetch(block_of(b, key), 1);
		if (!key->tag && b->g->roster4)
			__builtin_prefetch(bucket4(b, choose4(b, key).first), 1);
		if (key->tag && b->g->roster6)
			__builtin_prefetch(bucket6(b, roster6_first(key->word, b->g->roster6_buckets)), 1);
	}
	for (unsigned int i = 0; i < b->waiting && !err; i++) {
		const struct key *key = &b->batch[i];

		if (key->filter)
			filter_set_fresh(block_of(b, key), filter_lanes(key->hash, key->word));
		if (!key->tag && b->g->roster4)
			err = enrol4(b, key);
		if (key->tag && b->g->roster6)
			err = enrol6(b, key);
	}
	b->waiting = 0;
	return err;
}

static int add_host(struct builder *b, __u32 addr, __u8 label, bool filter)
{
	__u64 hash = hash_ipv4(b->g->hash, addr);

	b->batch[b->waiting++] = (struct key){
		.hash = hash, .word = hash_more(b->g->hash, hash), .addr = addr, .label = label, .filter = filter
	};
	return b->waiting == BATCH ? flush(b) : 0;
}

static int add_rung(struct builder *b, const struct rung *rung, ip6 first, __u8 label)
{
	__u64 hi = (__u64)(first >> 64), lo = (__u64)first;
	__u64 hash = hash_ipv6(b->g->hash, rung->salt, hi, lo);

	b->batch[b->waiting++] = (struct key){ .hash = hash,
					       .word = hash_more(b->g->hash, hash),
					       .tag = roster6_tag(b->g->tag, rung->salt, hi, lo),
					       .label = label,
					       .filter = true };
	return b->waiting == BATCH ? flush(b) : 0;
}

/* Calls `each` for every host of the range. */
static int each_host(struct range4 range, __u8 label, bool filter,
		     int (*each)(void *arg, __u32 addr, __u8 label, bool filter), void *arg)
{
	int err = 0;

	for (__u64 addr = range.lo; addr <= range.hi && !err; addr++)
		err = each(arg, (__u32)addr, label, filter);
	return err;
}

/* What becomes of each /24 and host, told to whoever builds or checks. */
struct ipv4_calls {
	int (*host)(void *arg, __u32 addr, __u8 label, bool filter);
	int (*net24)(void *arg, __u32 net24, enum gate4 state, __u8 label);
};

static int each_ipv4(const struct generation *g, const struct owned *owned, const struct ipv4_calls *calls, void *arg)
{
	struct net24_walk walk = { 0 };
	int err = 0;

	while (!err && owned_next_net24(owned, &walk)) {
		if (g->gate4 && walk.run) {
			for (__u32 net = walk.first; net <= walk.last && !err; net++)
				err = calls->net24(arg, net, GATE4_ALL, owned->label4[walk.from]);
		} else if (!g->gate4 && walk.run) {
			err = each_host((struct range4){ walk.first << 8, walk.last << 8 | 255 },
					owned->label4[walk.from], true, calls->host, arg);
		} else {
			bool whole = g->gate4 && walk.banned == 256, minorities = whole && g->minorities;
			__u8 major = owned_majority24(owned, &walk);

			if (g->gate4)
				err = calls->net24(arg, walk.first,
						   minorities ? GATE4_MIXED
						   : whole    ? GATE4_ALL
							      : GATE4_SOME,
						   major);
			for (size_t i = walk.from; i < walk.until && !err; i++)
				if (!whole || (minorities && owned->label4[i] != major))
					err = each_host(owned_clip24(owned, i, walk.first), owned->label4[i], !whole,
							calls->host, arg);
		}
	}
	return err;
}

/* Every IPv6 key: each prefix cut into pieces of the next rung's length. */
static int each_ipv6(const struct generation *g, const struct owned *owned,
		     int (*each)(void *arg, unsigned int rung, ip6 first, size_t entry), void *arg)
{
	int err = 0;

	for (size_t i = 0; i < owned->n6 && !err; i++) {
		ip6 lo = owned->v6[i].lo, first;
		unsigned int length;
		bool done = false;

		while (!err && range6_next_prefix(&lo, owned->v6[i].hi, &done, &first, &length)) {
			unsigned int rung = (unsigned int)g->rungs - 1;
			__u64 pieces;
			ip6 step;

			while (g->rung[rung].length < length)
				rung--;
			pieces = 1ULL << (g->rung[rung].length - length);
			/* A rung of length 0 has one piece, and no step. */
			step = g->rung[rung].length ? (ip6)1 << (128 - g->rung[rung].length) : 0;
			for (__u64 p = 0; p < pieces && !err; p++)
				err = each(arg, rung, first + p * step, i);
		}
	}
	return err;
}

static int build_host(void *arg, __u32 addr, __u8 label, bool filter)
{
	return add_host(arg, addr, label, filter);
}

static int build_net24(void *arg, __u32 net24, enum gate4 state, __u8 label)
{
	struct builder *b = arg;

	gate4_set((__u8 *)b->g->gate4, net24 << 8, state);
	if (b->g->gate4_labels && state >= GATE4_ALL)
		((__u8 *)b->g->gate4_labels)[net24] = label;
	return 0;
}

static int build_piece(void *arg, unsigned int rung, ip6 first, size_t entry)
{
	struct builder *b = arg;

	return add_rung(b, &b->g->rung[rung], first, b->owned->label6[entry]);
}

static void build_gate6(const struct generation *g, const struct owned *owned)
{
	for (size_t i = 0; i < owned->n6; i++) {
		__u64 last = (__u64)(owned->v6[i].hi >> 96);

		for (__u64 net = (__u64)(owned->v6[i].lo >> 96); net <= last; net++)
			gate6_set((__u8 *)g->gate6, gate6_index(g->gate6_add, g->gate6_mul, g->gate6_log2, net));
	}
}

/* Buckets that may hold address 0 cannot say "vacant" with it. */
static void mark_vacant(struct builder *b)
{
	__u64 buckets = b->g->roster4_buckets;
	const struct hash_seeds *s = &b->g->hash;

	b->zero = roster4_choose(*s, hash_more(*s, hash_ipv4(*s, 0)), buckets);
	b->vacant_first = roster4_vacant(*s, b->zero.first, buckets);
	b->vacant_second = roster4_vacant(*s, b->zero.second, buckets);
	for (unsigned int i = 0; i < ROSTER4_SLOTS; i++) {
		roster4_clear(bucket4(b, b->zero.first), i, b->vacant_first);
		roster4_clear(bucket4(b, b->zero.second), i, b->vacant_second);
	}
}

int build_arrays(const struct generation *g, const struct owned *owned)
{
	static const struct ipv4_calls calls = { build_host, build_net24 };
	struct builder *b = calloc(1, sizeof(*b));
	int err;

	if (!b)
		return -ENOMEM;
	b->g = g;
	b->owned = owned;
	if (g->roster4)
		mark_vacant(b);
	err = each_ipv4(g, owned, &calls, b);
	if (!err)
		err = each_ipv6(g, owned, build_piece, b);
	if (!err)
		err = flush(b);
	if (!err && g->gate6)
		build_gate6(g, owned);
	free(b);
	return err;
}

/* The answer must be a drop, and where labels are kept on the right account. */
static int check(const struct generation *g, __u32 answer, __u8 label)
{
	if (!(answer & ANSWER_DROP))
		return -EILSEQ;
	if (ANSWER_STAGE(answer) == STAGE_ROSTER && ANSWER_LABEL(answer) != label)
		return -EILSEQ;
	if (ANSWER_STAGE(answer) == STAGE_GATE && g->gate4_labels && ANSWER_LABEL(answer) != label)
		return -EILSEQ;
	return 0;
}

struct checker {
	const struct generation *g;
	const struct owned *owned;
	size_t first6[LABELS]; /* where each label's first IPv6 prefix stands: the earlier list has the say */
	struct key batch[BATCH];
	unsigned int waiting;
};

/* Asks for a batch of hosts; what they need is on its way before the first is asked for. */
static int check_hosts(struct checker *c)
{
	const struct generation *g = c->g;
	int err = 0;

	for (unsigned int i = 0; i < c->waiting; i++) {
		struct key *key = &c->batch[i];

		key->hash = hash_ipv4(g->hash, key->addr);
		key->word = hash_more(g->hash, key->hash);
		if (g->filter)
			__builtin_prefetch((char *)g->filter + filter_block(key->hash, g->filter_blocks) * BLOCK_BYTES);
		if (g->roster4)
			__builtin_prefetch((struct bucket4 *)g->roster4 +
					   roster4_choose(g->hash, key->word, g->roster4_buckets).first);
	}
	for (unsigned int i = 0; i < c->waiting && !err; i++)
		err = check(g, decide_ipv4(g, c->batch[i].addr), c->batch[i].label);
	c->waiting = 0;
	return err;
}

static int check_host(void *arg, __u32 addr, __u8 label, bool filter)
{
	struct checker *c = arg;

	c->batch[c->waiting++] = (struct key){ .addr = addr, .label = label, .filter = filter };
	return c->waiting == BATCH ? check_hosts(c) : 0;
}

static int check_net24(void *arg, __u32 net24, enum gate4 state, __u8 label)
{
	const struct checker *c = arg;

	if (state == GATE4_SOME || state == GATE4_MIXED)
		return gate4_test((const __u8 *)c->g->gate4, net24 << 8) == state ? 0 : -EILSEQ;
	return check(c->g, decide_ipv4(c->g, net24 << 8), label);
}

/*
 * A longer rung may answer for somebody else's prefix within this one, and on the same rung an earlier list's key
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

int build_check(const struct generation *g, const struct owned *owned)
{
	static const struct ipv4_calls calls = { check_host, check_net24 };
	struct checker c = { .g = g, .owned = owned };
	int err;

	for (unsigned int label = 0; label < LABELS; label++)
		c.first6[label] = SIZE_MAX;
	for (size_t i = owned->n6; i-- > 0;)
		c.first6[owned->label6[i]] = i;
	err = each_ipv4(g, owned, &calls, &c);
	if (!err)
		err = check_hosts(&c);
	return err ? err : each_ipv6(g, owned, check_piece, &c);
}

/* Beyond so many, no seeds will do: at the usual rate a thousand of them would be hit. */
#define ALLOWED_MAX 1000000
#define GATE6_NETS  (1u << 24)

int build_check_allowed(const struct generation *g, const struct ranges *allowed)
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
			if (g->gate6 &&
			    !gate6_test((const __u8 *)g->gate6,
					gate6_index(g->gate6_add, g->gate6_mul, g->gate6_log2, (__u64)(addr >> 96)))) {
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
