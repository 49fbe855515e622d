// SPDX-License-Identifier: GPL-2.0-only
#include "image/union.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "bpf/decide.h"
#include "filter/arrays.h"
#include "filter/build.h"
#include "filter/fill_roster.h"
#include "filter/plan_sizes.h"
#include "filter/roster_table.h"
#include "filter/verify.h"
#include "image/contents.h"
#include "image/write.h"
#include "sets/list.h"

struct merge {
	const struct image *a, *b;
	struct generation g;
	struct list_info lists[LABELS];
	size_t lists_n;
	__u8 label_of_b[LABELS]; /* what b's labels become */
};

static int check_shapes(const struct image *a, const struct image *b)
{
	const struct generation *x = &a->g, *y = &b->g;

	if (!images_same_filter(a, b) || !images_same_tags(a, b) || !!x->gate6 != !!y->gate6 ||
	    x->gate6_log2 != y->gate6_log2 || x->gate6_add != y->gate6_add || x->gate6_mul != y->gate6_mul ||
	    image_is_exact(a) != image_is_exact(b))
		return because(-EINVAL,
			       "the images differ in shape or seeds; 'image make --like' makes one like another");
	/* Tags do not tell which prefixes lie within which: a shadow's could hide what the other image bans. */
	if ((x->shadows || y->shadows) && x->rungs)
		return because(-EINVAL, "images with shadow lists and IPv6 cannot be united");
	if (!image_is_exact(a) && !x->gate4 != !y->gate4 && x->keys4 && y->keys4)
		return because(-EINVAL, "without rosters, only one of the images has an IPv4 gate");
	return 0;
}

/* Adds decimal numbers as text: an upper bound, where lists of one name overlap. */
static void add_text(char *sum, size_t size, const char *more)
{
	ip6 number[2] = { 0, 0 };
	const char *text[2] = { sum, more };
	char buf[NUMBER_TEXT_MAX];

	for (int i = 0; i < 2; i++)
		for (const char *c = text[i]; *c >= '0' && *c <= '9'; c++)
			number[i] = number[i] * 10 + (ip6)(*c - '0');
	snprintf(sum, size, "%s", number_text(buf, number[0] + number[1]));
}

static struct list_info *find(struct list_info *lists, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(lists[i].name, name))
			return &lists[i];
	return NULL;
}

static int free_label(const struct merge *m)
{
	bool taken[LABELS] = { [LABEL_LIVE] = true };

	for (size_t i = 0; i < m->lists_n; i++)
		taken[m->lists[i].label] = true;
	for (int label = 1; label < LABELS; label++)
		if (!taken[label])
			return label;
	return because(-ENOSPC, "together they have more than %d lists", LABELS - 1);
}

static int merge_lists(struct merge *m)
{
	struct list_info *a = NULL, *b = NULL;
	size_t an = 0, bn = 0;
	int err = image_lists(m->a, &a, &an);

	if (!err)
		err = image_lists(m->b, &b, &bn);
	if (!err) {
		memcpy(m->lists, a, an * sizeof(*a));
		m->lists_n = an;
	}
	for (size_t i = 0; i < bn && !err; i++) {
		struct list_info *same = find(m->lists, m->lists_n, b[i].name);
		int label = same ? same->label : free_label(m);

		if (same && same->kind != b[i].kind)
			err = because(-EINVAL, "'%s' bans in one image and only counts in the other", same->name);
		else if (label < 0)
			err = label;
		if (err)
			break;
		m->label_of_b[b[i].label] = (__u8)label;
		if (same) {
			same->prefixes += b[i].prefixes;
			add_text(same->addresses, sizeof(same->addresses), b[i].addresses);
			if (strcmp(same->loaded, b[i].loaded) < 0)
				memcpy(same->loaded, b[i].loaded, sizeof(same->loaded));
			continue;
		}
		b[i].label = (uint8_t)label;
		m->lists[m->lists_n++] = b[i];
	}
	for (size_t i = 0; i < m->lists_n && !err; i++) {
		if (m->lists[i].kind != LIST_SHADOW)
			continue;
		m->g.shadows = 1;
		m->g.shadow[m->lists[i].label / 64] |= 1ULL << (m->lists[i].label % 64);
	}
	free(a);
	free(b);
	return err;
}

static void or_array(const struct merge *m, enum array which)
{
	unsigned int member = array_kinds[which].member;
	const __u64 *a = (const __u64 *)*generation_member((struct generation *)&m->a->g, member);
	const __u64 *b = (const __u64 *)*generation_member((struct generation *)&m->b->g, member);
	__u64 *to = (__u64 *)*generation_member((struct generation *)&m->g, member);

	for (uint64_t i = 0; to && i < array_bytes(&m->g, which) / 8; i++)
		to[i] |= a[i] | b[i];
}

/* The roster of a stays as it is; each key that only b has gets a place. */
static int merge_tags(struct merge *m)
{
	struct tag6 *a = NULL, *b = NULL;
	size_t an = 0, bn = 0, i = 0;
	int err;

	if (!m->g.roster6)
		return 0;
	memcpy((void *)m->g.roster6, (const void *)m->a->g.roster6, array_bytes(&m->g, ARRAY_ROSTER6));
	err = image_tags6(m->a, &a, &an);
	if (!err)
		err = image_tags6(m->b, &b, &bn);
	m->g.keys6 = an;
	for (size_t j = 0; j < bn && !err; j++) {
		while (i < an && a[i].tag < b[j].tag)
			i++;
		if (i < an && a[i].tag == b[j].tag)
			continue;
		m->g.keys6++;
		err = enrol_tag6(&m->g, b[j].bucket, b[j].tag, m->label_of_b[b[j].label]);
	}
	free(a);
	free(b);
	if (err_is(err, EAGAIN))
		err = because(err, "their IPv6 roster is too small for both: make them with more --headroom");
	return err;
}

/* Bans before shadows, a before b, live bans behind lists. */
static size_t order(const struct merge *m, struct account *accounts, const struct ranges sets[LABELS])
{
	size_t n = 0;

	for (size_t i = 0; i < m->lists_n; i++)
		if (m->lists[i].kind == LIST_BAN)
			accounts[n++] = (struct account){ &sets[m->lists[i].label], m->lists[i].label };
	accounts[n++] = (struct account){ &sets[LABEL_LIVE], LABEL_LIVE };
	for (size_t i = 0; i < m->lists_n; i++)
		if (m->lists[i].kind == LIST_SHADOW)
			accounts[n++] = (struct account){ &sets[m->lists[i].label], m->lists[i].label };
	return n;
}

/* Where there are rosters, IPv4 is known to the address: accounts are settled again. */
static int account4(const struct merge *m, struct owned *owned)
{
	static struct ranges a[LABELS], b[LABELS], sets[LABELS];
	struct ranges none = RANGES_EMPTY;
	struct account accounts[LABELS];
	int err = image_sets4(m->a, a);

	memset(sets, 0, sizeof(sets));
	memset(b, 0, sizeof(b));
	if (!err)
		err = image_sets4(m->b, b);
	for (unsigned int label = 0; label < LABELS; label++) {
		struct ranges *set = &a[m->label_of_b[label]], both;

		if (err || !b[label].n4)
			continue;
		err = ranges_union(&both, set, &b[label]);
		if (!err) {
			ranges_free(set);
			*set = both;
		}
	}
	if (!err) {
		memcpy(sets, a, sizeof(sets));
		err = owned_settle(owned, accounts, order(m, accounts, sets), &none);
	}
	image_sets_free(a);
	image_sets_free(b);
	return err;
}

/* Sizes of the IPv4 side: with the gate where either has one, since the filters do not hold what it bans. */
static int plan4(struct merge *m, const struct owned *owned)
{
	struct settings settings = SETTINGS_DEFAULT;
	struct generation planned;
	struct counts n;
	int err;

	plan_count(&n, owned);
	err = plan_sizes(&planned, &n, &settings);
	m->g.gate4 = planned.gate4 || m->a->g.gate4 || m->b->g.gate4;
	m->g.keys4 = m->g.gate4 ? n.hosts : planned.keys4;
	m->g.all24 = m->g.gate4 ? n.all24 : 0;
	m->g.minorities = m->g.gate4 ? n.minorities : 0;
	m->g.gate4_label = n.label;
	m->g.gate4_labels = m->g.gate4 && n.labels_differ;
	m->g.roster4 = m->g.keys4 + m->g.minorities > 0;
	m->g.roster4_buckets = m->g.roster4 ? planned.roster4_buckets : 0;
	m->g.version = generation_version(&m->g);
	return err;
}

static bool has_tag(const struct generation *g, const struct tag6 *t)
{
	return roster6_test(bucket6(g, t->bucket), t->tag) ||
	       roster6_test(bucket6(g, roster6_other(t->bucket, t->tag, g->roster6_buckets)), t->tag);
}

/* The check for IPv6, where there is no set to check by. */
static int check_tags(const struct merge *m, const struct image *image)
{
	struct tag6 *tags;
	size_t n;
	int err = image_tags6(image, &tags, &n);

	for (size_t i = 0; i < n && !err; i++)
		if (!has_tag(&m->g, &tags[i]))
			err = -EILSEQ;
	free(tags);
	return err;
}

static int unite_exact(struct merge *m)
{
	struct owned owned = { 0 };
	int err = account4(m, &owned);

	if (!err)
		err = plan4(m, &owned);
	if (!err)
		err = build_until_placed(&m->g, &owned, &(struct build_how){ .given_seeds = true });
	if (!err) {
		or_array(m, ARRAY_FILTER);
		or_array(m, ARRAY_GATE6);
		err = merge_tags(m);
	}
	if (!err)
		err = check_arrays(&m->g, &owned);
	if (!err)
		err = check_tags(m, m->a);
	if (!err)
		err = check_tags(m, m->b);
	if (err_is(err, EILSEQ))
		err = because(err, "a key was not found in the union: it is not written; please report this");
	owned_free(&owned);
	return err;
}

/* Of one /24 in one of the images; without a gate all hosts are in the filter. */
static unsigned int state_of(const struct generation *g, __u32 net24, __u8 *label)
{
	unsigned int state = g->gate4 ? gate4_test((const __u8 *)g->gate4, net24 << 8) : GATE4_CLEAR;

	if (state < GATE4_ALL)
		return state;
	*label = (__u8)decide_gate4_label(g, net24 << 8);
	return GATE4_ALL;
}

static void unite_gates(struct merge *m)
{
	m->g.all24 = 0;
	for (__u32 net24 = 0; net24 < 1u << 24; net24++) {
		__u8 label_a = LABEL_LIVE, label_b = LABEL_LIVE;
		unsigned int a = state_of(&m->a->g, net24, &label_a), b = state_of(&m->b->g, net24, &label_b);

		gate4_set((__u8 *)m->g.gate4, net24 << 8, a > b ? a : b);
		if (a != GATE4_ALL && b != GATE4_ALL)
			continue;
		m->g.all24++;
		((__u8 *)m->g.gate4_labels)[net24] = a == GATE4_ALL ? label_a : m->label_of_b[label_b];
	}
}

/* Without rosters there are only bits: the number of keys is an upper bound. */
static int unite_bits(struct merge *m)
{
	int err;

	m->g.keys4 = m->a->g.keys4 + m->b->g.keys4;
	m->g.keys6 = m->a->g.keys6 + m->b->g.keys6;
	m->g.gate4 = m->g.gate4_labels = m->a->g.gate4 || m->b->g.gate4;
	err = arrays_take(&m->g);
	if (err)
		return err;
	or_array(m, ARRAY_FILTER);
	or_array(m, ARRAY_GATE6);
	if (m->g.gate4)
		unite_gates(m);
	return 0;
}

int image_union(const char *path, const struct image *a, const struct image *b)
{
	struct image_source source = { .asked = a->header->asked };
	struct merge *m = calloc(1, sizeof(*m));
	char id[IMAGE_ID_MAX];
	int err = m ? check_shapes(a, b) : -ENOMEM;

	if (!err) {
		m->a = a;
		m->b = b;
		m->g = a->g;
		m->g.shadows = 0;
		memset(m->g.shadow, 0, sizeof(m->g.shadow));
		for (enum array which = 0; which < ARRAYS; which++)
			*generation_member(&m->g, array_kinds[which].member) = array_bytes(&a->g, which) > 0;
		m->g.prefixes6 = a->g.prefixes6 + b->g.prefixes6;
		err = merge_lists(m);
	}
	if (!err)
		err = image_is_exact(a) ? unite_exact(m) : unite_bits(m);
	if (!err) {
		source.g = &m->g;
		source.lists = m->lists;
		source.lists_n = m->lists_n;
		err = image_write(path, &source, id);
	}
	if (m)
		arrays_release(&m->g);
	free(m);
	return err;
}
