/* SPDX-License-Identifier: GPL-2.0-only */
/* The frame of every command that changes something. */
#ifndef CHANGE_CHANGE_H
#define CHANGE_CHANGE_H

#include <errno.h>
#include <stdbool.h>
#include <time.h>

#include "change/accounts.h"
#include "change/apply.h"
#include "change/guard_needs.h"
#include "change/guard_rails.h"
#include "change/jail.h"
#include "change/live_bans.h"
#include "kernel/live.h"
#include "state/state.h"

struct change {
	struct context *context;
	struct state *state; /* open, and ours alone */
	struct live live;    /* what is in force */
	bool build;	     /* a new generation */
	struct apply_options options;
	struct touched touched;
	struct guard guard;
	struct jail jail;
	struct accounts accounts;
	bool zero[LABELS];
	bool ports_came;	 /* and have an entry, but no filter yet (ports.h) */
	long waits;		 /* something of it waits for confirmation, for so many seconds; 0: nothing does */
	bool line_waits;	 /* of a batch: so does something of the line that is worked on */
	struct prefixes waiting; /* what lines that wait have touched, in that order */
	bool lasts;		 /* a line of it builds, and nothing of that waits */
	char (*succeeded)[LIST_NAME_MAX]; /* lists of a batch, whose refusals end with it */
	size_t succeeded_n;
	int64_t due, deadline; /* by clock_boot(), and by the date */
	int64_t last_due;      /* of what the filter has of it: lines of a batch may wait for different times */
};

/*
 * Makes the kernel ready, opens the state and catches up (catch_up.h). Then change_commit() makes the change, or
 * state_commit() where the filter is not concerned. change_end() comes last, after failures too; without a commit it
 * leaves everything as it was.
 */
int change_begin(struct change **change, struct context *context);
/* The same; `at_least` is a time that has come, even if the clock was set back. */
int change_begin_at(struct change **change, struct context *context, time_t at_least);
/* Live bans of this prefix were changed in the state. */
int change_touch(struct change *change, struct addr first, unsigned int length);
/*
 * --force was given: what this machine needs of the set may be banned; without a set, whatever it needs. It comes after
 * change_pending(): what a line of a batch forces is granted for good, unless the line waits.
 */
int change_force(struct change *change, const struct ranges *set);
int change_force_prefix(struct change *change, struct addr first, unsigned int length);
/*
 * This one bans nothing. Where it builds the first generation after a reboot, that is not refused for what it does not
 * do: nothing is attached, and whoever attaches is asked.
 */
void change_bans_less(struct change *change);
/* This label's count starts again at 0 when the change is made. */
void change_zero(struct change *change, uint8_t label);
/* The same for a label that a list has just been given: at once, unless another list may have it in force. */
void change_zero_given(struct change *change, uint8_t label);
/* This list was loaded or is gone: no refusal of it stays, once the change is made. After change_commit(). */
void change_succeeded(struct change *change, const char *list);
/* With options a new generation is built; with NULL only what was touched is put into force. */
int change_commit(struct change *change, const struct apply_options *options);
void change_end(struct change *change);
/*
 * Is it what was asked that is refused? Alone it would be, too, and again: a guard rail, an image that has no place for
 * it (EXFULL), the limit of memory. All else passes: a lock, a disk, no memory.
 */
static inline bool change_refuses(int err)
{
	return err_is(err, GUARD_REFUSED) || err_is(err, EXFULL) || err_is(err, E2BIG);
}

/*
 * Between these two, all changes under this context are one: change_begin() returns the same change, change_commit()
 * does nothing yet. change_join_end() makes it, or with an err drops it and returns that. made: what there is to say of
 * it then.
 */
int change_join(struct context *context);
int change_join_end(struct context *context, int err, void (*made)(const struct change *change));

/*
 * With --check the process ends here. change_begin() calls it; verbs that do not begin a change call it themselves.
 * `words`: called before any file is read, where --check=words ends.
 */
void change_check(const struct context *context, bool words);

#endif
