/* SPDX-License-Identifier: GPL-2.0-only */
/* The frame of every command that changes something. */
#ifndef CHANGE_CHANGE_H
#define CHANGE_CHANGE_H

#include <time.h>

#include "change/apply.h"
#include "state/state.h"

/*
 * The kernel is ready, the state is open and ours alone; what ran out of time has gone back or is banned no longer, and
 * what a command that was killed left undone is done. From here change_commit(), or state_commit() where the filter has
 * nothing to do with it, makes the change; change_end() alone leaves everything as it was.
 */
int change_begin(struct state **state);
/* The same; it is at least that late, even if the clock was set back. */
int change_begin_at(struct state **state, time_t at_least);
/* Live bans of this prefix were changed in the state. guarded: the guard rails have a say. */
int change_touch(struct addr first, unsigned int length, bool guarded);
/* This label's count begins anew when the change is made. */
void change_zero(uint8_t label);
/* The same of a label that a list has just been given: at once, but not while another list may have it in force. */
void change_zero_given(uint8_t label);
/* With options the filter is built anew, without (NULL) only what was touched is brought into force. */
int change_commit(struct state *state, const struct apply_options *options);
void change_end(struct state *state);

/*
 * Between these two, all changes of this process are one: change_begin() hands out the same state, change_commit()
 * waits. change_join_end() makes them, or with an err drops them and returns it.
 */
int change_join(void);
int change_join_end(int err);

/*
 * With --check a command that could be said ends here: change_begin() asks, and who does not call that. `words`: before
 * it reads any file, which --check=words does not want.
 */
void change_check(bool words);

#endif
