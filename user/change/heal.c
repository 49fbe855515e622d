// SPDX-License-Identifier: GPL-2.0-only
#include "change/heal.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/context.h"
#include "base/label.h"
#include "base/log.h"
#include "base/state_path.h"
#include "change/agreement.h"
#include "change/attachments.h"
#include "change/change.h"
#include "kernel/attach.h"
#include "kernel/held.h"
#include "kernel/root.h"
#include "state/settings.h"
#include "state/state.h"

/* How long a command that changes something may take until the packets cannot wait for its end, in ms. */
#define LOCK_MS	  300
#define LOCK_TURN 20

/*
 * False if somebody holds the lock for longer. A state that is gone is not made anew: *state is NULL then, or where it
 * cannot be read; what is held is all that is known.
 */
static bool open_state(struct state **state, const struct context *context)
{
	struct context own = *context;
	char path[STATE_PATH_MAX];
	int err = -EBUSY;

	own.wait = 0;
	*state = NULL;
	if (access(state_path(path, context->state, STATE_DATABASE), F_OK))
		return true;
	for (int ms = 0; err_is(err, EBUSY) && ms < LOCK_MS; ms += LOCK_TURN) {
		if (ms)
			poll(NULL, 0, LOCK_TURN);
		err = state_open(state, &own, true);
	}
	if (!err_is(err, EBUSY))
		return true;
	/* What was committed can be read. */
	if (state_open(state, &own, false))
		*state = NULL;
	return false;
}

/* Is it in the state? Then at is as that has it. */
static bool is_kept(struct state *state, struct attachment *at)
{
	struct attachment *kept;
	char label[LABEL_MAX];
	bool is = false;
	size_t n;

	if (attachments_kept(state, &kept, &n))
		return false;
	for (size_t i = 0; i < n && !is; i++) {
		is = label_is(label_of(label, at->name, at->match), kept[i].name, kept[i].match);
		if (is)
			*at = kept[i];
	}
	free(kept);
	return is;
}

/*
 * Who detaches opens the filter before he waits for the lock, or finds the state damaged: what he may have detached is
 * attached again only under the lock, and by a state that has it. *any: there was something to attach.
 */
static int attach_again(const struct context *context, struct held *held, struct state *state, bool locked, bool *any)
{
	const struct attachment *one;
	bool by_force;
	int err = 0;

	*any = false;
	for (size_t i = 0; (one = held_detached(held, i, &by_force)); i++) {
		struct attachment at = { .shared = one->shared, .match = one->match };
		int is;

		memcpy(at.name, one->name, sizeof(at.name));
		if ((state && !is_kept(state, &at)) || (!by_force && !(state && locked)))
			continue;
		/* Its pin's directory may have gone with it. */
		is = kernel_ready(context) ?: attach_one(context, &at);
		/* Already, as it is in another mode now. */
		if (err_is(is, EEXIST))
			continue;
		*any = true;
		if (is)
			err = is;
		else
			attachment_warn(&at);
	}
	held_forget_detached(held);
	return err;
}

/* What was committed is in force, or is about to be. */
static void expect_committed(const struct context *context, struct held *held)
{
	struct committed is = { 0 };
	struct state *state;

	if (!state_open(&state, context, false))
		is = committed(state);
	state_close(state);
	held_expect(held, is);
}

/* Under the lock. What is in force again may be older than what was committed. */
static bool is_behind(const struct context *context, struct state *state)
{
	struct generation live;

	return state && !kernel_live(context, &live) && agreement(state, &live) == BEHIND;
}

/* Each change begins by mending that. */
static void bring_up(const struct context *context)
{
	struct context own = *context;
	struct change *change;

	own.wait = 0; /* who has the lock has done it */
	(void)change_begin(&change, &own);
	change_end(change);
}

int heal(const struct context *context, struct held *held)
{
	unsigned int found, gap, pins;
	struct state *state;
	int err = 0, again;
	bool locked, any, twice, behind;

	expect_committed(context, held);
	gap = held_look(held) & HELD_GAP;
	if (gap)
		err = held_close_gap(held);
	locked = open_state(&state, context);
	found = held_look(held);
	if (found & HELD_UNSEEN)
		err = because(-EMFILE, "%s", held_faults(held));
	/* That has come meanwhile. */
	if (!locked && !gap && (found & HELD_GAP))
		err = err ?: held_close_gap(held);
	gap |= found & HELD_GAP;
	pins = found & HELD_PINS;
	/* Without the lock it is a command at work. */
	twice = locked && state && (found & HELD_TWICE);
	if (locked && found & ~(HELD_DETACHED | HELD_UNSEEN))
		err = held_repair(held);
	if (twice) {
		again = attachments_settle(context, state);
		err = err ?: again;
		held_look(held);
	}
	again = attach_again(context, held, state, locked, &any);
	err = err ?: again;
	/* Who holds the lock may be about to pin them. */
	if (!err && held_look(held) && locked)
		err = because(-EIO, "%s", held_faults(held));
	behind = !err && locked && (gap || pins) && is_behind(context, state);
	state_close(state);
	if (behind)
		bring_up(context);
	return err ?: !locked && pins ? HEAL_LATER : gap || pins || any || twice ? HEAL_DONE : HEAL_NOTHING;
}
