// SPDX-License-Identifier: GPL-2.0-only
#include "change/change.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/errand.h"
#include "base/grow.h"
#include "base/log.h"
#include "change/accounts_internal.h"
#include "change/attachments.h"
#include "change/catch_up.h"
#include "change/home.h"
#include "change/own_names.h"
#include "change/ports.h"
#include "kernel/counters.h"
#include "kernel/pins.h"
#include "kernel/root.h"
#include "kernel/scopes.h"
#include "state/failed.h"

void change_check(const struct context *context, bool words)
{
	if (context->check < (words ? CHECK_WORDS : CHECK_FILES))
		return;
	fflush(stdout);
	/* Not exit(): it would move the file position that we share with the process that forked us. */
	_exit(EXIT_DONE);
}

int change_begin_at(struct change **change, struct context *context, time_t at_least)
{
	struct change *c = *change = context->joined;
	int err;

	change_check(context, false);
	if (c) {
		c->line_waits = false;
		return 0;
	}
	/* Do not let SIGPIPE stop us half-way because nobody reads our output. */
	signal(SIGPIPE, SIG_IGN);
	c = *change = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->context = context;
	c->live.meta = -1;
	err = kernel_ready(context);
	/* Before we have the lock, somebody may take away what he has made, and did not use. */
	if (!err || err_is(err, ENOENT))
		err = state_open(&c->state, context, true);
	/* Whoever has the lock may be about to use what we have made. */
	if (err && !err_is(err, EBUSY))
		pins_leave(context);
	if (!err && !pins_are_there(context))
		err = kernel_ready(context);
	if (err)
		return err;
	live_open(&c->live, context);
	err = home_look(c);
	if (err)
		return err;
	err = catch_up(&c->state, &c->live, at_least);
	if (err || errand.declined)
		return err;
	attachments_complete(c);
	if (context->abroad)
		return 0;
	/* Where no service has seen that an interface came. */
	err = c->live.g.scoped ? kernel_scopes_follow(context) : 0;
	if (err)
		warn("%s", reason(err));
	return own_names_settle(context, c->state) ?: ports_settle(c);
}

int change_begin(struct change **change, struct context *context)
{
	return change_begin_at(change, context, 0);
}

int change_touch(struct change *change, struct addr first, unsigned int length)
{
	if (change->line_waits) {
		if (!GROW(change->waiting.at, change->waiting.n))
			return -ENOMEM;
		change->waiting.at[change->waiting.n++] = (struct prefix){ first, length };
	}
	return touched_add(&change->touched, first, length);
}

static bool is_joined(const struct change *change)
{
	return change == change->context->joined;
}

/* What a line of a batch is to do. */
static bool lasts(const struct change *change)
{
	return is_joined(change) && !change->line_waits;
}

/* The first generation after a reboot has all of the state in it: who builds it by force answers for that. */
static bool force_all(struct change *change, bool all)
{
	struct guard *guard = &change->guard;

	all = all || !change->live.g.number;
	guard->everything = guard->everything || all;
	guard->all_lasts = guard->all_lasts || (all && lasts(change));
	return lasts(change) ? guard->all_lasts : guard->everything;
}

static struct ranges *forced(struct change *change)
{
	return lasts(change) ? &change->guard.lasts : &change->guard.forced;
}

int change_force(struct change *change, const struct ranges *set)
{
	return force_all(change, !set) ? 0 : guard_force(forced(change), set);
}

int change_force_prefix(struct change *change, struct addr first, unsigned int length)
{
	return force_all(change, false) ? 0 : guard_force_prefix(forced(change), first, length);
}

void change_bans_less(struct change *change)
{
	change->guard.again = change->guard.again || (!change->live.g.number && !is_joined(change));
}

void change_zero(struct change *change, uint8_t label)
{
	change->zero[label] = true;
}

void change_zero_given(struct change *change, uint8_t label)
{
	/* A list that an earlier line unloaded stays in force until the last line. */
	if (is_joined(change))
		change_zero(change, label);
	else
		kernel_zero_label(change->context, label);
}

void change_succeeded(struct change *change, const char *list)
{
	if (!is_joined(change))
		list_succeeded(change->context, list);
	else if (GROW(change->succeeded, change->succeeded_n))
		snprintf(change->succeeded[change->succeeded_n++], LIST_NAME_MAX, "%s", list);
}

/* What was touched and does not wait. more: something else did, within what waits, and no edit can have it. */
static int touched_for_good(const struct change *change, struct touched *rest, bool *more)
{
	const struct prefixes *all = &change->touched.each, *waiting = &change->waiting;
	struct ranges wait = RANGES_EMPTY;
	int err = 0;

	for (size_t i = 0; i < waiting->n && !err; i++)
		err = ranges_add_prefix(&wait, waiting->at[i].first, waiting->at[i].length);
	err = err ?: ranges_finish(&wait);
	for (size_t i = 0, w = 0; i < all->n && !err; i++) {
		const struct prefix *p = &all->at[i];

		if (w < waiting->n && !prefix_order(p, &waiting->at[w]))
			w++;
		else if (ranges_touch(&wait, p->first, p->length))
			*more = true;
		else
			err = touched_add(rest, p->first, p->length);
	}
	ranges_free(&wait);
	return err ?: touched_divide(rest, change->state);
}

/* What does not wait itself; or not only until the kernel goes back, as it does with the first of all that waits. */
static void bring_into_before(struct change *change)
{
	bool more = !change->waits || change->lasts || change->last_due > (int64_t)change->live.trial.until;
	struct touched rest = { 0 };

	if (!change->waiting.n) {
		before_has_it(change->state, &change->live, &change->touched, &change->guard, more);
		return;
	}
	if (touched_for_good(change, &rest, &more)) {
		touched_free(&rest);
		more = true;
	}
	before_has_it(change->state, &change->live, &rest, &change->guard, more);
	touched_free(&rest);
}

/* What was on trial until then goes back with the first of all that waits. */
static void say_it_goes_early(const struct live *live, __u64 until)
{
	if (live->on_trial && live->trial.until < until)
		warn("what waited for confirmation before this, and for longer, goes back together with this, and is in"
		     " force again when the process that waits, the service or the next command has built it");
}

static int commit(struct change *change)
{
	struct overdue overdue = { 0 };
	__u64 until = change->live.trial.until;
	int err;

	change->line_waits = false;
	err = overdue_undo(&overdue, change->state, change->due) ?: account_judge_returned(change) ?:
		  accounts_put(change) ?: touched_divide(&change->touched, change->state);

	change->options.guard = &change->guard;
	change->options.reverting = overdue.n;
	if (!err && (change->build || overdue.n))
		err = (errand.here || change->options.again ? 0 : apply_goes_back(change->state, &change->live))
			      ?: apply_with(change->state, &change->live, &change->options);
	else if (!err)
		err = bans_into_force(change->state, &change->live, &change->touched, &change->guard);
	if (!err && change->build && !change->options.again && !change->options.dry_run) {
		bring_into_before(change);
		say_it_goes_early(&change->live, until);
	}
	err = overdue_end(&overdue, change->options.dry_run ? NULL : &change->live, err);
	for (unsigned int label = 0; label < LABELS && !err && !change->options.dry_run; label++)
		if (change->zero[label])
			kernel_zero_label(change->context, (uint8_t)label);
	if (!err && !change->options.dry_run)
		jail_made(change->context, &change->jail, change->live.g.number);
	if (!err)
		home_say(change->context);
	return err;
}

int change_commit(struct change *change, const struct apply_options *options)
{
	if (!options)
		return is_joined(change) ? 0 : commit(change);
	change->build = true;
	if (!is_joined(change)) {
		change->options = *options;
		return commit(change);
	}
	if (options->dry_run)
		return because(-EINVAL, "--dry-run does not go together with other commands");
	change->lasts |= !change->line_waits;
	change->options.narrow |= options->narrow;
	change->options.arrives |= options->arrives;
	change->options.discard_unknown |= options->discard_unknown;
	return options->before_commit ? options->before_commit(change->state, options->arg) : 0;
}

void change_end(struct change *change)
{
	if (!change || is_joined(change))
		return;
	if (change->ports_came && change->state && change->live.g.number)
		ports_attach(change);
	change->context->generation = change->live.g.number;
	if (change->state)
		pins_leave(change->context);
	state_close(change->state);
	live_close(&change->live);
	touched_free(&change->touched);
	prefixes_free(&change->waiting);
	guard_free(&change->guard);
	jail_free(&change->jail);
	accounts_free(&change->accounts);
	free(change->succeeded);
	free(change);
}

int change_join(struct context *context)
{
	struct change *change;
	int err = change_begin(&change, context);

	if (err)
		change_end(change);
	else
		context->joined = change;
	return err;
}

int change_join_end(struct context *context, int err, void (*made)(const struct change *change))
{
	struct change *change = context->joined;

	err = err ?: commit(change);
	for (size_t i = 0; i < change->succeeded_n && !err; i++)
		list_succeeded(context, change->succeeded[i]);
	if (!err)
		made(change);
	context->joined = NULL;
	change_end(change);
	return err;
}
