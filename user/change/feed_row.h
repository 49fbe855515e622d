/* SPDX-License-Identifier: GPL-2.0-only */
/* What the state keeps of a list that is fetched: begun, asked about, and what came of it. */
#ifndef CHANGE_FEED_ROW_H
#define CHANGE_FEED_ROW_H

#include <stdbool.h>

#include "change/feed.h"
#include "sets/list.h"
#include "state/feeds.h"

struct change;
struct context;

/*
 * *row (free() it) becomes the feed that this load is of: the one that is kept where it is of this URL, or a new one
 * with --every; NULL where the list is loaded once. `known`: it is kept already.
 */
int feed_row_begin(const struct context *context, const struct feed_options *options, const char *name, const char *url,
		   struct feed **row, bool *known);
/* Is the same asked of the same server? Else an answer to the one says nothing of the other. */
bool feed_row_asks_same(const struct feed *a, const struct feed *b);
/* And as often, with the same to become of it: all that is set of a feed, by nothing but a change that succeeds. */
bool feed_row_same(const struct feed *a, const struct feed *b);
/* Is the same version in force? Of two that came in one second the tag tells, or the date. */
bool feed_row_same_version(const struct feed *a, const struct feed *b);

/* Sets it so, and nothing of what came of it. Of another URL nothing has come; the list is as old as it is. */
void feed_row_set(struct feed *row, const struct feed *as);
/* Its list is no older than this. */
void feed_row_good(struct feed *row);

/* Is this text, of a list that is fetched again, the one that was no list? 0 or -errno with the reason recorded. */
int feed_known_page(const struct feed *row, int text);
/* It is no list: so that it is known again. */
void feed_keep_page(struct feed *row, int text);
/* Is it dated before the version in force? 0 or -errno with the reason recorded. */
int feed_rollback(const struct feed *row, const struct fetch_answer *answer);

/*
 * FEED_WAITS: its server has a list, which something on this machine keeps from being put into force for now.
 * FEED_HERE: this machine could not do it, as one whose disk is full; of its server that says nothing.
 */
enum feed_outcome { FEED_FAILED, FEED_HERE, FEED_WAITS, FEED_UNCHANGED, FEED_CHANGED };

/*
 * Into the row, with the time of the next request. by_change: only what changes was fetched. why: of FEED_FAILED,
 * FEED_HERE and FEED_WAITS.
 */
void feed_came(struct feed *row, const struct fetch_answer *answer, enum feed_outcome outcome, bool by_change,
	       const char *why);
/*
 * What came of `was`, into the state, in a change of its own. False: it is not kept, as it is not there any more as it
 * was, neither set nor renewed meanwhile; or as it cannot be, which is a warning.
 */
bool feed_row_keep(const struct context *context, const struct feed *row, const struct feed *was);
/* Takes out those whose list has not come, with --confirm of so many seconds; 0: without. */
int feed_rows_drop(struct change *change, long confirm);
/* The command that asked for it was ended before it could say what came of that: FEED_HERE. */
void feed_lost(struct context *context, const char *name, const char *why);
/*
 * Where nobody renewed it for too long: it only counts, or is dropped, until a version comes. One that is dropped stays
 * as an empty list, of the kind and scope that the next version gets.
 */
int feed_age_out(struct context *context, const char *name);
/* Somebody wants this list only to count: so it does from now on, whatever its age had made of it. */
int feed_row_counts(struct state *state, const struct list_info *list);

#endif
