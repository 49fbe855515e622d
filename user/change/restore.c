// SPDX-License-Identifier: GPL-2.0-only
#include "change/restore.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/label.h"
#include "base/lock.h"
#include "base/log.h"
#include "change/agreement.h"
#include "change/ahead.h"
#include "change/attachments.h"
#include "change/home.h"
#include "change/no_room.h"
#include "change/own_addresses.h"
#include "change/revert_timer.h"
#include "kernel/attach.h"
#include "kernel/root.h"
#include "state/reserve.h"
#include "state/settings.h"

static int restore_interfaces(struct change *change, size_t *missing)
{
	struct attachment *list;
	size_t n;
	int err = attachments_kept(change->state, &list, &n);

	for (size_t i = 0; i < n && !err; i++)
		*missing += !attachment_restore(change->context, &list[i]);
	free(list);
	return err;
}

static int restore_watch(const struct change *change)
{
	struct pending *pending;
	size_t n;
	int err = state_pending(change->state, &pending, &n);

	/* The service has its own timer. */
	if (!err && n && !lock_is_held(change->context->state, STATE_SERVICE_LOCK))
		err = revert_timer_start(change->context, 1);
	free(pending);
	return err;
}

/* When what waits takes it off again; 0: never. */
static int64_t goes_back(const struct interface_info *kept, const struct pending *pending, size_t n)
{
	int64_t deadline = 0;

	for (size_t i = 0; i < n; i++)
		if (pending[i].kind == PENDING_INTERFACE && label_is(pending[i].name, kept->name, kept->match))
			deadline = pending[i].deadline;
	return deadline;
}

/* Does it begin to filter anywhere, and until when? What was attached ahead of it nobody was asked about. */
static int restore_afresh(struct change *change, const struct ahead *ahead)
{
	struct interface_info *kept = NULL;
	struct pending *pending = NULL;
	struct guard *guard = &change->guard;
	char label[LABEL_MAX];
	size_t n = 0, pending_n = 0;
	int err = state_interfaces(change->state, &kept, &n) ?: state_pending(change->state, &pending, &pending_n);

	guard->until = 1;
	for (size_t i = 0; i < n && !err; i++) {
		int64_t back = goes_back(&kept[i], pending, pending_n);

		label_of(label, kept[i].name, kept[i].match);
		if (!ahead_begins(ahead, label))
			continue;
		guard->afresh = true;
		/* Where it is missing nothing begins yet. */
		if (if_nametoindex(kept[i].name) && (!back || guard->until < back))
			guard->until = guard->until ? back : 0;
	}
	free(pending);
	free(kept);
	return err;
}

/* A network that has not come up by then has no gateway. */
#define EARLY_SECONDS 600

static double boot_seconds(void)
{
	return (double)(clock_boot() / 1000000000);
}

bool restore_is_early(struct state *state)
{
	double until = state_setting(state, SETTING_EARLY_UNTIL, 0);

	return state_setting(state, SETTING_EARLY, 0) == (double)clock_boot_number() &&
	       (!until || boot_seconds() < until);
}

static int set_if_new(struct state *state, const char *name, double value)
{
	return state_setting(state, name, 0) == value ? 0 : state_set(state, name, value);
}

/*
 * Before the network is up hardly anything is needed. So the service asks about all of it once more as it begins, and,
 * where no lease has brought a gateway by then, when one has (needs_watch.c); but not at its next beginning, which
 * would take back what was decided meanwhile.
 */
static int restore_early(struct change *change, bool *again)
{
	struct guard *guard = &change->guard;
	struct state *state = change->state;
	double is = state_setting(state, SETTING_EARLY, 0), until = state_setting(state, SETTING_EARLY_UNTIL, 0);

	*again = false;
	if (!guard->spare)
		return 0;
	if (lock_is_held(change->context->state, STATE_SERVICE_LOCK)) {
		*again = restore_is_early(state);
		if (!*again || own_has_gateway(state))
			is = until = 0;
		else
			until = until ?: boot_seconds() + EARLY_SECONDS;
	} else {
		is = guard->afresh ? (double)clock_boot_number() : is;
		until = guard->afresh ? 0 : until;
	}
	if (*again) {
		guard->afresh = true;
		guard->until = 0;
	}
	return set_if_new(state, SETTING_EARLY, is) ?: set_if_new(state, SETTING_EARLY_UNTIL, until);
}

static int restore_filter(struct change *change, const struct restore_options *options, const struct ahead *ahead)
{
	bool again = false, whole = agreement(change->state, &change->live.g) == AGREED;
	int err;

	change->guard.everything = options->force;
	change->guard.spare = options->spare;
	change->ports_came = false; /* all that have come are attached with the others */
	err = restore_afresh(change, ahead) ?:
	      restore_early(change, &again) ?:
	      apply_if_needed(change->state, &change->live, &change->guard);
	if (!err)
		ahead_asked(change->context);
	if (!err || !again || !whole)
		return err;
	/* What is in force was to be asked about, and no more: the service does without, and its next start asks. */
	warn("what this machine needs may be dropped: %s", reason(err));
	return state_again(change->state);
}

static int restore_once(struct context *context, const struct restore_options *options, struct ahead *ahead,
			size_t *missing)
{
	struct change *change = NULL;
	int err;

	/* The filter before the interfaces, so that none runs with an empty one. */
	context->settles = true;
	if (options->spare)
		lock_meanwhile = (struct lock_meanwhile){ ahead_attach, ahead };
	err = change_begin(&change, context);
	lock_meanwhile = (struct lock_meanwhile){ 0 };
	err = err ?:
	      ahead_settle(ahead, change->state) ?:
	      home_settle(change) ?:
	      kernel_base(context, committed(change->state)) ?:
	      restore_filter(change, options, ahead) ?:
	      restore_watch(change) ?:
	      restore_interfaces(change, missing);
	context->settles = false;
	change_end(change);
	return err;
}

/* Once more by whoever comes when there is room. */
static bool without_room(const struct ahead *ahead, const struct restore_options *options, size_t *missing, int *err)
{
	char why[512];
	bool all;

	snprintf(why, sizeof(why), "%s", reason(*err));
	*missing = 0;
	all = attach_without_room(ahead, options, missing);
	*err = because(*err, "%s%s", why, all ? "; what can be filtered is, and is kept when there is room" : "");
	return all;
}

int restore(struct context *context, const struct restore_options *options, size_t *missing)
{
	struct ahead ahead = { .context = context };
	int err;

	ahead_take(&ahead);
	err = restore_once(context, options, &ahead, missing);

	/* The room that is kept is for the start of the machine: whoever fills the disk would have that, too. */
	if (err_is(err, ENOSPC) && !without_room(&ahead, options, missing, &err) && reserve_give(context->state)) {
		*missing = 0;
		err = restore_once(context, options, &ahead, missing);
	}
	free(ahead.names);
	if (!err)
		reserve_keep(context->state);
	return err;
}
