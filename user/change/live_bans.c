// SPDX-License-Identifier: GPL-2.0-only
#include "change/live_bans.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/grow.h"
#include "change/apply.h"
#include "filter/edit.h"
#include "state/events.h"
#include "kernel/candidate.h"
#include "kernel/live.h"
#include "base/context.h"
#include "base/log.h"
#include "sets/owned.h"
#include "state/settings.h"
#include "state/state.h"
#include "state/bans.h"
#include "kernel/map_window.h"

int touched_add(struct touched *t, struct addr first, unsigned int length)
{
	if (first.family == 6) {
		if (!GROW(t->v6, t->n6))
			return -ENOMEM;
		t->v6[t->n6++] = (struct touched6){ first.num, length };
	}
	return ranges_add_prefix(&t->set, first, length);
}

void touched_free(struct touched *t)
{
	ranges_free(&t->set);
	free(t->v6);
	*t = (struct touched){ 0 };
}

/* What is touched, divided: held is banned by the state, gone by nobody; what is allowed is in neither. */
struct division {
	struct ranges allowed, banned, held, gone;
};

static void division_free(struct division *d)
{
	ranges_free(&d->allowed);
	ranges_free(&d->banned);
	ranges_free(&d->held);
	ranges_free(&d->gone);
}

static int divide(struct division *d, struct state *state, const struct ranges *touched)
{
	struct ranges open = RANGES_EMPTY;
	int err = state_allowed(state, &d->allowed);

	if (!err)
		err = state_bans_set(state, time(NULL), touched, &d->banned);
	if (!err)
		err = ranges_subtract(&open, touched, &d->allowed);
	if (!err)
		err = ranges_intersect(&d->held, &open, &d->banned);
	if (!err)
		err = ranges_subtract(&d->gone, &open, &d->banned);
	ranges_free(&open);
	return err;
}

static bool holds(const struct ranges *set, struct addr first, unsigned int length)
{
	int covering = ranges_covering(set, first);

	return covering >= 0 && covering <= (int)length;
}

/* IPv6 keys are of whole bans, so each ban that is gone is looked at as it was. */
static int unban6(struct edit *e, const struct division *d, struct state *state, const struct touched *t)
{
	int err = 0;

	for (size_t i = 0; i < t->n6 && !err; i++) {
		struct addr first = { t->v6[i].first, 6 };
		unsigned int length = t->v6[i].length;
		struct ban ban;

		err = state_ban_get(state, first, length, &ban);
		if (!err && ban_in_force(&ban, time(NULL)))
			continue;
		if (err && !err_is(err, ENOENT))
			break;
		if (holds(&d->gone, first, length))
			err = edit_unban6(e, first.num, length, false);
		else if (holds(&d->banned, first, length) && !ranges_touch(&d->allowed, first, length))
			err = edit_unban6(e, first.num, length, true);
		else
			err = -EAGAIN;
	}
	return err;
}

static int plan_edit(struct edit *e, struct state *state, const struct touched *t)
{
	struct account live = { .label = LABEL_LIVE };
	struct division d = { 0 };
	struct owned wanted = { 0 };
	int err = divide(&d, state, &t->set);

	/* The filter alone might hit what is allowed. */
	if (!err && (d.allowed.n4 || d.allowed.n6) && !settings_read(state).exact)
		err = -EAGAIN;
	if (!err)
		err = edit_unban4(e, &d.gone);
	if (!err)
		err = unban6(e, &d, state, t);
	live.banned = &d.held;
	if (!err)
		err = owned_settle(&wanted, &live, 1, &d.allowed);
	if (!err)
		err = edit_ban(e, &wanted);
	owned_free(&wanted);
	division_free(&d);
	return err;
}

/* -EAGAIN where only a new generation will do; *full: because there is no room. */
static int edit_in_place(struct state *state, const struct touched *t, bool *full)
{
	struct candidate live;
	struct live in_force;
	struct edit e = { 0 };
	int err = bans_agree(state) ? 0 : -EAGAIN;

	live_open(&in_force, context_ambient());
	if (!err && live_map(&in_force, &live, true))
		err = -EAGAIN;
	if (err) {
		live_close(&in_force);
		return err;
	}
	edit_begin(&e, &live.g);
	err = plan_edit(&e, state, t);
	if (!err)
		err = edit_settle(&e);
	if (!err)
		edit_bring_in(&e);
	if (window_failed())
		err = -EAGAIN; /* a new generation is filled otherwise */
	*full = e.full;
	if (!err && e.n)
		err = state_set(state, SETTING_EDITS, (double)(live.g.edits + 1));
	/* The state first: were we killed in between, the next command would see that the kernel lags behind. */
	if (!err)
		err = state_commit(state);
	if (!err && e.n) {
		edit_make(&e);
		if (live_note(&in_force, &live.g))
			note("the generation's description was not written; the next command builds it anew");
	}
	edit_end(&e);
	kernel_release(&live);
	live_close(&in_force);
	return err;
}

int bans_into_force(struct state *state, struct touched *t)
{
	int err = ranges_finish(&t->set);
	struct generation live;
	bool full = false;

	if (!err && !t->set.n4 && !t->set.n6)
		return apply_if_needed(state);
	if (!err)
		err = edit_in_place(state, t, &full);
	if (!err_is(err, EAGAIN))
		return err;
	err = apply(state);
	if (!err && full && !kernel_live(context_ambient(), &live))
		event((struct event){ EVENT_CAPACITY, .generation = live.number },
		      "there was no room for another ban; now there is, for %llu keys",
		      (unsigned long long)live.capacity);
	return err;
}

bool bans_agree(struct state *state)
{
	struct generation live;

	return !kernel_live(context_ambient(), &live) &&
	       (double)live.number == state_setting(state, SETTING_GENERATION, 0) &&
	       (double)live.edits == state_setting(state, SETTING_EDITS, 0);
}

/* The state is committed before the slot and the arrays are written: it may be ahead of the kernel, never behind. */
static bool is_lost(struct state *state, const struct generation *live)
{
	double number = state_setting(state, SETTING_GENERATION, 0);

	return (double)live->number > number ||
	       ((double)live->number == number && (double)live->edits > state_setting(state, SETTING_EDITS, 0));
}

int bans_known(struct state *state, const struct generation *live)
{
	if (!is_lost(state, live))
		return 0;
	return because(-ENODATA,
		       "%s does not know the filter that is in force: the wrong directory, or lost?"
		       " 'xdp-bloom flush' begins anew",
		       opt_state);
}

bool bans_behind(struct state *state)
{
	struct generation live;

	return !kernel_live(context_ambient(), &live) && !bans_agree(state) && !is_lost(state, &live);
}
