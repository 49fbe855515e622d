// SPDX-License-Identifier: GPL-2.0-only
#include "filter/build.h"

#include <errno.h>
#include <pthread.h>
#include <sys/random.h>

#include "base/log.h"
#include "filter/arrays.h"
#include "filter/by_place.h"
#include "filter/fill_roster.h"
#include "bpf/filter.h"
#include "bpf/gate.h"
#include "filter/keys.h"
#include "filter/plan_sizes.h"

/* How many keys are prefetched at once, so that their cache misses overlap. */
#define AHEAD 64
/* A thread for fewer keys costs more than it saves. */
#define THREAD_WORTH 20000

/* New seeds nearly always suffice, more buckets always do in the end. */
#define ATTEMPTS      32
#define ATTEMPTS_SAME 4

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
	for (unsigned int i = 0; !err && i < g->rungs; i++) {
		err = draw(&g->rung[i].salt, sizeof(g->rung[i].salt));
		g->rung[i].salt = salt_for(g->rung[i].salt, g->rung[i].length);
	}
	g->gate6_mul |= 1;
	return err;
}

/* Filter and gates: nothing in them depends on the rosters, which are filled at the same time. */
struct builder {
	const struct generation *g;
	const struct owned *owned;
	struct by_place by_block;
	__u64 hash[AHEAD];
	unsigned int waiting;
};

static int set_key(void *arg, __u64 hash)
{
	struct builder *b = arg;
	__u64 *oldest = &b->hash[b->waiting % AHEAD];

	filter_prefetch(b->g, hash);
	if (b->waiting++ >= AHEAD)
		filter_set_fresh(b->g, *oldest);
	*oldest = hash;
	return 0;
}

static void add_key(struct builder *b, __u64 hash)
{
	by_place_put(&b->by_block, hash, lanes_block(hash, b->g->lanes_blocks), set_key, b);
}

static int build_host(void *arg, __u32 addr, __u8 label, bool filter)
{
	struct builder *b = arg;

	(void)label;
	if (filter)
		add_key(b, hash_ipv4(b->g->hash, addr));
	return 0;
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

	(void)entry;
	add_key(b, key6_hash(b->g, rung, first));
	gate6_open(b->g, rung, (__u64)(first >> 64));
	return 0;
}

static void *build_filter(void *arg)
{
	static const struct keys_ipv4_calls calls = { build_host, build_net24 };
	struct builder *b = arg;

	/* A classic filter's bits are anywhere, in no order. */
	by_place_begin(&b->by_block, b->g->lanes_blocks, b->g->lanes_blocks * BLOCK_BYTES);
	keys_ipv4(b->g, b->owned, &calls, b);
	keys_ipv6(b->g, b->owned, build_piece, b);
	by_place_flush(&b->by_block, set_key, b);
	by_place_end(&b->by_block);
	for (unsigned int i = 0; i < b->waiting && i < AHEAD; i++)
		filter_set_fresh(b->g, b->hash[i]);
	return NULL;
}

int build_arrays(const struct generation *g, const struct owned *owned)
{
	struct builder filter = { .g = g, .owned = owned };
	bool large = g->keys4 + g->keys6 > THREAD_WORTH && (g->roster4 || g->roster6);
	pthread_t thread;
	int err;

	large = large && !pthread_create(&thread, NULL, build_filter, &filter);
	if (!large)
		build_filter(&filter);
	err = enrol(g, owned);
	if (large)
		pthread_join(thread, NULL);
	return err;
}

int build_until_placed(struct generation *g, const struct owned *owned, const struct build_how *how)
{
	struct generation planned = *g;
	int err = -EAGAIN;

	for (int attempt = 0; attempt < ATTEMPTS && err_is(err, EAGAIN); attempt++) {
		if (attempt >= (how->given_seeds ? 1 : ATTEMPTS_SAME)) {
			plan_more_buckets4(&planned);
			planned.roster6_buckets += how->given_seeds ? 0 : planned.roster6_buckets / 8;
		}
		err = how->given_seeds ? 0 : build_seeds(&planned);
		*g = planned;
		if (!err)
			err = how->take ? how->take(how->arg, g) : arrays_take(g);
		if (err)
			return err;
		err = build_arrays(g, owned);
		if (!err && how->judge)
			err = how->judge(how->arg, g);
		if (err && how->release)
			how->release(how->arg);
		else if (err)
			arrays_release(g);
	}
	return err;
}
