// SPDX-License-Identifier: GPL-2.0-only
/* feeds: lists that are fetched, a line each */
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/span.h"
#include "change/feed_times.h"
#include "state/feeds.h"
#include "verbs/verbs.h"

/* What there is to say of one. */
struct shown {
	const struct feed *feed;
	const char *state;
	int64_t age, next;     /* seconds; age -1: it never came */
	struct list_info list; /* name "": there is none yet */
};

static const char *state_of(const struct feed *f, int64_t now)
{
	if (f->aged)
		return f->then == FEED_DROP ? "dropped" : "shadow";
	if (feed_is_old(f, now))
		return "old";
	return f->failures ? "failing" : f->good ? "fresh" : "new";
}

static struct shown look(struct state *state, const struct feed *f, int64_t now)
{
	struct shown s = { .feed = f, .state = state_of(f, now), .age = f->good ? now - f->good : -1 };

	if (s.age < 0 && f->good)
		s.age = 0; /* the clock was set back */
	s.next = feed_left(f, now);
	if (state_list_get(state, f->list, &s.list))
		s.list = (struct list_info){ 0 };
	return s;
}

static json_t *seconds_or_null(int64_t seconds)
{
	return seconds < 0 ? json_null() : json_integer((json_int_t)seconds);
}

static json_t *shown_json(const struct shown *s, int64_t now)
{
	const struct feed *f = s->feed;
	bool listed = s->list.name[0];

	return json_pack("{s:s, s:o, s:s, s:o, s:I, s:I, s:I, s:o, s:o, s:o, s:s, s:b, s:o}", "name", f->list, "url",
			 out_text(f->url), "state", s->state, "age", seconds_or_null(s->age), "next",
			 (json_int_t)s->next, "every", (json_int_t)f->every, "failures", (json_int_t)f->failures,
			 "last", f->result[0] ? out_text(f->result) : json_null(), "changed",
			 seconds_or_null(f->changed ? now - f->changed : -1), "max_age",
			 seconds_or_null(f->max_age ? f->max_age : -1), "then", feed_then_names[f->then], "signed",
			 f->key[0] != '\0', "prefixes",
			 listed ? json_integer((json_int_t)s->list.prefixes) : json_null());
}

static void shown_text(const struct shown *s)
{
	char age[SPAN_TEXT_MAX] = "never", next[SPAN_TEXT_MAX] = "now", prefixes[24] = "-";

	if (s->age >= 0)
		span_text(age, s->age);
	if (s->next)
		span_text(next, s->next);
	if (s->list.name[0])
		snprintf(prefixes, sizeof(prefixes), "%llu", (unsigned long long)s->list.prefixes);
	out_line("%-20s %-8s %8s %8s %9s  %s", s->feed->list, s->state, age, next, prefixes,
		 s->feed->result[0] ? s->feed->result : "it was not asked for yet");
}

static int show(const struct call *call)
{
	struct state *state = NULL;
	struct feed *feeds = NULL;
	json_t *array = json_array();
	int64_t now = time(NULL);
	size_t n = 0;
	int err = state_open(&state, call->context, false) ?: state_feeds(state, &feeds, &n);

	if (!err && n && !call->context->json)
		printf("%-20s %-8s %8s %8s %9s  %s\n", "FEED", "STATE", "AGE", "NEXT", "PREFIXES", "LAST TIME");
	for (size_t i = 0; i < n && !err; i++) {
		struct shown s = look(state, &feeds[i], now);

		if (call->context->json)
			json_array_append_new(array, shown_json(&s, now));
		else
			shown_text(&s);
	}
	free(feeds);
	state_close(state);
	if (!err && call->context->json)
		return out_json(call->context, array);
	json_decref(array);
	if (err)
		return fail("feeds: %s", reason(err));
	if (!n && !call->context->quiet)
		puts("no list is fetched; 'xdp-bloom load NAME URL --every 6h' begins");
	return out_end();
}

int verb_feeds(const struct call *call)
{
	if (!call->n)
		return show(call);
	if (!strcmp(call->operands[0], "known"))
		return feeds_known(call);
	return fail("feeds: %s", call->verb->asks);
}
