// SPDX-License-Identifier: GPL-2.0-only
#include "observe/fresh.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/out.h"
#include "base/span.h"

static const char *word_of(const struct feed *f, int64_t now)
{
	if (f->aged)
		return f->then == FEED_DROP ? "dropped" : "shadow";
	if (feed_is_old(f, now))
		return "old";
	return f->failures ? "failing" : f->tried && f->good && f->there ? "fresh" : "new";
}

struct fresh fresh_of(const struct feed *f, int64_t now)
{
	struct fresh is = { .is = word_of(f, now),
			    .age = feed_age(f, now),
			    .next = feed_left(f, now),
			    .every = f->every,
			    .max_age = f->max_age,
			    .failures = f->failures,
			    .good = f->good,
			    .tried = f->tried };

	is.late = f->tried && now > f->next ? now - f->next : 0;
	snprintf(is.list, sizeof(is.list), "%.*s", (int)sizeof(is.list) - 1, f->list);
	snprintf(is.result, sizeof(is.result), "%s", f->result);
	return is;
}

struct taking {
	struct fresh *all;
	size_t n;
	int64_t now;
};

static int take(void *arg, const struct feed *feed)
{
	struct taking *t = arg;

	if (!GROW(t->all, t->n))
		return -ENOMEM;
	t->all[t->n++] = fresh_of(feed, t->now);
	return 0;
}

int fresh_take(struct state *state, int64_t now, struct fresh **all, size_t *n)
{
	struct taking t = { .now = now };
	int err = state_feeds_each(state, take, &t);

	if (err) {
		free(t.all);
		t = (struct taking){ 0 };
	}
	*all = t.all;
	*n = t.n;
	return err;
}

const struct fresh *fresh_find(const struct fresh *all, size_t n, const char *list)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(all[i].list, list))
			return &all[i];
	return NULL;
}

bool fresh_is_old(const struct fresh *f)
{
	return !strcmp(f->is, "old") || !strcmp(f->is, "shadow") || !strcmp(f->is, "dropped");
}

bool fresh_trouble(const struct fresh *f, bool served, char text[FRESH_TEXT_MAX])
{
	char since[UTC_TEXT_MAX], late[SPAN_TEXT_MAX], most[SPAN_TEXT_MAX];

	text[0] = '\0';
	if (!served && f->late > f->every)
		snprintf(text, FRESH_TEXT_MAX,
			 "list '%s': it was to be fetched %s ago, and no service does it: xdp-bloom run", f->list,
			 span_text(late, f->late));
	else if (!strcmp(f->is, "old"))
		snprintf(text, FRESH_TEXT_MAX, "list '%s': nobody has renewed it since %s, for more than %s: it stays",
			 f->list, utc_text(since, f->good), span_text(most, f->max_age));
	else if (fresh_is_old(f))
		snprintf(text, FRESH_TEXT_MAX, "list '%s': nobody has renewed it since %s: %s until a version comes",
			 f->list, utc_text(since, f->good), *f->is == 's' ? "it only counts" : "it is dropped");
	return text[0];
}

json_t *out_fresh(const struct fresh *all, size_t n)
{
	json_t *array = json_array();

	for (size_t i = 0; i < n; i++) {
		const struct fresh *f = &all[i];

		json_array_append_new(array,
				      json_pack("{s:s, s:s, s:o, s:I, s:I, s:I, s:o}", "name", f->list, "state", f->is,
						"age", f->age < 0 ? json_null() : json_integer((json_int_t)f->age),
						"next", (json_int_t)f->next, "every", (json_int_t)f->every, "failures",
						(json_int_t)f->failures, "last",
						f->result[0] ? out_text(f->result) : json_null()));
	}
	return array;
}
