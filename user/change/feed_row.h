/* SPDX-License-Identifier: GPL-2.0-only */
/* What the state keeps of a list that is fetched: begun, asked about, and what came of it. */
#ifndef CHANGE_FEED_ROW_H
#define CHANGE_FEED_ROW_H

#include <stdbool.h>

#include "change/feed.h"
#include "sets/list.h"
#include "state/feeds.h"

struct context;

/*
 * *row (free() it) becomes the feed that this load is of: the one that is kept where it is of this URL, or a new one
 * with --every; NULL where the list is loaded once. `known`: it is kept already.
 */
int feed_row_begin(const struct context *context, const struct feed_options *options, const char *name, const char *url,
		   struct feed **row, bool *known);
/* The same row with other options? Then it is not what is kept. */
bool feed_row_same(const struct feed *a, const struct feed *b);

/* Is this text, of a list that is fetched again, the one that was no list? 0 or -errno with the reason recorded. */
int feed_known_page(const struct feed *row, int text);
/* It is no list: so that it is known again. */
void feed_keep_page(struct feed *row, int text);
/* Is it dated before the version in force? 0 or -errno with the reason recorded. */
int feed_rollback(const struct feed *row, const struct fetch_answer *answer);

enum feed_outcome { FEED_FAILED, FEED_UNCHANGED, FEED_CHANGED };

/* Into the row, with the time of the next request. by_change: only what changes was fetched. why: of FEED_FAILED. */
void feed_came(struct feed *row, const struct fetch_answer *answer, enum feed_outcome outcome, bool by_change,
	       const char *why);
/*
 * Into the state, in a change of its own, where it is there still, as it was; NULL: that is not known. No error, but a
 * warning.
 */
void feed_row_keep(const struct context *context, const struct feed *row, const struct feed *was);
/* The command that asked for it was ended before it could say what came of that: a failure like any other. */
void feed_lost(struct context *context, const char *name, const char *why);
/* Where nobody renewed it for too long: it only counts, or is dropped, until a version comes. */
int feed_age_out(struct context *context, const char *name);

#endif
