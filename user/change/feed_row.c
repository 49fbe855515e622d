// SPDX-License-Identifier: GPL-2.0-only
#include "change/feed_row.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/source_file.h"
#include "base/span.h"
#include "change/change.h"
#include "change/feed_times.h"
#include "change/revert_timer.h"
#include "fetch/client.h"
#include "fetch/public_key.h"
#include "fetch/text_hash.h"

#define DAY 86400

/* In a batch, as its lines so far have left it. */
static int find(const struct context *context, const char *name, struct feed *row)
{
	struct state *state;
	int err;

	if (context->joined)
		return state_feed_get(context->joined->state, name, row);
	err = state_open(&state, context, false);
	if (err)
		return err;
	err = state_feed_get(state, name, row);
	state_close(state);
	return err;
}

static int take_options(struct feed *row, const struct feed_options *o, bool again)
{
	int err = 0;

	if (o->every.given)
		row->every = (int64_t)o->every.value;
	else if (!row->every)
		row->every = o->usual;
	if (o->max_age.given)
		row->max_age = (int64_t)o->max_age.value;
	if (o->then)
		row->then = (enum feed_then)(o->then - 1);
	if (again)
		return 0;
	row->insecure = o->insecure;
	row->lan = o->lan;
	row->headers[0] = row->key[0] = '\0';
	/* The key itself: whoever may write to its file later does not change it. */
	err = o->key ? public_key_read(row->key, o->key) : 0;
	if (err)
		return err;
	if (o->header_file)
		err = source_locate(row->headers, o->header_file);
	return err ? because(err, "%s: %s", o->header_file, errno_text(err)) : 0;
}

int feed_row_begin(const struct context *context, const struct feed_options *o, const char *name, const char *url,
		   struct feed **to, bool *known)
{
	struct feed *row = calloc(1, sizeof(*row));
	int err = row ? find(context, name, row) : -ENOMEM;

	*to = NULL;
	*known = !err && !strcmp(row->url, url);
	if (err_is(err, ENOENT))
		err = 0;
	if (err || !(*known || o->every.given || o->usual)) {
		free(row);
		return err;
	}
	if (!*known) {
		*row = (struct feed){ 0 };
		snprintf(row->list, sizeof(row->list), "%s", name);
		snprintf(row->url, sizeof(row->url), "%s", url);
	}
	err = take_options(row, o, o->again);
	if (!err && row->max_age && row->max_age < row->every)
		err = because(-EINVAL, "--max-age is less than --every: each version would be too old before the next");
	if (!err)
		*to = row;
	else
		free(row);
	return err;
}

bool feed_row_asks_same(const struct feed *a, const struct feed *b)
{
	return !strcmp(a->url, b->url) && !strcmp(a->options, b->options) && !strcmp(a->headers, b->headers) &&
	       !strcmp(a->key, b->key) && a->insecure == b->insecure && a->lan == b->lan;
}

bool feed_row_same(const struct feed *a, const struct feed *b)
{
	return feed_row_asks_same(a, b) && a->every == b->every && a->max_age == b->max_age && a->then == b->then;
}

void feed_row_set(struct feed *row, const struct feed *as)
{
	/* Its age is the list's, which stays until another server has one. */
	if (strcmp(row->url, as->url) != 0)
		*row = (struct feed){
			.aged = row->aged, .good = row->good, .good_up = row->good_up, .boot = row->boot
		};
	memcpy(row->list, as->list, sizeof(row->list));
	memcpy(row->url, as->url, sizeof(row->url));
	memcpy(row->options, as->options, sizeof(row->options));
	memcpy(row->headers, as->headers, sizeof(row->headers));
	memcpy(row->key, as->key, sizeof(row->key));
	row->insecure = as->insecure;
	row->lan = as->lan;
	row->every = as->every;
	row->max_age = as->max_age;
	row->then = as->then;
}

bool feed_row_same_version(const struct feed *a, const struct feed *b)
{
	return a->changed == b->changed && a->dated == b->dated && !strcmp(a->etag, b->etag) &&
	       !strcmp(a->modified, b->modified);
}

/* Nothing was set, and nothing has come of it. */
static bool is_as_begun(const struct feed *now, const struct feed *was)
{
	return feed_row_same(now, was) && feed_row_same_version(now, was) && now->tried == was->tried &&
	       now->good == was->good && now->aged == was->aged;
}

static int64_t hash_of(int text)
{
	struct text_hash hash = { 0 };
	char block[4096];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(text, block, sizeof(block), at)) > 0 && text_hash_add(&hash, block, (size_t)n))
		at += n;
	return (int64_t)hash.sum;
}

int feed_known_page(const struct feed *row, int text)
{
	return row->refused && row->refused == hash_of(text)
		       ? because(-EINVAL, "%.300s: the same text came before, and was no list", row->url)
		       : 0;
}

void feed_keep_page(struct feed *row, int text)
{
	row->refused = hash_of(text);
}

/* When the server says that it was written; 0: it does not say, or says what cannot be. */
static int64_t dated(const struct fetch_answer *answer)
{
	struct tm utc = { 0 };
	const char *end = strptime(answer->modified, "%a, %d %b %Y %H:%M:%S GMT", &utc);
	int64_t at = end && !*end ? timegm(&utc) : 0;

	return at < 0 || at > time(NULL) + DAY ? 0 : at;
}

int feed_rollback(const struct feed *row, const struct fetch_answer *answer)
{
	int64_t at = dated(answer);
	char is[UTC_TEXT_MAX], before[UTC_TEXT_MAX];

	if (!at || at >= row->dated)
		return 0;
	return because(-EINVAL, "%.300s: it is of %s, and the version in force is newer, of %s; --force takes it",
		       row->url, utc_text(is, at), utc_text(before, row->dated));
}

/* What the server says of a change it says of no version: it is not asked whether that is as it was. */
static void take_version(struct feed *row, const struct fetch_answer *answer, enum feed_outcome outcome, bool by_change)
{
	if (by_change && outcome == FEED_CHANGED)
		row->etag[0] = row->modified[0] = '\0';
	if (by_change || answer->outcome != FETCH_NEW)
		return;
	memcpy(row->etag, answer->etag, sizeof(row->etag));
	memcpy(row->modified, answer->modified, sizeof(row->modified));
}

void feed_row_good(struct feed *row)
{
	row->good = time(NULL);
	row->good_up = clock_boot() / 1000000000;
	row->boot = clock_boot_number();
}

void feed_came(struct feed *row, const struct fetch_answer *answer, enum feed_outcome outcome, bool by_change,
	       const char *why)
{
	bool failed = outcome == FEED_FAILED || outcome == FEED_HERE;
	int64_t at = dated(answer), now = time(NULL);
	char machine[64];

	row->tried = now;
	/* What fails here spares no server by waiting for longer each time. */
	row->failures = !failed ? 0 : outcome == FEED_HERE && row->failures ? row->failures : row->failures + 1;
	if (!failed) {
		feed_row_good(row);
		row->servers_n = fetch_servers(answer, row->servers);
	}
	if (failed || outcome == FEED_WAITS) {
		snprintf(row->result, sizeof(row->result), "%s", why);
		if (answer->page)
			row->refused = (int64_t)answer->page;
	} else {
		row->refused = row->aged = 0;
		/* The same may lie there with an older date, as a change of it came first. */
		if (at > row->dated || (at && outcome == FEED_CHANGED))
			row->dated = at;
		snprintf(row->result, sizeof(row->result), "%s",
			 outcome != FEED_CHANGED ? "as it was"
			 : by_change		 ? "a new version, of what changed"
						 : "a new version");
		/* A server that says "as it was" need not say them again. */
		take_version(row, answer, outcome, by_change);
	}
	if (outcome == FEED_CHANGED)
		row->changed = now;
	feed_machine(machine);
	feed_plan(row, feed_phase(machine, row->list), answer->retry_after);
}

bool feed_row_keep(const struct context *context, const struct feed *row, const struct feed *was)
{
	struct state *state = NULL;
	struct feed *now = malloc(sizeof(*now));
	int err = now ? state_open(&state, context, true) : -ENOMEM;

	if (!err) {
		err = state_feed_get(state, row->list, now);
		/* Another command may have ended it meanwhile, set it otherwise, or renewed it. */
		if (!err && !is_as_begun(now, was))
			err = -ENOENT;
		err = err ?: state_feed_put(state, row) ?: state_commit(state);
	}
	if (err && !err_is(err, ENOENT))
		warn("list '%s': what came of it is not kept: %s", row->list, reason(err));
	state_close(state);
	free(now);
	return !err;
}

static bool ages(const struct feed *row)
{
	return !row->aged && row->then != FEED_KEEP && feed_is_old(row, time(NULL));
}

/*
 * What it holds goes. What it is stays, for the next version: its kind and its scope, how much of it was accepted and
 * when it was signed; and so does what it goes back to unless it is confirmed, which has an age of its own.
 */
static int empty(struct state *state, struct list_info *list)
{
	list->prefixes = 0;
	snprintf(list->addresses, sizeof(list->addresses), "0");
	return state_list_put(state, list, &RANGES_EMPTY);
}

int feed_age_out(struct context *context, const char *name)
{
	struct change *change = NULL;
	struct feed *row = malloc(sizeof(*row));
	struct apply_options apply = { 0 };
	struct list_info list;
	char since[UTC_TEXT_MAX];
	bool drops;
	int err = row ? find(context, name, row) : -ENOMEM;

	if (err || !ages(row)) {
		free(row);
		return err_is(err, ENOENT) ? 0 : err;
	}
	/* Once more, as another command may have been faster. */
	err = change_begin(&change, context) ?:
	      state_feed_get(change->state, name, row) ?:
	      state_list_get(change->state, name, &list);
	drops = row->then == FEED_DROP;
	if (!err && ages(row) && (drops || list.kind == LIST_BAN)) {
		row->aged = time(NULL);
		err = drops	      ? empty(change->state, &list)
		      : list.prefixes ? state_list_set_kind(change->state, name, LIST_SHADOW)
				      : 0;
		/* What it dropped and what it would have dropped are different counts. */
		if (!err && list.label)
			change_zero(change, list.label);
		err = err ?: state_feed_put(change->state, row) ?: change_commit(change, &apply);
		if (!err)
			warn("list '%s': nobody has renewed it since %s: %s until a version comes", name,
			     utc_text(since, row->good), drops ? "it is dropped" : "it only counts");
	}
	change_end(change);
	free(row);
	return err_is(err, ENOENT) ? 0 : err;
}

int feed_row_counts(struct state *state, const struct list_info *list)
{
	struct feed *row = malloc(sizeof(*row));
	int err = row ? state_feed_get(state, list->name, row) : -ENOMEM;

	if (!err && row->aged && list->prefixes) {
		row->aged = 0;
		err = state_feed_put(state, row);
	}
	free(row);
	return err_is(err, ENOENT) ? 0 : err;
}

int feed_rows_drop(struct change *change, long confirm)
{
	struct feed *feeds;
	size_t n;
	int err = state_feeds(change->state, &feeds, &n);

	for (size_t i = 0; i < n && !err; i++)
		err = confirm ? change_pending_drop(change, feeds[i].list, confirm)
			      : state_list_drop(change->state, feeds[i].list);
	free(feeds);
	return err;
}

void feed_lost(struct context *context, const char *name, const char *why)
{
	struct feed *row = malloc(2 * sizeof(*row)), *was = row + 1;
	int err = row ? find(context, name, row) : -ENOMEM;

	if (!err) {
		*was = *row;
		feed_came(row, &(struct fetch_answer){ 0 }, FEED_HERE, false, why);
		feed_row_keep(context, row, was);
	}
	if (err && !err_is(err, ENOENT))
		warn("list '%s': %s", name, reason(err));
	free(row);
}
