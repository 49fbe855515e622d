// SPDX-License-Identifier: GPL-2.0-only
#include "change/live_bans.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/grow.h"
#include "change/agreement.h"
#include "change/apply.h"
#include "filter/edit.h"
#include "state/events.h"
#include "kernel/generation.h"
#include "kernel/live.h"
#include "base/log.h"
#include "sets/owned.h"
#include "state/settings.h"
#include "state/state.h"
#include "state/bans.h"

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
	ranges_free(&t->allowed);
	ranges_free(&t->banned);
	ranges_free(&t->held);
	ranges_free(&t->gone);
	free(t->v6);
	*t = (struct touched){ 0 };
}

int touched_divide(struct touched *t, struct state *state)
{
	struct ranges open = RANGES_EMPTY;
	int err = ranges_finish(&t->set);

	if (err || (!t->set.n4 && !t->set.n6))
		return err;
	err = state_allowed(state, &t->allowed) ?:
	      state_bans_set(state, time(NULL), &t->set, &t->banned) ?:
	      ranges_subtract(&open, &t->set, &t->allowed) ?:
	      ranges_intersect(&t->held, &open, &t->banned) ?:
	      ranges_subtract(&t->gone, &open, &t->banned);
	ranges_free(&open);
	return err;
}

static bool holds(const struct ranges *set, struct addr first, unsigned int length)
{
	int covering = ranges_covering(set, first);

	return covering >= 0 && covering <= (int)length;
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
		if (!err && ban_in_force(&ban, time(NULL)))
			continue;
		if (err && !err_is(err, ENOENT))
			break;
		if (holds(&t->gone, first, length))
			err = edit_unban6(e, first.num, length, false);
		else if (holds(&t->banned, first, length) && !ranges_touch(&t->allowed, first, length))
			err = edit_unban6(e, first.num, length, true);
		else
			err = -EAGAIN;
	}
	return err;
}

static int plan_edit(struct edit *e, struct state *state, const struct touched *t)
{
	struct account live = { .label = LABEL_LIVE, .banned = &t->held };
	struct owned wanted = { 0 };
	int err = 0;

	/* Without a roster the filter might hit allowed addresses. */
	if ((t->allowed.n4 || t->allowed.n6) && !settings_read(state).exact)
		err = -EAGAIN;
	err = err ?:
	      edit_unban4(e, &t->gone) ?:
	      unban6(e, state, t) ?:
	      owned_settle(&wanted, &live, 1, &t->allowed) ?:
	      edit_ban(e, &wanted);
	owned_free(&wanted);
	return err;
}

/* -EAGAIN: a new generation is needed; *full: because there is no room. */
static int edit_in_place(struct state *state, struct live *live, const struct touched *t, bool *full)
{
	struct candidate c;
	struct edit e = { 0 };
	int err;

	if (agreement(state, &live->g) != AGREED || live_map(live, &c, true))
		return -EAGAIN;
	edit_begin(&e, &c.g);
	err = plan_edit(&e, state, t) ?: edit_worthwhile(&e);
	if (!err)
		edit_bring_in(&e);
	if (live_map_failed(&c))
		err = -EAGAIN; /* a new generation is filled otherwise */
	*full = e.full;
	if (!err && e.n)
		err = state_set(state, SETTING_EDITS, (double)(c.g.edits + 1));
	/* The state first: if we are killed in between, the next command sees that the kernel is behind. */
	err = err ?: state_commit(state);
	if (!err && e.n) {
		edit_make(&e);
		if (live_note(live, &c.g))
			note("the generation's description was not written; the next command rebuilds it");
	}
	edit_end(&e);
	kernel_release(&c);
	return err;
}

int bans_into_force(struct state *state, struct live *live, const struct touched *t)
{
	bool full = false;
	int err;

	if (!t->set.n4 && !t->set.n6)
		return apply_if_needed(state, live);
	err = edit_in_place(state, live, t, &full);
	if (!err_is(err, EAGAIN))
		return err;
	err = apply(state, live);
	if (!err && full)
		event(live->context, (struct event){ EVENT_CAPACITY, .generation = live->g.number },
		      "there was no room for another ban; now there is, for %llu keys",
		      (unsigned long long)live->g.capacity);
	return err;
}
