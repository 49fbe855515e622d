// SPDX-License-Identifier: GPL-2.0-only
#include "change/catch_up.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/errand.h"
#include "change/agreement.h"
#include "change/apply.h"
#include "change/behind.h"
#include "change/guard_needs.h"
#include "change/live_bans.h"
#include "change/revert_timer.h"
#include "change/stepped_back.h"
#include "kernel/generation.h"
#include "kernel/counters.h"
#include "kernel/dispatcher_refresh.h"
#include "kernel/live.h"
#include "state/bans.h"
#include "state/events.h"
#include "state/failed.h"
#include "state/kept_image.h"
#include "state/state.h"

static const char *why(const struct pending *one)
{
	return one->deadline == PENDING_IN_PROGRESS ? "attaching it was cut short" : "was not confirmed in time";
}

/* An interface is detached before the state forgets it. A list goes back with the next generation. */
static bool can_go(const struct context *context, const struct pending *one)
{
	int err = one->kind == PENDING_INTERFACE ? attach_take_back(context, one->name) : 0;

	if (err)
		warn("%s: %s, and cannot go back: %s", one->name, why(one), reason(err));
	return !err;
}

struct late {
	bool behind; /* a commit never reached the kernel */
	bool waits;  /* the filter is on trial, and its time is not over */
	struct pending *overdue;
	size_t overdue_n, expired, mended;
	char first_expired[PREFIX_TEXT_MAX];
	struct touched touched;
};

/* Else the kernel would go back to nothing, and let everything pass. What cannot be read now is not gone. */
static int end_trials(struct state *state, const struct live *live)
{
	bool nothing = err_is(live->err, ENOENT) && !live->program && live_is_gone(state, live);
	__u64 until = 0;
	int err = nothing ? trial_until(state, &until) : 0;

	if (err || !until)
		return err;
	return state_pending_over(state) ?: state_commit(state) ?: state_again(state);
}

static int undo_overdue(struct late *l, struct state *state, const struct context *context, int64_t at_least)
{
	size_t pending_n;
	int err = state_pending(state, &l->overdue, &pending_n);

	for (size_t i = 0; i < pending_n && !err; i++) {
		if (pending_left(&l->overdue[i], at_least) || !can_go(context, &l->overdue[i])) {
			l->waits = l->waits || l->overdue[i].kind != PENDING_INTERFACE;
			continue;
		}
		l->overdue[l->overdue_n] = l->overdue[i];
		err = state_pending_undo(state, &l->overdue[l->overdue_n++]);
	}
	return err;
}

static int expire(struct late *l, struct state *state)
{
	struct ban *bans;
	int err = state_bans_expire(state, time(NULL), &bans, &l->expired);

	for (size_t i = 0; i < l->expired && !err; i++)
		err = touched_add(&l->touched, bans[i].first, bans[i].length);
	err = err ?: behind_expired(state, bans, l->expired, &l->touched);
	if (!err && l->expired)
		prefix_text(l->first_expired, bans[0].first, (int)bans[0].length);
	free(bans);
	return err;
}

/* A need that came meanwhile was let through; what goes back is not refused for it. */
static int say_whom_it_bans(struct state *state, const struct live *live)
{
	/* For now, until that is over. */
	struct guard guard = {
		.spare = true, .tells = true, .afresh = true, .until = time(NULL), .fixed = image_kept(state)
	};
	int err = guard_in_force(&guard, state, live);

	if (err)
		note("what this machine needs was not looked at: %s", reason(err));
	return 0;
}

static int into_force(struct late *l, struct state *state, struct live *live)
{
	struct guard guard = { .again = true };
	bool build = l->behind;

	/* An interface needs no new generation, for which there may be no memory. */
	for (size_t i = 0; i < l->overdue_n; i++)
		build = build || l->overdue[i].kind != PENDING_INTERFACE;
	if (build)
		return apply_with(state, live, &(struct apply_options){ .guard = &guard, .reverting = l->overdue_n })
			       ?: l->overdue_n ? say_whom_it_bans(state, live)
					       : 0;
	if (!l->overdue_n && !l->expired && !l->mended)
		return 0;
	return touched_divide(&l->touched, state) ?: bans_into_force(state, live, &l->touched, &guard);
}

static void has_gone_back(const struct live *live, const struct pending *one)
{
	warn("%s: %s and has gone back", one->name, why(one));
	event(live->context, (struct event){ EVENT_REVERTED, .generation = live->g.number }, "%s: %s", one->name,
	      why(one));
}

static void report(const struct late *l, const struct live *live, int err)
{
	struct event expired = { EVENT_EXPIRED, .generation = live->g.number };

	for (size_t i = 0; i < l->overdue_n; i++) {
		const struct pending *one = &l->overdue[i];

		if (err) {
			warn("%s: %s, and cannot go back: %s", one->name, why(one), reason(err));
			continue;
		}
		has_gone_back(live, one);
	}
	if (!err && l->expired == 1)
		event(live->context, expired, "the ban of %s", l->first_expired);
	else if (!err && l->expired)
		event(live->context, expired, "%zu bans, among them %s", l->expired, l->first_expired);
	if (!err && l->mended)
		event(live->context, (struct event){ EVENT_HEALED, .generation = live->g.number },
		      "%zu bans that an older version has changed, which knows no fleet", l->mended);
	if (err && !l->overdue_n)
		warn("what ran out, or was left half done, is still in force: %s", reason(err));
}

/* What a list dropped and what it would have dropped are different counts. Of one that is gone nothing was refused. */
static void count_anew(const struct late *l, struct state *state, const struct live *live)
{
	struct list_info list;

	for (size_t i = 0; i < l->overdue_n; i++) {
		int err = state_list_get(state, l->overdue[i].name, &list);

		if (l->overdue[i].kind == PENDING_LIST_KIND && !err)
			kernel_zero_label(live->context, list.label);
		if (l->overdue[i].kind == PENDING_LIST && err_is(err, ENOENT))
			list_succeeded(live->context, l->overdue[i].name);
	}
}

int catch_up(struct state **state, struct live *live, time_t at_least)
{
	struct late late = { .behind = agreement(*state, &live->g) == BEHIND };
	int err = end_trials(*state, live) ?: undo_overdue(&late, *state, live->context, at_least);

	/* Confirmed, and the command that did it was killed before it told the kernel. */
	if (!err && live->on_trial && !late.waits && !late.overdue_n) {
		err = change_keep(live);
		late.behind = agreement(*state, &live->g) == BEHIND;
	}
	kernel_sweep(live);
	attach_catch_up(live->context);
	/* What came back is judged by all that was said, also by what is over: with that the ban it made would stay. */
	err = err ?: stepped_back(*state, &late.touched, &late.mended) ?: expire(&late, *state);
	if (!err_is(err, EUCLEAN)) {
		err = err ?: into_force(&late, *state, live);
		if (errand.declined)
			goto out;
		report(&late, live, err);
		if (!err)
			count_anew(&late, *state, live);
		if (err || late.behind || late.overdue_n || late.expired || late.mended) {
			state_close(*state);
			err = state_open(state, live->context, true);
			live_look(live); /* for a moment we did not hold the lock */
		}
	}
out:
	free(late.overdue);
	touched_free(&late.touched);
	return err;
}

int overdue_undo(struct overdue *overdue, struct state *state, int64_t own_due)
{
	size_t waiting_n = 0;
	int err = state_pending(state, &overdue->at, &waiting_n);

	for (size_t i = 0; i < waiting_n && !err; i++) {
		const struct pending one = overdue->at[i];

		if (one.kind == PENDING_INTERFACE || pending_left(&one, 0) || (own_due && one.due == own_due))
			continue;
		overdue->at[overdue->n++] = one;
		err = state_pending_undo(state, &one);
	}
	return err;
}

int overdue_end(struct overdue *overdue, const struct live *live, int err)
{
	for (size_t i = 0; i < overdue->n && live && !err; i++)
		has_gone_back(live, &overdue->at[i]);
	if (overdue->n && err && !errand.declined)
		err = because(err, "%s was not confirmed in time, and with this cannot go back: %s",
			      overdue->at[0].name, reason(err));
	free(overdue->at);
	return err;
}
