// SPDX-License-Identifier: GPL-2.0-only
#include "build.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

#include "filter.h"
#include "gate.h"
#include "keys.h"
#include "owned.h"
#include "roster.h"

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
			filter_prefetch(b->g, key->hash);
		if (!key->tag && b->g->roster4)
			__builtin_prefetch(bucket4(b, choose4(b, key).first), 1);
		if (key->tag && b->g->roster6)
			__builtin_prefetch(bucket6(b, roster6_first(key->word, b->g->roster6_buckets)), 1);
	}
	for (unsigned int i = 0; i < b->waiting && !err; i++) {
		const struct key *key = &b->batch[i];

		if (key->filter)
			filter_set_fresh(b->g, key->hash);
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
	static const struct keys_ipv4_calls calls = { build_host, build_net24 };
	struct builder *b = calloc(1, sizeof(*b));
	int err;

	if (!b)
		return -ENOMEM;
	b->g = g;
	b->owned = owned;
	if (g->roster4)
		mark_vacant(b);
	err = keys_ipv4(g, owned, &calls, b);
	if (!err)
		err = keys_ipv6(g, owned, build_piece, b);
	if (!err)
		err = flush(b);
	if (!err && g->gate6)
		build_gate6(g, owned);
	free(b);
	return err;
}
