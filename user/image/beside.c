// SPDX-License-Identifier: GPL-2.0-only
#include "image/beside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "bpf/decide.h"
#include "filter/arrays.h"
#include "filter/build.h"
#include "filter/edit.h"
#include "filter/keys.h"
#include "filter/plan_sizes.h"
#include "filter/roster_table.h"
#include "filter/verify.h"
#include "image/contents.h"
#include "image/image.h"
#include "sets/list.h"
#include "sets/owned.h"

/* A filter of so many times the keys that it was made for still settles most of what passes. */
#define FILTER_MOST 2
/* And so many more are room for those that come next. */
#define ROOM_MORE(keys) ((keys) / 10 + 64)

static const char *whose(const struct beside *b)
{
	return b->arrives ? "the image" : "the image in force";
}

static const char *or_not(const struct beside *b)
{
	return b->arrives ? "; or take the exception back first ('xdp-bloom disallow')" : "";
}

bool beside_any(const struct beside *b)
{
	return b->lasting.n4 || b->lasting.n6 || b->ending.n4 || b->ending.n6 || b->allowed.n4 || b->allowed.n6;
}

void beside_free(struct beside *b)
{
	ranges_free(&b->lasting);
	ranges_free(&b->ending);
	ranges_free(&b->allowed);
}

/* Nobody reads arrays that are not in force. */
static void wait_for_nobody(void)
{
}

static void start(struct generation *g, const struct image *image)
{
	struct generation given = *g;

	*g = image->g;
	g->embedded = given.embedded;
	g->inner = given.inner;
	g->samples = given.samples;
	g->number = given.number;
	g->ends = given.ends;
	g->edits = 0;
	for (enum array a = 0; a < ARRAYS; a++)
		*generation_member(g, array_kinds[a].member) = array_bytes(&image->g, a) > 0;
}

static __u64 address(const struct generation *g, enum array a)
{
	return *generation_member((struct generation *)g, array_kinds[a].member);
}

static void copy_array(const struct generation *g, const struct generation *from, enum array a)
{
	if (address(g, a) && address(from, a))
		memcpy((void *)(uintptr_t)address(g, a), (const void *)(uintptr_t)address(from, a),
		       array_bytes(from, a));
}

static void release(struct generation *g, const struct build_how *how)
{
	if (how->release)
		how->release(how->arg);
	else
		arrays_release(g);
}

static int fits(const struct generation *g, const struct settings *settings)
{
	unsigned long long needs = arrays_total(g), limit = settings->memory_max;

	return limit && needs > limit
		       ? because(-E2BIG,
				 "the image with what is beside it needs %llu bytes in the kernel; the limit is %llu",
				 needs, limit)
		       : 0;
}

/* --- IPv6, and what has no roster: edits of a copy ---------------------------------------------------------------- */

static int edit_one(struct generation *g, const struct ranges *set, uint8_t label, bool *full)
{
	struct account account = { set, label };
	struct ranges none = RANGES_EMPTY;
	struct owned wanted = { 0 };
	struct edit e;
	int err = owned_settle(&wanted, &account, 1, &none);

	edit_begin(&e, g);
	e.wait = wait_for_nobody;
	err = err ?: edit_ban(&e, &wanted);
	if (!err)
		edit_make(&e);
	*full = e.full;
	edit_end(&e);
	owned_free(&wanted);
	return err;
}

/* Its arrays have keys of some lengths only. */
static bool is_too_wide(const struct generation *g, unsigned int length)
{
	return edit_nearest6(g, length) != length || (g->gate6 && length < 16);
}

static bool is_too_long(const struct generation *g, unsigned int length)
{
	return !g->rungs || g->rung[0].length < length;
}

/* Who bans takes another ban, or another image; who brings an image takes that ban back, or another image. */
static int because_no_place(const struct generation *g, const struct beside *b, struct addr first, unsigned int length)
{
	bool six = first.family == 6, wide = six && is_too_wide(g, length), fine = six && is_too_long(g, length);
	const char *another = wide || fine	  ? "made of a list with such a prefix"
			      : six && g->shadows ? "made without shadow lists"
						  : "made with more --headroom";
	char text[PREFIX_TEXT_MAX], instead[64] = "";

	prefix_text(text, first, (int)length);
	if (b->arrives)
		return because(-EXFULL,
			       "the image has no place for the ban of %s, which is in force here: load one that was %s,"
			       " or first take back what 'xdp-bloom bans %s' shows (del)",
			       text, another, text);
	if (wide)
		snprintf(instead, sizeof(instead), "ban narrower prefixes, or ");
	else if (fine && g->rungs)
		snprintf(instead, sizeof(instead), "ban the /%u around it, or ", (unsigned int)g->rung[0].length);
	return because(
		-EXFULL,
		"the image in force has no place for the ban of %s: %sload an image that was %s, and add it then", text,
		instead, another);
}

static int has_no_place(const struct generation *g, const struct beside *b, int err, struct addr first,
			unsigned int length)
{
	char text[PREFIX_TEXT_MAX];

	if (!err_is(err, EAGAIN))
		return err;
	if (!b->leave_out)
		return because_no_place(g, b, first, length);
	warn("%s has no place for the ban of %s: it is not banned", whose(b), prefix_text(text, first, (int)length));
	return 0;
}

static int try_prefix(struct generation *g, struct addr first, unsigned int length, uint8_t label, bool *full)
{
	struct ranges one = RANGES_EMPTY;
	struct edit e = { .g = g };
	ip6 key = first.num;
	int err;

	/* A ban without an end has it, the image's or one of those before, and an end must not take it away. */
	if (label == LABEL_ENDS && first.family == 6 && edit_wider6(&e, &key, length + 1) >= 0)
		return 0;
	err = ranges_add_prefix(&one, first, length) ?: ranges_finish(&one) ?: edit_one(g, &one, label, full);
	ranges_free(&one);
	return err;
}

/* Nor from a part of it: then the rest is banned, key by key. */
static int try_keys6(struct generation *g, struct addr first, unsigned int length, uint8_t label, bool *full)
{
	unsigned int rung = (unsigned int)g->rungs, key;
	int err = 0;

	while (rung && g->rung[rung - 1].length <= length)
		rung--;
	key = rung ? (unsigned int)g->rung[rung - 1].length : 0;
	if (key <= length || key - length > EDIT_SPAN6 || is_too_wide(g, length))
		return -EAGAIN;
	for (ip6 i = 0; i >> (key - length) == 0 && !err; i++)
		err = try_prefix(g, (struct addr){ first.num + (i << (128 - key)), 6 }, key, label, full);
	return err;
}

static int ban_prefix(struct generation *g, const struct beside *b, struct addr first, unsigned int length,
		      uint8_t label)
{
	bool full = false;
	int err = try_prefix(g, first, length, label, &full);

	if (err_is(err, EAGAIN) && !full && label == LABEL_ENDS && first.family == 6)
		err = try_keys6(g, first, length, label, &full);
	return has_no_place(g, b, err, first, length);
}

/*
 * Bans that came one by one may be a wider prefix together: one too far from the keys that it becomes is banned in
 * pieces that are not.
 */
static int ban_prefix6(struct generation *g, const struct beside *b, ip6 first, unsigned int length, uint8_t label)
{
	unsigned int near = edit_nearest6(g, length), pieces = near - length;
	int err = 0;

	if (pieces > EDIT_SPAN6)
		return ban_prefix(g, b, (struct addr){ first, 6 }, length, label);
	for (ip6 i = 0; i >> pieces == 0 && !err; i++)
		err = ban_prefix(g, b, (struct addr){ first | (near ? i << (128 - near) : 0), 6 }, near, label);
	return err;
}

static int ban_each(struct generation *g, const struct beside *b, const struct ranges *set, uint8_t label, bool four)
{
	int err = 0;

	for (size_t i = 0; four && i < set->n4 && !err; i++)
		for (struct cut4 cut = { .lo = set->v4[i].lo, .hi = set->v4[i].hi }; !err && range4_next_prefix(&cut);)
			err = ban_prefix(g, b, (struct addr){ cut.first, 4 }, cut.length, label);
	for (size_t i = 0; i < set->n6 && !err; i++)
		for (struct cut6 cut = { .lo = set->v6[i].lo, .hi = set->v6[i].hi }; !err && range6_next_prefix(&cut);)
			err = ban_prefix6(g, b, cut.first, cut.length, label);
	return err;
}

static int allow6(struct generation *g, const struct beside *b)
{
	int err = 0;

	for (size_t i = 0; i < b->allowed.n6 && !err; i++) {
		struct cut6 cut = { .lo = b->allowed.v6[i].lo, .hi = b->allowed.v6[i].hi };

		while (!err && range6_next_prefix(&cut)) {
			char text[PREFIX_TEXT_MAX];
			struct edit e;

			edit_begin(&e, g);
			err = edit_allow6(&e, cut.first, cut.length);
			if (!err)
				edit_make(&e);
			edit_end(&e);
			if (err_is(err, EAGAIN))
				err = because(
					-EPERM,
					"%s bans more than %s with one key, or parts of it that it cannot name: allow"
					" it where the lists are, and load the image that is saved then%s",
					whose(b), prefix_text(text, (struct addr){ cut.first, 6 }, (int)cut.length),
					or_not(b));
		}
	}
	return err;
}

static int ban_in_copy(struct generation *g, const struct beside *b, bool four)
{
	struct ranges lasting = RANGES_EMPTY, ending = RANGES_EMPTY;
	int err = allow6(g, b) ?:
		  ranges_subtract(&lasting, &b->lasting, &b->allowed) ?:
		  ranges_subtract(&ending, &b->ending, &b->allowed) ?:
		  ban_each(g, b, &lasting, LABEL_LIVE, four) ?:
		  ban_each(g, b, &ending, LABEL_ENDS, four);

	ranges_free(&lasting);
	ranges_free(&ending);
	return err;
}

/* --- IPv4 with a roster: built again ------------------------------------------------------------------------------ */

/* As for lists: bans, live bans, those that end, and what is only counted. */
static int settle(struct owned *owned, const struct image *image, const struct beside *b, bool six)
{
	static struct ranges sets[LABELS];
	struct ranges live = RANGES_EMPTY, lasting = b->lasting, ending = b->ending, allowed = b->allowed;
	struct account accounts[LABELS + 2];
	struct list_info *lists = NULL;
	size_t n = 0, count = 0;
	int err = image_lists(image, &lists, &n) ?: image_sets4(image, sets);

	if (!six)
		lasting.n6 = ending.n6 = allowed.n6 = 0; /* loans */
	err = err ?: ranges_union(&live, &sets[LABEL_LIVE], &lasting);
	for (size_t i = 0; i < n && !err; i++)
		if (lists[i].kind == LIST_BAN)
			accounts[count++] = (struct account){ &sets[lists[i].label], lists[i].label };
	accounts[count++] = (struct account){ &live, LABEL_LIVE };
	if (ending.n4 || ending.n6)
		accounts[count++] = (struct account){ &ending, LABEL_ENDS };
	for (size_t i = 0; i < n && !err; i++)
		if (lists[i].kind == LIST_SHADOW)
			accounts[count++] = (struct account){ &sets[lists[i].label], lists[i].label };
	err = err ?: owned_settle(owned, accounts, count, &allowed);
	ranges_free(&live);
	image_sets_free(sets);
	free(lists);
	return err;
}

/* Without IPv6 nothing of the image's arrays is needed any more: it is built as lists are. */
static int build_all(struct generation *g, const struct image *image, const struct owned *owned,
		     const struct settings *settings, const struct build_how *how)
{
	struct generation planned = *g;
	int err = plan_generation(&planned, owned, settings);

	planned.number = g->number;
	planned.ends = g->ends;
	planned.shadows = image->g.shadows;
	memcpy(planned.shadow, image->g.shadow, sizeof(planned.shadow));
	*g = planned;
	return err ?: build_until_placed(g, owned, how);
}

/* The filter keeps its size, and the roster of IPv6 too: where its keys are is known, not what they are. */
static int plan_beside(struct generation *g, const struct image *image, const struct beside *b,
		       const struct owned *owned, const struct settings *settings)
{
	__u64 most = FILTER_MOST * image->g.capacity, keys;
	struct generation planned;
	struct counts n;
	int err;

	plan_count(&n, owned);
	err = plan_sizes(&planned, &n, settings);
	if (err)
		return err;
	g->gate4 = planned.gate4 || image->g.gate4;
	g->keys4 = g->gate4 ? n.hosts : planned.keys4;
	g->all24 = g->gate4 ? n.all24 : 0;
	g->minorities = g->gate4 ? (__u32)n.minorities : 0;
	g->gate4_label = n.label;
	g->gate4_labels = g->gate4 && n.labels_differ;
	g->roster4 = g->keys4 + g->minorities > 0;
	g->roster4_buckets = g->roster4 ? planned.roster4_buckets : 0;
	g->version = generation_version(g);
	g->capacity4 = g->roster4 ? planned.capacity4 : 0;
	keys = g->keys4 + g->keys6 + g->stale;
	if (keys > most && keys > image->g.keys4 + image->g.keys6)
		return because(-EXFULL,
			       "%s has room for %llu keys, and %s would be %llu: load one that was made with more"
			       " --headroom%s",
			       whose(b), (unsigned long long)most,
			       b->arrives ? "with the bans and exceptions beside it they" : "this",
			       (unsigned long long)keys, b->arrives ? ", or take bans back first" : "");
	if (keys + ROOM_MORE(keys) > g->capacity)
		g->capacity = keys + ROOM_MORE(keys) < most ? keys + ROOM_MORE(keys) : most;
	return fits(g, settings);
}

static int build_beside(struct generation *g, const struct image *image, const struct beside *b,
			const struct owned *owned, const struct settings *settings, struct build_how how)
{
	int err = plan_beside(g, image, b, owned, settings);

	how.given_seeds = true;
	err = err ?: build_until_placed(g, owned, &how);
	if (err)
		return err;
	for (__u64 i = 0; i < array_bytes(g, ARRAY_FILTER) / 8; i++)
		((__u64 *)g->filter)[i] |= ((const __u64 *)image->g.filter)[i];
	copy_array(g, &image->g, ARRAY_GATE6);
	copy_array(g, &image->g, ARRAY_ROSTER6);
	err = ban_in_copy(g, b, false);
	if (err)
		release(g, &how);
	return err;
}

static int build_exact(struct generation *g, const struct image *image, const struct beside *b,
		       const struct settings *given, const struct build_how *how)
{
	bool six = !image->g.rungs;
	struct settings settings = *given;
	struct owned owned = { 0 };
	int err = settle(&owned, image, b, six);

	settings.exact = settings.labels = true;
	if (!err)
		err = six ? build_all(g, image, &owned, &settings, how)
			  : build_beside(g, image, b, &owned, &settings, *how);
	if (err_is(err, EAGAIN))
		err = because(err, "no place was found for every key");
	if (!err && check_arrays(g, &owned)) {
		release(g, how);
		err = because(-EILSEQ, "a key was not found in the new generation: it does not go live; please report"
				       " this");
	}
	owned_free(&owned);
	return err;
}

/* --- Without a roster --------------------------------------------------------------------------------------------- */

/* The bits of a filter are nobody's: what hits an allowed address stays. */
static int build_bits(struct generation *g, const struct image *image, const struct beside *b,
		      const struct settings *settings, const struct build_how *how)
{
	int err;

	/* Whole networks may be on another account than those of the image. */
	g->gate4_labels = g->gate4;
	err = fits(g, settings) ?: (how->take ? how->take(how->arg, g) : arrays_take(g));
	if (err)
		return err;
	for (enum array a = 0; a < ARRAYS; a++)
		copy_array(g, &image->g, a);
	if (g->gate4_labels && !image->g.gate4_labels)
		memset((void *)(uintptr_t)g->gate4_labels, (int)image->g.gate4_label,
		       array_bytes(g, ARRAY_GATE4_LABELS));
	err = ban_in_copy(g, b, true) ?: check_allowed(g, &b->allowed);
	if (err_is(err, EAGAIN))
		err = because(-EPERM,
			      "%s has no roster, and its filter drops some of what is allowed: allow it where the lists"
			      " are, and load the image that is saved then%s",
			      whose(b), or_not(b));
	if (err)
		release(g, how);
	return err;
}

int beside_build(struct generation *g, const struct image *image, const struct beside *b,
		 const struct settings *settings, const struct build_how *how)
{
	int err;

	start(g, image);
	err = image_is_exact(image) ? build_exact(g, image, b, settings, how) : build_bits(g, image, b, settings, how);
	g->edits = 0; /* those were made before it is in force */
	return err;
}

/* Beyond so many addresses it is not worth asking. */
#define ASKED_MOST (1u << 16)

bool beside_is_live(const struct image *image, const struct ranges *set)
{
	const struct generation *g = &image->g;
	__u64 asked = 0;

	for (size_t i = 0; i < set->n4; i++)
		for (__u64 addr = set->v4[i].lo; addr <= set->v4[i].hi; addr++) {
			__u32 answer;

			if (g->gate4 && gate4_test((const __u8 *)g->gate4, (__u32)addr) == GATE4_CLEAR) {
				addr |= 255;
				continue;
			}
			answer = decide_ipv4(g, (__u32)addr);
			if (++asked > ASKED_MOST || (answer & ANSWER_DROP && ANSWER_LABEL(answer) == LABEL_LIVE))
				return true;
		}
	for (size_t i = 0; i < set->n6; i++)
		for (struct cut6 cut = { .lo = set->v6[i].lo, .hi = set->v6[i].hi }; range6_next_prefix(&cut);)
			if (decide_ipv6(g, (__u64)(cut.first >> 64), (__u64)cut.first) & ANSWER_DROP)
				return true;
	return false;
}
