/* SPDX-License-Identifier: GPL-2.0-only */
/* How fresh the lists are that come from servers: for status, metrics, /healthz and the page. */
#ifndef OBSERVE_FRESH_H
#define OBSERVE_FRESH_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "state/feeds.h"

struct fresh {
	char list[LIST_NAME_MAX];
	const char *is; /* "new", "fresh", "failing", "old", or what --then has made of it: "shadow", "dropped" */
	int64_t age;	/* seconds since its server had it last; -1: it never had */
	int64_t next;	/* it is asked for in so many seconds; 0: it is due */
	int64_t late;	/* so many seconds ago it was due */
	int64_t every, max_age, failures, good, tried;
	char result[FEED_RESULT_MAX];
};

/* Of one row. */
struct fresh fresh_of(const struct feed *feed, int64_t now);
/* All of them, by name; free() the array. */
int fresh_take(struct state *state, int64_t now, struct fresh **all, size_t *n);
/* NULL: no server has it. */
const struct fresh *fresh_find(const struct fresh *all, size_t n, const char *list);

/* Has nobody renewed it for longer than --max-age? */
bool fresh_is_old(const struct fresh *f);
/*
 * What there is to say of it besides its failures, which are told as those of any list. served: a service fetches.
 * False: nothing.
 */
#define FRESH_TEXT_MAX 256
bool fresh_trouble(const struct fresh *f, bool served, char text[FRESH_TEXT_MAX]);

/* One for each. */
json_t *out_fresh(const struct fresh *all, size_t n);

#endif
