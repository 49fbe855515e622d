// SPDX-License-Identifier: GPL-2.0-only
/* Plans the steps of an edit. Wherever exactness is in doubt the answer is a rotation, which is always right. */
#include "filter/edit.h"

#include <errno.h>

#include "base/grow.h"
#include "bpf/decide.h"
#include "filter/arrays.h"
#include "filter/edit_internal.h"
#include "filter/keys.h"

/* Beyond so many a fresh build costs no more. */
#define STEPS_MAX (1u << 20)

/* Bits that removed keys leave in the filter let others through to the roster: beyond this a rotation is worth it. */
#define STALE_SHARE 0.1
#define STALE_MIN   1024

void edit_begin(struct edit *e, struct generation *g)
{
	*e = (struct edit){ .g = g, .wait = edit_can_wait() ? edit_wait : NULL };
}

void edit_end(struct edit *e)
{
	free(e->steps);
	free(e->taken);
	*e = (struct edit){ 0 };
}

/* Have so many keys been taken out that their bits in the filter are worth a rotation? */
static bool wants_rotation(const struct generation *g)
{
	return (double)g->stale > STALE_MIN + STALE_SHARE * (double)(g->keys4 + g->keys6);
}

int edit_step(struct edit *e, const struct step *step)
{
	if (e->n == STEPS_MAX)
		return -EAGAIN;
	if (!GROW(e->steps, e->n))
		return -ENOMEM;
	e->steps[e->n++] = *step;
	return 0;
}

/* Is there room for one more key of the family? */
static int one_more(struct edit *e, int family)
{
	const struct generation *g = e->g;
	__u64 keys4 = g->keys4 + e->new4, keys6 = g->keys6 + e->new6;

	e->full = keys4 + keys6 + g->stale >= g->capacity ||
		  (family == 4 && g->roster4 && keys4 + g->minorities >= g->capacity4) ||
		  (family == 6 && g->roster6 && keys6 >= g->capacity6);
	if (e->full)
		return -EAGAIN;
	++*(family == 4 ? &e->new4 : &e->new6);
	return 0;
}

/* The filter has all bits of the key already: most likely a removed key left them. */
static void note_swept(struct edit *e, __u32 answer)
{
	if (ANSWER_STAGE(answer) == STAGE_ROSTER && e->g->stale > e->swept)
		e->swept++;
}

/* It is banned, live, but until another time than it is to be from now on. */
static bool has_other_end(const struct edit *e, __u32 label)
{
	return label_is_live(e->g, label) && label != e->label;
}

static bool any_ends24(const struct generation *g, __u32 net24)
{
	for (__u32 host = 0; host < 256; host++)
		if (ANSWER_LABEL(decide_ipv4(g, net24 << 8 | host)) == LABEL_ENDS)
			return true;
	return false;
}

static int ban_host(void *arg, __u32 addr, __u8 label, bool filter)
{
	struct edit *e = arg;
	struct step step = { .kind = STEP_HOST, .key = addr, .label = label };
	__u32 answer = decide_shadow(e->g, decide_ipv4(e->g, addr));
	bool other_end = answer & ANSWER_DROP && has_other_end(e, ANSWER_LABEL(answer));
	int err;

	(void)filter;
	if (answer & ANSWER_DROP && !other_end)
		return 0;
	if (!e->g->keys4) /* the filter is not in the program */
		return -EAGAIN;
	if (answer & ANSWER_SHADOW || other_end) {
		step.kind = STEP_RELABEL;
		if (ANSWER_STAGE(answer) != STAGE_ROSTER || !place_find4(e->g, addr, &step))
			return -EAGAIN;
		return place_take(e, 4, step.bucket, step.slot) ?: edit_step(e, &step);
	}
	note_swept(e, answer);
	err = one_more(e, 4);
	if (!err && e->g->roster4)
		err = place_choose4(e, addr, &step);
	return err ? err : edit_step(e, &step);
}

static int ban_net24(void *arg, __u32 net24, enum gate4 state, __u8 label)
{
	struct edit *e = arg;
	const struct generation *g = e->g;
	enum gate4 now = (enum gate4)gate4_test((const __u8 *)g->gate4, net24 << 8);

	if (state != GATE4_ALL) /* its hosts come one by one */
		return 0;
	/* A shadow's label here, or on a host in it, would let packets pass. */
	if (now != GATE4_CLEAR && g->shadows)
		return -EAGAIN;
	/* A host that ends would do so in what goes on. */
	if (g->ends && label != LABEL_ENDS && now != GATE4_CLEAR && any_ends24(g, net24))
		return -EAGAIN;
	if (now == GATE4_ALL || now == GATE4_MIXED)
		return has_other_end(e, g->gate4_labels ? ((const __u8 *)g->gate4_labels)[net24] : g->gate4_label)
			       ? -EAGAIN
			       : 0;
	if (!g->gate4_labels && g->gate4_label != label)
		return -EAGAIN;
	e->net24s++;
	return edit_step(e, &(struct step){ .kind = STEP_NET24,
					    .key = net24,
					    .label = label,
					    /* Hosts in the roster stay on their accounts. */
					    .gate = now == GATE4_SOME && g->roster4 ? GATE4_MIXED : GATE4_ALL });
}

static int ban_piece(void *arg, unsigned int rung, ip6 first, size_t entry)
{
	struct edit *e = arg;
	struct step step = { .kind = STEP_KEY6, .rung = (__u8)rung, .key = first, .label = e->label }, found;
	__u8 label;
	int err;

	(void)entry;
	if (e->g->roster6 && place_find6(e->g, rung, first, &found, &label))
		return has_other_end(e, label) ? -EAGAIN : 0;
	err = one_more(e, 6);
	if (!err && e->g->roster6)
		err = place_choose6(e, first, &step);
	return err ? err : edit_step(e, &step);
}

unsigned int edit_nearest6(const struct generation *g, unsigned int length)
{
	unsigned int rung = (unsigned int)g->rungs;

	while (rung && g->rung[rung - 1].length < length)
		rung--;
	return rung && g->rung[rung - 1].length - length > EDIT_SPAN6 ? g->rung[rung - 1].length - EDIT_SPAN6 : length;
}

/* Does one key drop the whole prefix? */
static bool is_covered(const struct generation *g, ip6 first, unsigned int length)
{
	__u32 answer = decide_ipv6(g, (__u64)(first >> 64), (__u64)first);

	return answer & ANSWER_DROP && g->rung[ANSWER_RUNG(answer)].length <= length;
}

/* Which key that drops the whole prefix decides of it? Its first address may have a longer one of its own. */
static bool find_around6(const struct generation *g, ip6 first, unsigned int length, __u8 *label)
{
	struct step at;

	for (unsigned int rung = 0; rung < g->rungs && g->roster6; rung++)
		if (g->rung[rung].length <= length &&
		    place_find6(g, rung, first & ((ip6)g->rung[rung].mask_hi << 64 | g->rung[rung].mask_lo), &at,
				label))
			return true;
	*label = (__u8)ANSWER_LABEL(decide_ipv6(g, (__u64)(first >> 64), (__u64)first));
	return !g->roster6 && is_covered(g, first, length);
}

static int ban_prefix6(struct edit *e, ip6 first, unsigned int length)
{
	const struct generation *g = e->g;
	struct range6 range = { first, first | addr_mask(6, length) };
	struct owned one = { .v6 = &range, .n6 = 1 };
	unsigned int rung = (unsigned int)g->rungs;
	__u8 label;

	if (find_around6(g, first, length, &label))
		return has_other_end(e, label) ? -EAGAIN : 0;
	if (!rung || g->rung[0].length < length || edit_nearest6(g, length) != length || !g->keys6)
		return -EAGAIN;
	if (g->gate6 && length < 16)
		return -EAGAIN; /* too many /32 */
	return keys_ipv6(g, &one, ban_piece, e);
}

int edit_ban(struct edit *e, const struct owned *wanted)
{
	static const struct keys_ipv4_calls calls = { ban_host, ban_net24 };
	int err;

	e->label = wanted->n4 ? wanted->label4[0] : wanted->n6 ? wanted->label6[0] : LABEL_LIVE;
	err = keys_ipv4(e->g, wanted, &calls, e);

	/* A key of a shadow list within the prefix would answer for it, and pass. */
	if (!err && wanted->n6 && e->g->shadows)
		err = -EAGAIN;
	for (size_t i = 0; i < wanted->n6 && !err; i++) {
		ip6 span = wanted->v6[i].lo ^ wanted->v6[i].hi;
		unsigned int length = 128;

		for (; span; span >>= 1)
			length--;
		err = ban_prefix6(e, wanted->v6[i].lo, length);
	}
	return err;
}

static bool is_going(const struct edit *e, __u32 label)
{
	return e->list ? label == e->list : label_is_live(e->g, label);
}

static int unban_host(struct edit *e, __u32 addr)
{
	struct step step = { .kind = STEP_CLEAR4, .key = addr };
	__u32 answer = decide_ipv4(e->g, addr);

	if (!(answer & ANSWER_DROP) || !is_going(e, ANSWER_LABEL(answer)))
		return answer & ANSWER_DROP && e->list ? -EAGAIN : 0;
	/* Where the gate or a shadow list has it too, the arrays do not say on which account it is afterwards. */
	if (ANSWER_STAGE(answer) != STAGE_ROSTER || e->g->shadows || !place_find4(e->g, addr, &step) ||
	    (e->g->gate4 && gate4_test((const __u8 *)e->g->gate4, addr) != GATE4_SOME))
		return -EAGAIN;
	e->gone4++;
	return place_take(e, 4, step.bucket, step.slot) ?: edit_step(e, &step);
}

int edit_unban4(struct edit *e, const struct ranges *gone)
{
	const struct generation *g = e->g;
	__u64 asked = 0;

	if (gone->n4 && !g->roster4 && (g->gate4 || g->keys4))
		return -EAGAIN;
	for (size_t i = 0; i < gone->n4; i++) {
		for (__u64 addr = gone->v4[i].lo; addr <= gone->v4[i].hi; addr++) {
			int err;

			if (g->gate4 && gate4_test((const __u8 *)g->gate4, (__u32)addr) == GATE4_CLEAR) {
				addr |= 255;
				continue;
			}
			err = ++asked > STEPS_MAX ? -EAGAIN : unban_host(e, (__u32)addr);
			if (err)
				return err;
		}
	}
	return 0;
}

static unsigned int rung_of(const struct generation *g, unsigned int length)
{
	unsigned int rung = 0;

	while (rung < g->rungs && g->rung[rung].length != length)
		rung++;
	return rung;
}

bool edit_has_rung6(const struct edit *e, unsigned int length)
{
	return rung_of(e->g, length) < e->g->rungs;
}

bool edit_lasts6(const struct edit *e, ip6 first, unsigned int length)
{
	const struct generation *g = e->g;
	unsigned int rung = rung_of(g, length);
	struct step at;
	__u8 label;

	return rung < g->rungs && g->roster6 && place_find6(g, rung, first, &at, &label) && label == LABEL_LIVE;
}

int edit_wider6(const struct edit *e, ip6 *first, unsigned int length)
{
	const struct generation *g = e->g;
	struct step at;
	__u8 label;

	for (unsigned int rung = 0; rung < g->rungs && g->roster6; rung++) {
		ip6 key = *first & ((ip6)g->rung[rung].mask_hi << 64 | g->rung[rung].mask_lo);

		if (g->rung[rung].length >= length || !place_find6(g, rung, key, &at, &label) ||
		    !label_is_live(g, label))
			continue;
		*first = key;
		return (int)g->rung[rung].length;
	}
	return -ENOENT;
}

/*
 * A key of the prefix's own length is what a ban left when it was put in; a build may have put it into a wider key, or
 * cut it. So a prefix that other bans hold has nothing to take out unless its own key is there, and one that none
 * holds is gone with its own key unless a wider one is there.
 */
int edit_unban6(struct edit *e, ip6 first, unsigned int length, bool covered)
{
	const struct generation *g = e->g;
	struct step step = { .kind = STEP_CLEAR6, .key = first };
	ip6 wider = first;
	unsigned int rung = rung_of(g, length);
	__u8 label = LABEL_LIVE;
	bool found;

	if (!g->rungs)
		return 0;
	if (rung == g->rungs || !g->roster6 || g->shadows)
		return -EAGAIN;
	found = place_find6(g, rung, first, &step, &label);
	if (covered)
		return found && label_is_live(g, label) ? -EAGAIN : 0;
	if (edit_wider6(e, &wider, length) >= 0)
		return -EAGAIN;
	if (!found || !label_is_live(g, label))
		return is_covered(g, first, length) ? 0 : -EAGAIN;
	/* A batch may take the same key out twice. */
	if (place_is_taken(e, 6, step.bucket, step.slot))
		return 0;
	e->gone6++;
	return place_take(e, 6, step.bucket, step.slot) ?: edit_step(e, &step);
}

/* Only where it went in as a key of its own; one that a build has made of neighbours is not taken apart. */
int edit_unlist6(struct edit *e, ip6 first, unsigned int length)
{
	const struct generation *g = e->g;
	struct step step = { .kind = STEP_CLEAR6, .key = first }, wider;
	unsigned int rung = rung_of(g, length);
	__u8 label = LABEL_LIVE;

	if (rung == g->rungs || !g->roster6 || g->shadows || !place_find6(g, rung, first, &step, &label) ||
	    label != e->list || place_is_taken(e, 6, step.bucket, step.slot))
		return -EAGAIN;
	for (unsigned int i = 0; i < g->rungs; i++)
		if (i != rung &&
		    (g->rung[i].length > length ||
		     place_find6(g, i, first & ((ip6)g->rung[i].mask_hi << 64 | g->rung[i].mask_lo), &wider, &label)))
			return -EAGAIN;
	e->gone6++;
	return place_take(e, 6, step.bucket, step.slot) ?: edit_step(e, &step);
}

/* No more than so many keys of a rung are asked for. */
#define ALLOWED_BITS 16

/* Has the gate no key of the rung in the whole /32? */
static bool gate6_is_shut(const struct generation *g, unsigned int rung, ip6 first)
{
	__u64 at = gate6_index(g->gate6_add, g->gate6_mul, g->gate6_log2, (__u64)(first >> 96));

	return g->gate6 && !(((const __u8 *)g->gate6)[at] >> rung & 1);
}

static int clear_key6(struct edit *e, unsigned int rung, ip6 first)
{
	struct step step = { .kind = STEP_CLEAR6, .key = first };
	__u8 label;

	if (!place_find6(e->g, rung, first, &step, &label))
		return 0;
	e->gone6++;
	return place_take(e, 6, step.bucket, step.slot) ?: edit_step(e, &step);
}

int edit_allow6(struct edit *e, ip6 first, unsigned int length)
{
	const struct generation *g = e->g;
	int err = 0;

	for (unsigned int rung = 0; rung < g->rungs && g->roster6 && !err; rung++) {
		const struct rung *r = &g->rung[rung];
		unsigned int bits = r->length > length ? (unsigned int)r->length - length : 0;
		struct step at;
		__u8 label;

		if (r->length < length) {
			ip6 key = first & ((ip6)r->mask_hi << 64 | r->mask_lo);

			err = place_find6(g, rung, key, &at, &label) ? -EAGAIN : 0;
			continue;
		}
		if (length >= 32 && gate6_is_shut(g, rung, first))
			continue;
		if (bits > ALLOWED_BITS)
			return -EAGAIN;
		for (ip6 i = 0; i >> bits == 0 && !err; i++)
			err = clear_key6(e, rung, bits ? first + (i << (128 - r->length)) : first);
	}
	return err;
}

/* A stage that no key is left for should not be in the program. */
int edit_worthwhile(const struct edit *e)
{
	const struct generation *g = e->g;
	struct generation after = *g;

	after.keys4 += e->new4 - e->gone4;
	after.keys6 += e->new6 - e->gone6;
	after.stale += e->gone4 + e->gone6 - e->swept;
	return (g->keys4 && !after.keys4) || (g->keys6 && !after.keys6) || wants_rotation(&after) ? -EAGAIN : 0;
}
