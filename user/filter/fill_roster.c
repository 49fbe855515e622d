// SPDX-License-Identifier: GPL-2.0-only
#include "filter/fill_roster.h"

#include <errno.h>
#include <stdlib.h>

#include "filter/arrays.h"
#include "filter/by_place.h"
#include "filter/roster_table.h"

/* How many keys are prefetched at once, so that their cache misses overlap. */
#define AHEAD 64
/* And how many whose first bucket was full, since their second one has to come from memory, too. */
#define AHEAD_SECOND 16
/* A random walk that has not found a place by then will not: the roster is too full for these seeds. */
#define WALK_MAX 2000

/* A key that waits for its buckets. */
struct place {
	struct roster_choice at;
	__u64 tag;  /* IPv6 only */
	__u32 addr; /* IPv4 only */
	__u8 label;
};

struct builder {
	const struct generation *g;
	const struct owned *owned;
	struct by_place by_bucket;
	struct place first[AHEAD], second[AHEAD_SECOND];
	unsigned int firsts, seconds;
	__u64 walk;		   /* state of the random walk */
	struct roster_choice zero; /* the buckets where address 0 may be: there, vacant is another value */
	__u32 vacant_first, vacant_second;
};

static __u32 vacant_in(const struct builder *b, __u64 at)
{
	if (keeps_codes4(b->g))
		return 0;
	return at == b->zero.first ? b->vacant_first : at == b->zero.second ? b->vacant_second : 0;
}

static bool put4(const struct builder *b, __u64 at, __u32 addr, __u8 label)
{
	__u32 vacant = vacant_in(b, at);

	for (unsigned int i = 0; i < slots4(b->g); i++) {
		if (value4_at(b->g, at, i) == vacant) {
			value4_set(b->g, at, i, value4(b->g, at, addr), label);
			return true;
		}
	}
	return false;
}

static bool put6(const struct builder *b, __u64 at, __u64 tag, __u8 label)
{
	struct bucket6 *bucket = bucket6(b->g, at);

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

/* Takes a place in bucket `at` by pushing a key out to its other bucket, where it may have to push in turn. */
static int push4(struct builder *b, __u64 at, __u32 addr, __u8 label)
{
	for (unsigned int step = 0; step < WALK_MAX; step++) {
		unsigned int slot = random_slot(b, slots4(b->g));
		__u8 out_label = *label4(b->g, at, slot);
		struct roster_choice choice;
		__u32 out;

		if (!addr4_at(b->g, at, slot, &out))
			return -EILSEQ;
		choice = choose4(b->g, out);
		value4_set(b->g, at, slot, value4(b->g, at, addr), label);
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
		struct bucket6 *bucket = bucket6(b->g, at);
		unsigned int slot = random_slot(b, ROSTER6_SLOTS);
		__u64 out = bucket->key[slot];
		__u8 out_label = *label6(bucket, slot);

		roster6_set(bucket, slot, tag, label);
		at = roster6_other(at, out, b->g->roster6_buckets);
		if (put6(b, at, out, out_label))
			return 0;
		tag = out;
		label = out_label;
	}
	return -EAGAIN;
}

static int enrol4_second(struct builder *b, const struct place *p)
{
	return put4(b, p->at.second, p->addr, p->label) ? 0 : push4(b, p->at.first, p->addr, p->label);
}

static int enrol4(struct builder *b, const struct place *p)
{
	struct place *second = &b->second[b->seconds % AHEAD_SECOND];
	int err = 0;

	if (put4(b, p->at.first, p->addr, p->label))
		return 0;
	if (b->seconds++ >= AHEAD_SECOND)
		err = enrol4_second(b, second);
	__builtin_prefetch(bucket4(b->g, p->at.second), 1);
	*second = *p;
	return err;
}

static int enrol6(struct builder *b, const struct place *p)
{
	/* Two prefixes with one tag: the chance is 1 in 2^62 a pair, and one entry answers for both. */
	if (roster6_test(bucket6(b->g, p->at.first), p->tag) || roster6_test(bucket6(b->g, p->at.second), p->tag))
		return 0;
	if (put6(b, p->at.first, p->tag, p->label) || put6(b, p->at.second, p->tag, p->label))
		return 0;
	return push6(b, p->at.first, p->tag, p->label);
}

/* The place of the key that has waited longest is the next one's. */
static int next_place(struct builder *b, struct place **place)
{
	*place = &b->first[b->firsts % AHEAD];
	if (b->firsts++ < AHEAD)
		return 0;
	return (*place)->tag ? enrol6(b, *place) : enrol4(b, *place);
}

static int place_host(void *arg, __u64 host)
{
	struct builder *b = arg;
	struct place *place;
	int err = next_place(b, &place);

	*place = (struct place){ .at = choose4(b->g, (__u32)host), .addr = (__u32)host, .label = (__u8)(host >> 32) };
	__builtin_prefetch(bucket4(b->g, place->at.first), 1);
	return err;
}

static int add_host(void *arg, __u32 addr, __u8 label, bool filter)
{
	__u64 host = addr | (__u64)label << 32;
	struct builder *b = arg;

	(void)filter;
	if (!b->by_bucket.came)
		return place_host(b, host);
	return by_place_put(&b->by_bucket, host, choose4(b->g, addr).first, place_host, b);
}

static int add_net24(void *arg, __u32 net24, enum gate4 state, __u8 label)
{
	(void)arg, (void)net24, (void)state, (void)label;
	return 0;
}

static int add_piece(void *arg, unsigned int rung, ip6 first, size_t entry)
{
	struct builder *b = arg;
	struct place *place;
	int err = next_place(b, &place);

	*place = (struct place){ .label = b->owned->label6[entry] };
	place->at = choose6(b->g, rung, first, &place->tag);
	__builtin_prefetch(bucket6(b->g, place->at.first), 1);
	__builtin_prefetch(bucket6(b->g, place->at.second), 1);
	return err;
}

/* All keys that still wait, in their order: of two prefixes that come to one key the earlier one's label counts. */
static int finish(struct builder *b)
{
	unsigned int n = b->firsts < AHEAD ? b->firsts : AHEAD, oldest = b->firsts - n;
	int err = 0;

	for (unsigned int i = oldest; i < oldest + n && !err; i++) {
		const struct place *place = &b->first[i % AHEAD];

		err = place->tag ? enrol6(b, place) : enrol4(b, place);
	}
	n = b->seconds < AHEAD_SECOND ? b->seconds : AHEAD_SECOND;
	for (unsigned int i = 0; i < n && !err; i++)
		err = enrol4_second(b, &b->second[i]);
	return err;
}

/* Buckets that may hold address 0 cannot say "vacant" with it. */
static void mark_vacant(struct builder *b)
{
	if (keeps_codes4(b->g))
		return;
	b->zero = choose4(b->g, 0);
	b->vacant_first = vacant4(b->g, b->zero.first);
	b->vacant_second = vacant4(b->g, b->zero.second);
	for (unsigned int i = 0; i < ROSTER4_SLOTS; i++) {
		roster4_clear(bucket4(b->g, b->zero.first), i, b->vacant_first);
		roster4_clear(bucket4(b->g, b->zero.second), i, b->vacant_second);
	}
}

int enrol(const struct generation *g, const struct owned *owned)
{
	static const struct keys_ipv4_calls calls = { add_host, add_net24 };
	struct builder *b = calloc(1, sizeof(*b));
	int err = 0;

	if (!b)
		return -ENOMEM;
	b->g = g;
	b->owned = owned;
	if (g->roster4) {
		mark_vacant(b);
		by_place_begin(&b->by_bucket, buckets4(g), array_bytes(g, ARRAY_ROSTER4));
		err = keys_ipv4(g, owned, &calls, b);
		if (!err)
			err = by_place_flush(&b->by_bucket, place_host, b);
		by_place_end(&b->by_bucket);
	}
	if (!err && g->roster6)
		err = keys_ipv6(g, owned, add_piece, b);
	if (!err)
		err = finish(b);
	free(b);
	return err;
}

int enrol_tag6(const struct generation *g, __u64 bucket, __u64 tag, __u8 label)
{
	struct builder b = { .g = g, .walk = tag };

	if (put6(&b, bucket, tag, label) || put6(&b, roster6_other(bucket, tag, g->roster6_buckets), tag, label))
		return 0;
	return push6(&b, bucket, tag, label);
}
