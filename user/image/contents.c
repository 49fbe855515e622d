// SPDX-License-Identifier: GPL-2.0-only
#include "image/contents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/decide.h"
#include "filter/roster_table.h"
#include "image/image.h"

/* With more, a comparison would take minutes. */
#define KEYS6_MOST_LOG2 24

bool image_is_exact(const struct image *image)
{
	const struct generation *g = &image->g;

	return (!g->keys4 || g->roster4) && (!g->keys6 || g->roster6);
}

/* Of a /24 that the gate bans whole. */
static int add_net24(struct ranges sets[LABELS], const struct generation *g, __u32 first, unsigned int state)
{
	int err = 0;

	if (state == GATE4_ALL || !g->roster4)
		return ranges_add4(&sets[decide_gate4_label(g, first)], first, first | 255);
	for (__u32 host = first; host <= (first | 255) && !err; host++) {
		err = ranges_add4(&sets[ANSWER_LABEL(decide_ipv4(g, host))], host, host);
		if (host == ~0u)
			break;
	}
	return err;
}

static int add_gate(struct ranges sets[LABELS], const struct generation *g)
{
	int err = 0;

	for (__u32 net24 = 0; net24 < 1u << 24 && !err; net24++) {
		unsigned int state = gate4_test((const __u8 *)g->gate4, net24 << 8);

		if (state >= GATE4_ALL)
			err = add_net24(sets, g, net24 << 8, state);
	}
	return err;
}

static int add_roster(struct ranges sets[LABELS], const struct generation *g)
{
	int err = 0;

	for (__u64 at = 0; at < buckets4(g); at++) {
		for (unsigned int i = 0; i < slots4(g) && !err; i++) {
			__u32 addr;

			if (addr4_at(g, at, i, &addr) &&
			    (!g->gate4 || gate4_test((const __u8 *)g->gate4, addr) == GATE4_SOME))
				err = ranges_add4(&sets[*label4(g, at, i)], addr, addr);
		}
	}
	return err;
}

int image_sets4(const struct image *image, struct ranges sets[LABELS])
{
	int err;

	memset(sets, 0, LABELS * sizeof(*sets));
	err = image->g.gate4 ? add_gate(sets, &image->g) : 0;
	if (!err && image->g.roster4)
		err = add_roster(sets, &image->g);
	for (unsigned int label = 0; label < LABELS && !err; label++)
		err = ranges_finish(&sets[label]);
	return err;
}

void image_sets_free(struct ranges sets[LABELS])
{
	for (unsigned int label = 0; label < LABELS; label++)
		ranges_free(&sets[label]);
}

static bool is_shadow(const struct generation *g, unsigned int label)
{
	return g->shadow[label / 64] >> (label % 64) & 1;
}

int image_banned4(const struct image *image, struct ranges *banned)
{
	static struct ranges sets[LABELS];
	int err = image_sets4(image, sets);

	*banned = RANGES_EMPTY;
	for (unsigned int label = 0; label < LABELS && !err; label++)
		for (size_t i = 0; i < sets[label].n4 && !err && !is_shadow(&image->g, label); i++)
			err = ranges_add4(banned, sets[label].v4[i].lo, sets[label].v4[i].hi);
	if (!err)
		err = ranges_finish(banned);
	image_sets_free(sets);
	return err;
}

static int by_tag(const void *a, const void *b)
{
	const struct tag6 *x = a, *y = b;

	return x->tag < y->tag ? -1 : x->tag > y->tag;
}

int image_tags6(const struct image *image, struct tag6 **tags, size_t *n)
{
	const struct generation *g = &image->g;
	size_t room = g->roster6_buckets * ROSTER6_SLOTS;

	*n = 0;
	*tags = malloc((room + 1) * sizeof(**tags));
	if (!*tags)
		return -ENOMEM;
	for (__u64 at = 0; at < g->roster6_buckets; at++) {
		struct bucket6 *bucket = bucket6(g, at);

		for (unsigned int i = 0; i < ROSTER6_SLOTS; i++)
			if (bucket->key[i])
				(*tags)[(*n)++] = (struct tag6){ bucket->key[i], at, *label6(bucket, i) };
	}
	qsort(*tags, *n, sizeof(**tags), by_tag);
	return 0;
}

/* Is the key of that rung banned, by itself or within a shorter one? */
static bool bans_key6(const struct generation *g, unsigned int rung, ip6 first)
{
	for (; rung < g->rungs; rung++) {
		const struct rung *r = &g->rung[rung];

		if (decide_rung(g, rung, (__u64)(first >> 64) & r->mask_hi, (__u64)first & r->mask_lo, r->salt) &
		    ANSWER_DROP)
			return true;
	}
	return false;
}

/* Looks from the rung that the prefix is cut to on to shorter ones: a longer key would only be a part of it. */
static bool count_prefix6(const struct generation *g, ip6 first, unsigned int length, uint64_t *keys, uint64_t *banned)
{
	unsigned int rung = (unsigned int)g->rungs - 1, cut;

	while (rung && g->rung[rung].length < length)
		rung--;
	cut = g->rung[rung].length > length ? (unsigned int)g->rung[rung].length - length : 0;
	if (cut > KEYS6_MOST_LOG2 || *keys + (1ULL << cut) > 1ULL << KEYS6_MOST_LOG2)
		return false;
	*keys += 1ULL << cut;
	for (uint64_t i = 0; i < 1ULL << cut; i++)
		*banned += bans_key6(g, rung, cut ? first + ((ip6)i << (128 - g->rung[rung].length)) : first);
	return true;
}

bool image_covers6(const struct image *image, const struct ranges *set, uint64_t *keys, uint64_t *banned)
{
	*keys = *banned = 0;
	if (!image->g.roster6 || image->g.shadows)
		return false;
	for (size_t i = 0; i < set->n6; i++)
		for (struct cut6 cut = { .lo = set->v6[i].lo, .hi = set->v6[i].hi }; range6_next_prefix(&cut);)
			if (!count_prefix6(&image->g, cut.first, cut.length, keys, banned))
				return false;
	return true;
}

static bool same_hash(const struct hash_seeds *a, const struct hash_seeds *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static bool same_rungs(const struct generation *a, const struct generation *b)
{
	return a->rungs == b->rungs && !memcmp(a->rung, b->rung, a->rungs * sizeof(*a->rung));
}

bool images_same_filter(const struct image *a, const struct image *b)
{
	const struct generation *x = &a->g, *y = &b->g;

	return x->filter && y->filter && same_hash(&x->hash, &y->hash) && same_rungs(x, y) &&
	       x->filter_blocks == y->filter_blocks && x->filter_layout == y->filter_layout &&
	       x->filter_k == y->filter_k;
}

bool images_same_tags(const struct image *a, const struct image *b)
{
	const struct generation *x = &a->g, *y = &b->g;

	return same_hash(&x->hash, &y->hash) && same_hash(&x->tag, &y->tag) && same_rungs(x, y) &&
	       x->roster6_buckets == y->roster6_buckets;
}
