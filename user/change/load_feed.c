// SPDX-License-Identifier: GPL-2.0-only
/* Of a load, what concerns servers: fetched, judged, and kept fresh. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/words.h"
#include "change/feed_row.h"
#include "change/guard_culprit.h"
#include "change/load_internal.h"
#include "change/revert_timer.h"
#include "sets/packed.h"
#include "state/settings.h"

void load_describe(const struct load *l, char *text, size_t size)
{
	const struct load_options *o = l->options;
	size_t at = 0, n = 0;
	char condition[WHERE_MAX];
	bool keep_bogons = o->bogons ? o->bogons == BOGONS_KEEP : o->force;

	n = (size_t)snprintf(text, size, "%s%s%s%s", l->reading.format ? "--format=" : "",
			     l->reading.format ? l->reading.format : "", l->reading.skip_bad ? " --skip-bad" : "",
			     keep_bogons		  ? " --bogons=keep"
			     : o->bogons == BOGONS_REFUSE ? " --bogons=refuse"
							  : "");
	/* There is room for all of them, each byte with a backslash. */
	while (where_next(l->reading.where, &at, condition)) {
		n += (size_t)snprintf(text + n, size - n, " --where ");
		if (words_quote(text + n, size - n, condition))
			n += strlen(text + n);
	}
	scope_options(text + n, size - n, &o->scope);
}

/* A list that is fetched has no kind of its own until it is there. */
static void describe_feed(struct load *l)
{
	static const char *const kinds[] = { "", " --allow", " --shadow", " --trust" };
	size_t n;

	if (l->options->feed.again)
		return;
	load_describe(l, l->feed->options, sizeof(l->feed->options));
	n = strlen(l->feed->options);
	snprintf(l->feed->options + n, sizeof(l->feed->options) - n, "%s", kinds[l->options->kind]);
}

/* A line of a file only says what is to be kept fresh: the service fetches it, and nobody waits for a server. */
static int register_feed(struct load *l)
{
	const char *fault = fetch_url_fault(l->path, l->options->feed.insecure || l->options->feed.key);
	struct change *change = NULL;
	struct list_info list;
	struct feed *row;
	int err = fault ? because(-EINVAL, "%.300s: %s", l->path, fault) : 0;

	if (err)
		return err;
	change_check(l->context, false);
	row = malloc(sizeof(*row));
	err = row ? change_begin(&change, l->context) : -ENOMEM;
	/* What waits goes back with all that is set of it, as it was before. */
	err = err ?: change_pending(change, PENDING_LIST, l->name, 0);
	if (!err) {
		err = state_feed_get(change->state, l->name, row);
		l->context->unchanged = !err && feed_row_same(row, l->feed);
		if (!l->context->unchanged && (!err || err_is(err, ENOENT))) {
			feed_row_set(row, l->feed);
			/* One that was there before grows old, too, whether or not the server ever answers. */
			if (!row->good && !state_list_get(change->state, l->name, &list))
				feed_row_good(row);
			/* What is in force was read otherwise. */
			row->etag[0] = row->modified[0] = row->next = 0;
			/* No version could come of what does not fit. */
			err = load_fits(l, change->state)
				      ?: state_feed_put(change->state, row)
				      ?: l->context->joined ? 0
							    : state_commit(change->state);
		}
	}
	change_end(change);
	free(row);
	return err ?: -EALREADY;
}

static int begin_feed(struct load *l)
{
	const struct feed_options *o = &l->options->feed;
	int err = feed_row_begin(l->context, o, l->name, l->path, &l->feed, &l->feed_known);

	if (!err && l->feed)
		describe_feed(l);
	return err;
}

/* What was given for the one version that this load fetches; NULL: nothing. */
static const char *for_this_once(const struct load_options *o)
{
	return o->confirm.given ? "confirm"
	       : o->dry_run	? "dry-run"
	       : o->force	? "force"
	       : o->ban_own	? "ban-own"
	       : o->wide	? "wide"
	       : o->big_change	? "big-change"
				: NULL;
}

/*
 * By hand, with what is for this once, what the server has is wanted, changed or not. So it is where the list has
 * another scope than it is to have.
 */
static bool wants_any(const struct load *l)
{
	const struct load_options *o = l->options;
	struct list_info list;
	struct state *state = NULL;
	bool there;

	if (!o->feed.again || for_this_once(o))
		return true;
	there = !state_open(&state, l->context, false) && !state_list_get(state, l->name, &list);
	state_close(state);
	return !there || l->feed->aged || !load_has_scope(l, list.scope);
}

static int judge_text(struct load *l)
{
	int err = feed_looks_like_list(l->text, &l->answer, l->reading.format);

	if (l->by_change && !err && !packed_is_change(l->text))
		return because(-EINVAL, "%.300s: the answer is no change of a packed list", l->answer.url);
	if (!l->feed)
		return err;
	if (err)
		feed_keep_page(l->feed, l->text);
	else if (l->options->feed.again)
		err = feed_known_page(l->feed, l->text);
	return err;
}

/*
 * Only what changes, from where a publisher of packed lists puts that: beside the list, by the sum of what it changes.
 * By hand, what the server has is wanted whole.
 */
static bool find_change(const struct load *l, char url[FETCH_URL_MAX])
{
	char sum[SHA256_TEXT];

	return !l->whole && l->feed && !wants_any(l) && !l->reading.format &&
	       packed_change_sum(l->context, l->name, sum) && feed_url_beside(url, l->path, ".delta-", sum);
}

bool load_feed_wants_whole(const struct load *l, int err)
{
	/* Who is to be left alone is. */
	return err && l->by_change && !err_is(err, EALREADY) && !l->answer.retry_after;
}

static void read_limits(struct load *l)
{
	struct settings settings = SETTINGS_DEFAULT;
	struct state *state = NULL;

	if (!state_open(&state, l->context, false))
		settings = settings_read(state);
	state_close(state);
	l->fetch_most = settings.fetch_most;
	l->reading.unpacked = settings.fetch_unpacked;
}

/* Who does not answer may be banned here. */
static int unanswered(const struct load *l)
{
	const struct fetch_answer *answer = &l->answer;
	char why[FEED_RESULT_MAX], dropped[DROPPED_TEXT_MAX];

	if (err_is(l->text, EALREADY) || answer->outcome != FETCH_FAILED || answer->status)
		return l->text;
	snprintf(why, sizeof(why), "%s", reason(l->text));
	return because(l->text, "%s%s", why, dropped_text(dropped, l->context, answer->address));
}

/* Before the lock is taken: a server may be slow. So not for a line, which others follow in the same change. */
int load_feed(struct load *l)
{
	bool by_line = l->context->line || l->options->if_changed;
	const char *once = for_this_once(l->options);
	char change[FETCH_URL_MAX];
	int err = by_line && !l->options->feed.every.given && !l->options->feed.usual
			  ? because(-EINVAL,
				    "%s: a URL is fetched by the command alone, and not by a file of commands or the "
				    "service, unless it says how often: xdp-bloom load %s URL --every 6h",
				    l->path, l->name)
			  : begin_feed(l);

	if (!err && by_line && once)
		err = because(-EINVAL,
			      "%s: --%s is for a version that is fetched now, and neither a file of commands nor"
			      " --if-changed fetches one: give it to the command alone",
			      l->path, once);
	if (err || by_line)
		return err ?: register_feed(l);
	read_limits(l);
	l->feed_asked = true;
	l->by_change = find_change(l, change);
	l->text = l->by_change ? feed_open(&l->options->feed, change, l->fetch_most, NULL, &l->answer)
			       : feed_open(&l->options->feed, l->path, l->fetch_most,
					   l->feed && !wants_any(l) ? l->feed : NULL, &l->answer);
	l->fetched = l->text >= 0;
	return l->fetched ? judge_text(l) : unanswered(l);
}

/* Of a copy: the change may still fail. */
int load_feed_put(struct load *l, struct state *state)
{
	struct feed *row = malloc(sizeof(*row));
	int err = row ? 0 : -ENOMEM;

	if (!err && l->feed) {
		*row = *l->feed;
		feed_came(row, &l->answer, FEED_CHANGED, l->by_change, NULL);
		err = state_feed_put(state, row);
	} else if (!err) {
		err = state_feed_get(state, l->name, row);
		l->feed_ends = !err;
		err = err_is(err, ENOENT) ? 0 : err ?: state_feed_drop(state, l->name);
	}
	free(row);
	return err;
}

bool load_feed_is_same(const struct load *l)
{
	return l->options->feed.again && l->feed && !l->feed->aged && !wants_any(l) && load_is_same_set(l);
}

/* Here is what is in its way: it is no failure of its server's, and nothing becomes of the list by it. */
static enum feed_outcome outcome_of(const struct load *l, int err)
{
	/* E2BIG: it does not fit into what is free. */
	static const int here[] = { ENOMEM, E2BIG, ENOSPC, EDQUOT, EMFILE, ENFILE, EAGAIN };
	bool is = l->answer.here;

	if (err_is(err, EALREADY))
		return FEED_UNCHANGED;
	if (l->fetched && err_is(err, EBUSY))
		return FEED_WAITS;
	for (size_t i = 0; i < sizeof(here) / sizeof(here[0]); i++)
		is = is || err_is(err, here[i]);
	return is ? FEED_HERE : FEED_FAILED;
}

bool load_feed_note(const struct load *l, int err)
{
	const struct feed *was = load_begun_feed(l);
	enum feed_outcome is = outcome_of(l, err);
	int64_t refused;
	bool late;
	int old;

	if (!l->feed || !l->feed_asked || !err || l->context->check || l->options->dry_run)
		return true;
	l->context->unchanged = is == FEED_UNCHANGED;
	/* What was asked otherwise than it is kept says nothing of what is. */
	if (!was || !feed_row_asks_same(l->feed, was))
		return true;
	/* What this load would have set comes with its version alone. */
	refused = l->feed->refused;
	*l->feed = *was;
	l->feed->refused = refused;
	feed_came(l->feed, &l->answer, is, l->by_change, reason(err));
	late = !feed_row_keep(l->context, l->feed, was);
	old = late || is != FEED_FAILED ? 0 : feed_age_out(l->context, l->name);
	if (old)
		warn("list '%s': it is too old, and stays in force: %s", l->name, reason(old));
	return !late;
}
