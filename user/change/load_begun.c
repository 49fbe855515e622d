// SPDX-License-Identifier: GPL-2.0-only
/*
 * A list is read, or fetched, before the lock is taken, as that may take long. What somebody else has done to the list
 * meanwhile is not undone.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path_walk.h"
#include "change/feed_row.h"
#include "change/load_internal.h"

struct begun {
	bool there;
	enum list_kind kind;
	struct feed feed;     /* url "": none keeps it fresh */
	struct source source; /* path "": it has no file */
};

static int look(struct state *state, const char *name, struct begun *is)
{
	struct list_info list;
	int err = state_list_get(state, name, &list);

	*is = (struct begun){ .there = !err };
	if (is->there)
		is->kind = list.kind;
	err = err_is(err, ENOENT) ? 0 : err;
	err = err ?: state_feed_get(state, name, &is->feed);
	if (err_is(err, ENOENT)) {
		is->feed = (struct feed){ 0 };
		err = 0;
	}
	return err ?: state_source_get(state, name, &is->source);
}

void load_begins(struct load *l)
{
	struct state *state = NULL;
	struct begun *is = l->context->joined ? NULL : calloc(1, sizeof(*is));
	int err = is ? state_open(&state, l->context, false) : 0;

	err = err_is(err, ENOENT) ? 0 : err ?: state ? look(state, l->name, is) : 0;
	state_close(state);
	/* What is damaged the change says itself. */
	if (err) {
		free(is);
		is = NULL;
	}
	l->begun = is;
}

/* Of what kind the list becomes by this: as it is, or as is asked for. To enforce one, or not, is no other kind. */
static enum list_kind kind_of(const struct begun *is, enum list_kind asked)
{
	enum list_kind kind = is->there ? is->kind : asked;

	return kind == LIST_SHADOW ? LIST_BAN : kind;
}

static bool same_feed(const struct feed *a, const struct feed *b, bool again)
{
	if (!*a->url && !*b->url)
		return true;
	/* Another version may have come, which may be newer. */
	return feed_row_same(a, b) && (!again || feed_row_same_version(a, b));
}

static bool same_source(const struct source *a, const struct source *b)
{
	return !strcmp(a->path, b->path) && !strcmp(a->stamp, b->stamp) && !strcmp(a->options, b->options);
}

/* Was it asked for by the row that there was? The command that asks has read it before. */
static bool asked_as(const struct load *l, const struct feed *row)
{
	const struct feed_options *o = &l->options->feed;

	return !o->again ||
	       (!strcmp(row->url, l->path) && !strcmp(row->options, o->kept ?: "") && !strcmp(row->key, o->key ?: "") &&
		!strcmp(row->headers, o->header_file ?: "") && row->insecure == o->insecure && row->lan == o->lan);
}

const struct feed *load_begun_feed(const struct load *l)
{
	const struct feed *row = l->begun ? &l->begun->feed : NULL;

	return row && *row->url && asked_as(l, row) ? row : NULL;
}

static bool is_same(const struct begun *was, const struct begun *is)
{
	return was->there == is->there && same_source(&was->source, &is->source);
}

/*
 * Somebody else has loaded the same file. Of two versions that one is to be in force which it holds by now; stamp "":
 * it is gone.
 */
static bool holds_either(const struct load *l, const struct begun *is, const struct source *now)
{
	return *now->path && !strcmp(is->source.path, now->path) && !strcmp(is->source.options, now->options) &&
	       (!strcmp(is->source.stamp, now->stamp) || !strcmp(l->source.stamp, now->stamp));
}

static bool is_as_begun(const struct load *l, const struct begun *is, bool same)
{
	const struct load_options *o = l->options;
	enum list_kind asked = (enum list_kind)o->kind;
	const struct begun *was = l->begun, none = { 0 };
	bool of_this_file = is->there && !strcmp(is->source.path, l->source.path);

	/* Nobody asks for it just now. */
	if ((o->if_changed || o->feed.again) && (!same || !asked_as(l, &is->feed)))
		return false;
	/* It waited for its turn, and somebody else was faster. */
	if (o->renew && !of_this_file)
		return false;
	if (o->if_changed && !of_this_file && kind_of(is, asked) != kind_of(&none, asked))
		return false;
	return kind_of(was, asked) == kind_of(is, asked) && same_feed(&was->feed, &is->feed, o->feed.again);
}

int load_is_as_begun(const struct load *l)
{
	struct begun *is = l->begun ? malloc(sizeof(*is)) : NULL;
	struct source now = l->source;
	int err = !l->begun ? 0 : is ? look(l->change->state, l->name, is) : -ENOMEM;
	bool meanwhile = is && !err && l->options->if_changed && !is_same(l->begun, is);
	/* Under the lock. */
	enum answers before = way_waits_for(KERNEL_ANSWERS);

	if (meanwhile && *now.path && source_look(now.stamp, now.path))
		now.stamp[0] = '\0';
	way_waits_for(before);
	if (is && !err && !is_as_begun(l, is, meanwhile ? holds_either(l, is, &now) : is_same(l->begun, is)))
		err = because(-EBUSY, "list '%s' was loaded otherwise, or unloaded, while this was read: it stays so",
			      l->name);
	else if (meanwhile && state_source_is_loaded(l->change->state, &now))
		err = -EALREADY;
	/* By hand it is taken also where a version has come meanwhile, or it was too old: by the row of now. */
	if (is && !err && l->feed && !strcmp(l->feed->url, is->feed.url)) {
		l->feed->dated = is->feed.dated;
		l->feed->aged = is->feed.aged;
	}
	free(is);
	return err;
}

void load_begun_free(struct load *l)
{
	free(l->begun);
	l->begun = NULL;
}
