// SPDX-License-Identifier: GPL-2.0-only
#include "image/make.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "bpf/roster.h"
#include "filter/arrays.h"
#include "filter/build.h"
#include "filter/keys.h"
#include "filter/layout.h"
#include "filter/plan_sizes.h"
#include "filter/verify.h"
#include "image/contents.h"
#include "image/write.h"

#define TOO_SMALL "that shape is too small for these: make the image to be like with more --headroom"

/* A prefix cut into pieces of a much longer rung can be more keys than are worth waiting for. */
static int count_key6(void *arg, unsigned int rung, ip6 first, size_t entry)
{
	struct generation *g = arg;
	__u64 most = g->roster6 ? g->roster6_buckets * ROSTER6_SLOTS : g->filter_blocks * BLOCK_BYTES * 8;

	(void)rung, (void)first, (void)entry;
	return ++g->keys6 > most ? because(-E2BIG, TOO_SMALL) : 0;
}

/* Everything that two images must share to be united; IPv4 gate and roster are built again, and are our own. */
static int adopt(struct generation *g, const struct owned *owned, const struct generation *like)
{
	ip6 longest = ~(ip6)0;

	if (!like->filter)
		return because(-EINVAL, "the image to be like has no filter");
	for (size_t i = 0; i < owned->n6; i++)
		if (owned->v6[i].hi - owned->v6[i].lo < longest)
			longest = owned->v6[i].hi - owned->v6[i].lo;
	if (owned->n6 && (!like->rungs || longest < addr_mask(6, (unsigned int)like->rung[0].length)))
		return because(-EINVAL, "the image to be like has no rung for prefixes as long as some of these");
	g->hash = like->hash;
	g->tag = like->tag;
	g->gate6 = like->gate6;
	g->gate6_add = like->gate6_add;
	g->gate6_mul = like->gate6_mul;
	g->gate6_log2 = like->gate6_log2;
	g->filter = 1;
	g->filter_blocks = like->filter_blocks;
	g->filter_layout = like->filter_layout;
	g->lanes_blocks = like->lanes_blocks;
	g->filter_k = like->filter_k;
	g->roster6 = like->roster6 > 0;
	g->roster6_buckets = like->roster6_buckets;
	g->rungs = like->rungs;
	memcpy(g->rung, like->rung, sizeof(g->rung));
	g->keys6 = 0;
	return keys_ipv6(g, owned, count_key6, g);
}

int image_make(const char *path, const struct owned *owned, const struct list_info *lists, size_t n,
	       const struct settings *settings, const struct image *like)
{
	struct image_source source = { .lists = lists, .lists_n = n, .asked = layout_choose(settings).fpr };
	struct settings wanted = *settings;
	struct generation g;
	char id[IMAGE_ID_MAX];
	int err;

	if (like) {
		wanted.exact = image_is_exact(like);
		source.asked = like->header->asked;
	}
	err = plan_generation(&g, owned, &wanted);
	if (!err && like)
		err = adopt(&g, owned, &like->g);
	if (!err)
		err = build_until_placed(&g, owned, &(struct build_how){ .given_seeds = like });
	if (err_is(err, EAGAIN))
		err = because(err, like ? TOO_SMALL : "no seeds were found under which every key has a place");
	if (err)
		return err;
	err = check_arrays(&g, owned);
	if (err)
		err = because(err, "a key was not found in the image: it is not written; please report this");
	source.g = &g;
	if (!err)
		err = image_write(path, &source, id);
	arrays_release(&g);
	return err;
}
