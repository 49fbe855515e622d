// SPDX-License-Identifier: GPL-2.0-only
#include "change/live_bans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/grow.h"
#include "change/agreement.h"
#include "change/apply.h"
#include "change/ends.h"
#include "change/guard_needs.h"
#include "change/own_addresses.h"
#include "filter/arrays.h"
#include "filter/edit.h"
#include "image/beside.h"
#include "image/image.h"
#include "state/events.h"
#include "kernel/generation.h"
#include "kernel/live.h"
#include "base/log.h"
#include "sets/owned.h"
#include "state/kept_image.h"
#include "state/settings.h"
#include "state/settle.h"
#include "state/state.h"
#include "state/bans.h"
#include "state/until.h"

#define FLOOD_LEAST 1024
#define FLOOD_PART  256

int touched_add(struct touched *t, struct addr first, unsigned int length)
{
	if (first.family == 6) {
		if (!GROW(t->v6, t->n6))
			return -ENOMEM;
		t->v6[t->n6++] = (struct touched6){ first.num, length };
	}
	if (!GROW(t->each.at, t->each.n))
		return -ENOMEM;
	t->each.at[t->each.n++] = (struct prefix){ first, length };
	return ranges_add_prefix(&t->set, first, length);
}

void touched_free(struct touched *t)
{
	ranges_free(&t->set);
	ranges_free(&t->allowed);
	ranges_free(&t->banned);
	ranges_free(&t->held);
	ranges_free(&t->gone);
	ranges_free(&t->ending);
	prefixes_free(&t->each);
	free(t->v6);
	*t = (struct touched){ 0 };
}

static int divide_held(struct touched *t, struct state *state, const struct ranges *lasting,
		       const struct ranges *ending)
{
	struct ranges either = RANGES_EMPTY;
	int err;

	t->ends = state_bans_ending_any(state) && settle_ends(state);
	if (!t->ends)
		return 0;
	err = ranges_intersect(&either, &t->held, ending) ?: ranges_subtract(&t->ending, &either, lasting);
	ranges_free(&either);
	return err;
}

int touched_divide(struct touched *t, struct state *state)
{
	struct ranges open = RANGES_EMPTY, lasting = RANGES_EMPTY, ending = RANGES_EMPTY;
	int err = ranges_finish(&t->set);

	if (err || (!t->set.n4 && !t->set.n6))
		return err;
	err = state_allowed(state, &t->allowed) ?:
	      state_bans_sets(state, time(NULL), &t->set, &lasting, &ending) ?:
	      ranges_union(&t->banned, &lasting, &ending) ?:
	      ranges_subtract(&open, &t->set, &t->allowed) ?:
	      ranges_intersect(&t->held, &open, &t->banned) ?:
	      ranges_subtract(&t->gone, &open, &t->banned) ?:
	      divide_held(t, state, &lasting, &ending);
	ranges_free(&open);
	ranges_free(&lasting);
	ranges_free(&ending);
	return err;
}

static bool holds(const struct ranges *set, struct addr first, unsigned int length)
{
	int covering = ranges_covering(set, first);

	return covering >= 0 && covering <= (int)length;
}

/*
 * A build may have made one key of two bans side by side. Once both are gone it must not stay behind in a ban that
 * holds them, and that takes out its own key only. 0: whatever wider key holds it goes with a ban that is in force.
 */
static int wider_keys_are_bans(const struct edit *e, struct state *state, struct addr first, unsigned int length)
{
	int64_t now = time(NULL);
	int wider;

	while ((wider = edit_wider6(e, &first.num, length)) >= 0) {
		struct ban ban;
		int err;

		length = (unsigned int)wider;
		err = state_ban_get(state, first, length, &ban);
		if (!err && ban_in_force(&ban, now))
			continue;
		/* One without a key of its own always takes a new generation. */
		if (!err || err_is(err, ENOENT))
			err = state_ban_around(state, first, length, now, &ban);
		if (err || edit_has_rung6(e, ban.length))
			return !err || err_is(err, ENOENT) ? -EAGAIN : err;
	}
	return 0;
}

/* It lasted, ends now, and so does more around it, which is put in as one: the key of its own would go on. */
static bool goes_on_within(const struct edit *e, const struct touched *t, struct addr first, unsigned int length)
{
	int covering = e->g->ends ? ranges_covering(&t->ending, first) : -1;

	return covering >= 0 && covering < (int)length && edit_lasts6(e, first.num, length);
}

/* An IPv6 key stands for a whole ban, so each ban that is gone is taken out as it was. */
static int unban6(struct edit *e, struct state *state, const struct touched *t)
{
	int err = 0;

	for (size_t i = 0; i < t->n6 && !err; i++) {
		struct addr first = { t->v6[i].first, 6 };
		unsigned int length = t->v6[i].length;
		struct ban ban;

		err = state_ban_get(state, first, length, &ban);
		if (!err && ban_in_force(&ban, time(NULL))) {
			err = goes_on_within(e, t, first, length) ? -EAGAIN : 0;
			continue;
		}
		if (err && !err_is(err, ENOENT))
			break;
		if (holds(&t->gone, first, length))
			err = edit_unban6(e, first.num, length, false);
		else if (holds(&t->banned, first, length) && !ranges_touch(&t->allowed, first, length))
			err = wider_keys_are_bans(e, state, first, length) ?: edit_unban6(e, first.num, length, true);
		else
			err = -EAGAIN;
	}
	return err;
}

static int ban_as(struct edit *e, const struct touched *t, const struct ranges *banned, uint8_t label)
{
	struct account live = { .label = label, .banned = banned };
	struct owned wanted = { 0 };
	int err = owned_settle(&wanted, &live, 1, &t->allowed) ?: edit_ban(e, &wanted);

	owned_free(&wanted);
	return err;
}

/* Of IPv6 the longest key decides: one that ends must not lie in what goes on. */
static int none_ends_within(struct state *state, const struct ranges *lasting)
{
	struct ban *bans = NULL;
	size_t n = 0;
	int err = lasting->n6 ? state_bans_ending(state, 0, lasting, &bans, &n) : 0;

	for (size_t i = 0; i < n && !err; i++)
		if (bans[i].first.family == 6)
			err = -EAGAIN;
	free(bans);
	return err;
}

/* Where the image in force has live bans of its own, the arrays do not tell them from those beside it. */
static int image_has(struct state *state, const struct touched *t)
{
	struct image image;
	int err;

	if (!image_kept(state) || (!t->gone.n4 && !t->gone.n6 && !t->ending.n4 && !t->ending.n6))
		return 0;
	if (image_kept_open(state, &image, false))
		return -EAGAIN;
	err = beside_is_live(&image, &t->gone) || beside_is_live(&image, &t->ending) ? -EAGAIN : 0;
	image_close(&image);
	return err;
}

/* What lists with a scope hold, or count: there an edit cannot say what is left when a ban goes, or comes. */
static int scopes_have(struct state *state, const struct ranges *these)
{
	struct list_info *lists = NULL;
	size_t n;
	int err = state_lists(state, &lists, &n);

	for (size_t i = 0; i < n && !err; i++) {
		struct ranges other, both;

		if (!list_counts(&lists[i]) || (lists[i].kind == LIST_BAN && !lists[i].scope[0]))
			continue;
		err = state_list_whole_set(state, &lists[i], &other);
		if (err)
			break;
		err = ranges_intersect(&both, &other, these) ?: both.n4 || both.n6 ? -EAGAIN : 0;
		ranges_free(&both);
		ranges_free(&other);
	}
	free(lists);
	return err;
}

static int plan_edit(struct edit *e, struct state *state, const struct touched *t)
{
	struct ranges lasting = RANGES_EMPTY;
	int err = e->g->scoped ? scopes_have(state, &t->set) : 0;

	/* A program without a clock does not get one by an edit. */
	if ((t->ending.n4 || t->ending.n6) && !e->g->ends)
		err = -EAGAIN;

	/* Without a roster the filter might hit allowed addresses. */
	if ((t->allowed.n4 || t->allowed.n6) &&
	    (!settings_read(state).exact || (e->g->filter && !e->g->roster4 && !e->g->roster6)))
		err = -EAGAIN;
	err = err ?:
	      image_has(state, t) ?:
	      edit_unban4(e, &t->gone) ?:
	      unban6(e, state, t) ?:
	      ranges_subtract(&lasting, &t->held, &t->ending) ?:
	      (e->g->ends ? none_ends_within(state, &lasting) : 0) ?:
	      ban_as(e, t, &lasting, LABEL_LIVE) ?:
	      ban_as(e, t, &t->ending, LABEL_ENDS);
	ranges_free(&lasting);
	return err;
}

/* Copies of the arrays that say yes or no; the labels do not matter. */
static int copy_arrays(struct generation *copy, const struct generation *g, void *copies[ARRAYS])
{
	*copy = *g;
	copy->gate4_labels = 0;
	for (enum array a = 0; a < ARRAYS; a++) {
		__u64 *at = generation_member(copy, array_kinds[a].member);
		size_t size = *at ? array_bytes(g, a) : 0;

		if (!size)
			continue;
		copies[a] = malloc(size);
		if (!copies[a])
			return -ENOMEM;
		memcpy(copies[a], (const void *)(uintptr_t)*at, size);
		*at = (uintptr_t)copies[a];
	}
	return 0;
}

/* Without a roster, new bits in the filter may hit by chance what this machine needs: then new seeds must be drawn. */
static int spares_needs(const struct edit *e, struct state *state, const struct ranges *held, const struct guard *guard)
{
	struct own_address *needs = NULL;
	struct generation after;
	void *copies[ARRAYS] = { 0 };
	struct edit made = *e;
	size_t n = 0;
	int err;

	if (e->g->roster4 || e->g->roster6 || !e->n)
		return 0;
	err = guard_all(guard, state, &needs, &n) ?: copy_arrays(&after, e->g, copies);
	if (!err) {
		made.g = &after;
		edit_make(&made);
	}
	for (size_t i = 0; i < n && !err; i++)
		if (ranges_covering(held, needs[i].addr) < 0 && !(guard_decide(e->g, needs[i].addr) & ANSWER_DROP) &&
		    guard_decide(&after, needs[i].addr) & ANSWER_DROP)
			err = -EAGAIN;
	for (enum array a = 0; a < ARRAYS; a++)
		free(copies[a]);
	free(needs);
	return err;
}

static int edit_before(struct state *state, struct live *before, const struct touched *t, const struct guard *guard,
		       const struct ends *ends)
{
	struct edit e = { 0 };
	struct candidate c;
	/* The state does not say any more what its lists with a scope hold. */
	int err = before->g.scoped ? -EAGAIN : live_map(before, &c, true);

	if (err)
		return err;
	edit_begin(&e, &c.g);
	err = plan_edit(&e, state, t) ?: spares_needs(&e, state, &t->held, guard);
	if (!err)
		edit_bring_in(&e);
	if (!err && c.ends >= 0)
		err = kernel_ends_put(c.ends, ends);
	if (!err && !live_map_failed(&c) && e.n) {
		edit_make(&e);
		err = live_note(before, &c.g);
	}
	edit_end(&e);
	kernel_release(&c);
	return err;
}

/* It bans what an exception lets through that waits too: no edit has that. What is not known counts as if it did. */
static bool bans_excepted(struct state *state, const struct touched *t)
{
	struct ranges waiting = RANGES_EMPTY, both = RANGES_EMPTY;
	int err = state_allowed_waiting(state, &waiting) ?: ranges_intersect(&both, &t->banned, &waiting);
	bool does = err || both.n4 || both.n6;

	ranges_free(&waiting);
	ranges_free(&both);
	return does;
}

/*
 * What the kernel goes back to by itself gets the same bans, as far as it has room for them: otherwise they would not
 * be dropped from the deadline on, until a command has taken the change back in the state. Has it not?
 */
static bool goes_without(struct state *state, const struct live *live, const struct touched *t,
			 const struct guard *guard, const struct ends *ends)
{
	struct live before;
	bool is;

	if (!live->on_trial || live->number != live->on_trial)
		return false;
	is = live_open_before(live, &before) || edit_before(state, &before, t, guard, ends) || bans_excepted(state, t);
	live_close(&before);
	return is;
}

static void say_it_goes_without(void)
{
	warn("what waits for confirmation goes back without this, which is in force again when the process that waits,"
	     " the service or the next command has built it");
}

static int plan_ends(struct ends *ends, struct state *state, const struct touched *t, int map)
{
	if (!state_bans_ending_fit(state, kernel_ends_room(map)))
		return -EAGAIN;
	return ends_read(ends, state, &t->set) ?: ends_drop(ends, &t->each);
}

int edit_commit(struct state *state, struct live *live, struct candidate *c, struct edit *e, const struct ends *ends)
{
	bool changes = e->n || ends->n;
	int err = changes ? state_set(state, SETTING_EDITS, (double)(c->g.edits + 1)) : 0;

	/* The state first: if we are killed in between, the next command sees that the kernel is behind. */
	err = err ?: state_commit(state);
	if (err || !changes)
		return err;
	err = kernel_ends_put(c->ends, ends);
	if (err)
		warn("%s: not all of these bans end by themselves; the service or the next command ends them",
		     reason(err));
	edit_make(e);
	if (!err && live_note(live, &c->g))
		note("the generation's description was not written; the next command rebuilds it");
	return 0;
}

/* -EAGAIN: a new generation is needed; *full: because there is no room. */
static int edit_in_place(struct state *state, struct live *live, const struct touched *t, struct guard *guard,
			 bool *full)
{
	struct candidate c;
	struct ends ends = { 0 };
	struct edit e = { 0 };
	bool asks;
	int err;

	if (agreement(state, &live->g) != AGREED || live_map(live, &c, true))
		return -EAGAIN;
	edit_begin(&e, &c.g);
	/* What waits may let through what it bans, and go back. */
	asks = t->held.n4 || t->held.n6 || state_pending_any(state, PENDING_LIST) > 0;
	err = (asks ? guard_set(guard, state, live, &t->held, false) : 0) ?:
	      guard_gone(state, &t->gone) ?:
	      plan_edit(&e, state, t) ?:
	      edit_worthwhile(&e) ?:
	      spares_needs(&e, state, &t->held, guard) ?:
	      (c.ends >= 0 ? plan_ends(&ends, state, t, c.ends) : 0);
	if (!err)
		edit_bring_in(&e);
	if (live_map_failed(&c))
		err = -EAGAIN; /* a new generation is filled otherwise */
	*full = e.full;
	err = err ?: edit_commit(state, live, &c, &e, &ends);
	if (!err && goes_without(state, live, t, guard, &ends))
		say_it_goes_without();
	edit_end(&e);
	ends_free(&ends);
	kernel_release(&c);
	return err;
}

void before_has_it(struct state *state, struct live *live, const struct touched *t, const struct guard *guard,
		   bool and_more)
{
	struct ends ends = { 0 };
	bool lacks = and_more;

	live_look(live);
	if (live->on_trial && (t->set.n4 || t->set.n6) && !ends_read(&ends, state, &t->set) &&
	    !ends_drop(&ends, &t->each))
		lacks = goes_without(state, live, t, guard, &ends) || lacks;
	if (live->on_trial && lacks)
		say_it_goes_without();
	ends_free(&ends);
}

/* So many at once, for which there was no room, that a tenth more of it would not last. */
static bool is_flood(const struct touched *t, const struct generation *g)
{
	return t->each.n >= FLOOD_LEAST && t->each.n >= (g->keys4 + g->keys6) / FLOOD_PART;
}

int bans_into_force(struct state *state, struct live *live, const struct touched *t, struct guard *guard)
{
	bool full = false;
	int err;

	if (!t->set.n4 && !t->set.n6)
		return apply_if_needed(state, live, guard);
	err = edit_in_place(state, live, t, guard, &full);
	if (!err_is(err, EAGAIN))
		return err;
	err = apply_with(state, live,
			 &(struct apply_options){ .guard = guard, .filling = full && is_flood(t, &live->g) });
	if (!err)
		before_has_it(state, live, t, guard, false);
	if (!err && full)
		event(live->context, (struct event){ EVENT_CAPACITY, .generation = live->g.number },
		      "there was no room for another ban; now there is, for %llu keys",
		      (unsigned long long)live->g.capacity);
	return err;
}
