// SPDX-License-Identifier: GPL-2.0-only
#include "change/change.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "change/catch_up.h"
#include "change/live_bans.h"
#include "change/guard.h"
#include "state/kept_image.h"
#include "kernel/ask.h"
#include "kernel/counters.h"
#include "kernel/root.h"
#include "base/log.h"
#include "state/bans.h"

/* Everything that the change on its way comes to. */
static struct {
	struct state *joined; /* what all changes share, between change_join() and its end */
	bool build;
	struct apply_options options;
	struct touched touched;
	struct ranges guarded;
	bool zero[LABELS];
} change;

static void forget(void)
{
	struct state *joined = change.joined;

	touched_free(&change.touched);
	ranges_free(&change.guarded);
	memset(&change, 0, sizeof(change));
	change.joined = joined;
}

void change_check(bool words)
{
	if (!(words ? opt_check_words : opt_check))
		return;
	fflush(stdout);
	/* Whoever forked us reads on where it is: exit() would put back what it has in its buffer. */
	_exit(EXIT_DONE);
}

int change_begin(struct state **state)
{
	return change_begin_at(state, 0);
}

int change_begin_at(struct state **state, time_t at_least)
{
	int err = 0;

	change_check(false);
	*state = change.joined;
	if (*state)
		return 0;
	/* Half of it done because nobody reads what it says: no. */
	signal(SIGPIPE, SIG_IGN);
	forget();
	err = kernel_ready();
	if (!err)
		err = state_open(state, true);
	return err ? err : catch_up(state, at_least);
}

int change_touch(struct addr first, unsigned int length, bool guarded)
{
	int err = touched_add(&change.touched, first, length);

	return err || !guarded ? err : ranges_add_prefix(&change.guarded, first, length);
}

void change_zero(uint8_t label)
{
	change.zero[label] = true;
}

void change_zero_given(uint8_t label)
{
	/* What a line before unloaded is in force until all of them are done. */
	if (change.joined)
		change_zero(label);
	else
		kernel_zero_label(label);
}

/* What is newly banned asks the guard rails, whether or not a new generation is built for it. */
static int guard_touched(struct state *state)
{
	struct ranges allowed = RANGES_EMPTY, bans = RANGES_EMPTY, open = RANGES_EMPTY, banned = RANGES_EMPTY;
	int err = ranges_finish(&change.guarded);

	if (err || (!change.guarded.n4 && !change.guarded.n6))
		return err;
	err = state_allowed(state, &allowed);
	if (!err)
		err = ranges_subtract(&open, &change.guarded, &allowed);
	/* A later line may have taken it back. */
	if (!err)
		err = state_bans_set(state, time(NULL), &open, &bans);
	if (!err)
		err = ranges_intersect(&banned, &open, &bans);
	if (!err)
		err = guard_own(&banned, kernel_drops);
	ranges_free(&allowed);
	ranges_free(&bans);
	ranges_free(&open);
	ranges_free(&banned);
	return err;
}

static int commit(struct state *state)
{
	int err = guard_touched(state);

	if (!err && change.build)
		err = apply_with(state, &change.options);
	else if (!err)
		err = bans_into_force(state, &change.touched);
	for (unsigned int label = 0; label < LABELS && !err && !change.options.dry_run; label++)
		if (change.zero[label])
			kernel_zero_label((uint8_t)label);
	return err;
}

int change_commit(struct state *state, const struct apply_options *options)
{
	if (!options)
		return change.joined ? 0 : commit(state);
	change.build = true;
	if (!change.joined) {
		change.options = *options;
		return commit(state);
	}
	if (options->dry_run)
		return because(-EINVAL, "--dry-run does not go together with other commands");
	change.options.guarded |= options->guarded;
	change.options.begin_anew |= options->begin_anew;
	return options->last ? options->last(state, options->arg) : 0;
}

void change_end(struct state *state)
{
	if (state == change.joined)
		return;
	image_end(state);
	state_close(state);
	forget();
}

int change_join(void)
{
	struct state *state;
	int err = change_begin(&state);

	change.joined = state;
	return err;
}

int change_join_end(int err)
{
	struct state *state = change.joined;

	if (!err)
		err = commit(state);
	change.joined = NULL;
	change_end(state);
	return err;
}
