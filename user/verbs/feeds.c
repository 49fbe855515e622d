// SPDX-License-Identifier: GPL-2.0-only
/* feeds: lists that are fetched, a line each */
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/span.h"
#include "change/load.h"
#include "observe/fresh.h"
#include "observe/history.h"
#include "sets/alone.h"
#include "state/accepted.h"
#include "state/feeds.h"
#include "verbs/verbs.h"

const struct option_spec feeds_options[] = {
	{ "format", .type = OPTION_TEXT, AT(load_options, reading.format), .value = "FORMAT",
	  .words_of = reader_formats, .does = "of check: read it as that, whatever it looks like" },
	{ "skip-bad", AT(load_options, reading.skip_bad), .does = "leave out lines that cannot be read" },
	WHERE_OPTION(load_options, reading.where),
	{ "insecure", AT(load_options, feed.insecure) },
	{ "lan", AT(load_options, feed.lan) },
	{ "key", .type = OPTION_FILE, AT(load_options, feed.key), .value = "KEY" },
	{ "header-file", .type = OPTION_FILE, AT(load_options, feed.header_file), .value = "FILE",
	  .does = "as load takes them" },
	OPTIONS_END(struct load_options),
};

/* What there is to say of one. */
struct shown {
	const struct feed *feed;
	struct fresh fresh;
	struct list_info list; /* name "": there is none yet */
	bool known;	       /* what follows */
	uint64_t v4;
	ip6 v6;
	struct alone alone; /* that no other list holds */
	double day4, day6;  /* so many more, or fewer, since the day began that growth is measured by */
	bool counted;	    /* what follows: a service has */
	uint64_t dropped;   /* packets, in the last hour */
};

/* All lists that ban or would, to compare with. */
struct others {
	struct list_info *lists;
	struct ranges *sets;
	struct alone alone[ALONE_MOST];
	size_t n;
	struct history_report hour;
	bool counted;
};

static struct shown look(struct state *state, const struct feed *f, int64_t now)
{
	struct shown s = { .feed = f, .fresh = fresh_of(f, now) };

	if (state_list_get(state, f->list, &s.list))
		s.list = (struct list_info){ 0 };
	return s;
}

static void take_hour(const struct context *context, struct others *o)
{
	struct history *history = NULL;

	if (history_open(context, &history, false))
		return;
	o->counted = !history_read(history, (uint64_t)time(NULL), HISTORY_HOUR, &o->hour);
	history_close(history);
}

static int take_others(const struct context *context, struct state *state, struct others *o)
{
	int err = state_lists(state, &o->lists, &o->n);

	o->sets = err ? NULL : calloc(o->n + 1, sizeof(*o->sets));
	if (!err && o->n > ALONE_MOST)
		err = because(-E2BIG, "there are more than %d", ALONE_MOST);
	if (!err && !o->sets)
		err = -ENOMEM;
	for (size_t i = 0; i < o->n && !err; i++)
		if (list_counts(&o->lists[i]))
			err = state_list_set(state, o->lists[i].name, &o->sets[i]);
	err = err ?: ranges_alone(o->sets, o->n, o->alone);
	if (!err)
		take_hour(context, o);
	return err;
}

static void others_free(struct others *o)
{
	for (size_t i = 0; o->sets && i < o->n; i++)
		ranges_free(&o->sets[i]);
	free(o->sets);
	free(o->lists);
	free(o);
}

/* What is known of it beside the others. */
static void compare(struct state *state, struct shown *s, const struct others *o)
{
	struct accepted accepted = { 0 };
	size_t at = 0;

	while (at < o->n && strcmp(o->lists[at].name, s->feed->list) != 0)
		at++;
	if (at == o->n || !list_counts(&o->lists[at]))
		return;
	s->known = true;
	s->v4 = ranges_count4(&o->sets[at]);
	s->v6 = ranges_count6(&o->sets[at]);
	s->alone = o->alone[at];
	if (!state_accepted_get(state, s->feed->list, &accepted) && accepted.known) {
		s->day4 = (double)s->v4 - accepted.day.v4;
		s->day6 = (double)s->v6 - accepted.day.v6;
	}
	s->counted = o->counted;
	for (size_t i = 0; i < LABELS && o->counted; i++)
		if (!strcmp(o->hour.lists[i].name, s->feed->list))
			s->dropped = o->hour.sums.list[i].packets;
}

/* Of what it holds, so much no other list does: of IPv4 addresses, where it has any. */
static double share_alone(const struct shown *s)
{
	if (s->v4)
		return (double)s->alone.v4 / (double)s->v4;
	return s->v6 ? (double)s->alone.v6 / (double)s->v6 : 0;
}

static json_t *seconds_or_null(int64_t seconds)
{
	return seconds < 0 ? json_null() : json_integer((json_int_t)seconds);
}

static json_t *shown_json(const struct shown *s, int64_t now)
{
	const struct feed *f = s->feed;
	bool listed = s->list.name[0];

	return json_pack("{s:s, s:o, s:s, s:o, s:I, s:I, s:I, s:o, s:o, s:o, s:s, s:b, s:o, s:o, s:o, s:o}", "name",
			 f->list, "url", out_text(f->url), "state", s->fresh.is, "age", seconds_or_null(s->fresh.age),
			 "next", (json_int_t)s->fresh.next, "every", (json_int_t)f->every, "failures",
			 (json_int_t)f->failures, "last", f->result[0] ? out_text(f->result) : json_null(), "changed",
			 seconds_or_null(f->changed ? now - f->changed : -1), "max_age",
			 seconds_or_null(f->max_age ? f->max_age : -1), "then", feed_then_names[f->then], "signed",
			 f->key[0] != '\0', "prefixes",
			 listed ? json_integer((json_int_t)s->list.prefixes) : json_null(), "alone",
			 s->known ? json_real(share_alone(s)) : json_null(), "day",
			 s->known ? json_pack("{s:f, s:f}", "ipv4", s->day4, "ipv6", s->day6) : json_null(),
			 "dropped_hour", s->counted ? json_integer((json_int_t)s->dropped) : json_null());
}

static void shown_text(const struct shown *s)
{
	char age[SPAN_TEXT_MAX] = "never", next[SPAN_TEXT_MAX] = "now", prefixes[24] = "-", day[24] = "-",
	     dropped[24] = "-", alone[24] = "-";

	if (s->fresh.age >= 0)
		span_text(age, s->fresh.age);
	if (s->fresh.next)
		span_text(next, s->fresh.next);
	if (s->list.name[0])
		snprintf(prefixes, sizeof(prefixes), "%llu", (unsigned long long)s->list.prefixes);
	if (s->known) {
		snprintf(day, sizeof(day), "%+.0f", s->v4 ? s->day4 : s->day6);
		snprintf(alone, sizeof(alone), "%.0f%%", 100 * share_alone(s));
	}
	if (s->counted)
		snprintf(dropped, sizeof(dropped), "%llu", (unsigned long long)s->dropped);
	out_line("%-16s %-7s %6s %6s %8s %7s %8s %5s  %s", s->feed->list, s->fresh.is, age, next, prefixes, day,
		 dropped, alone, s->feed->result[0] ? s->feed->result : "it was not asked for yet");
}

static int show(const struct call *call)
{
	struct state *state = NULL;
	struct feed *feeds = NULL;
	json_t *array = json_array();
	int64_t now = time(NULL);
	size_t n = 0;
	struct others *others = calloc(1, sizeof(*others));
	int err = others ? state_open(&state, call->context, false) ?: state_feeds(state, &feeds, &n) : -ENOMEM;
	int apart = !err && n ? take_others(call->context, state, others) : 0;

	/* Without them the rest is true all the same. */
	if (apart)
		warn("the lists cannot be compared: %s", reason(apart));
	if (!err && n && !call->context->json)
		printf("%-16s %-7s %6s %6s %8s %7s %8s %5s  %s\n", "FEED", "STATE", "AGE", "NEXT", "PREFIXES", "TODAY",
		       "LASTHOUR", "ALONE", "LAST TIME");
	for (size_t i = 0; i < n && !err; i++) {
		struct shown s = look(state, &feeds[i], now);

		if (!apart)
			compare(state, &s, others);
		if (call->context->json)
			json_array_append_new(array, shown_json(&s, now));
		else
			shown_text(&s);
	}
	free(feeds);
	state_close(state);
	if (others)
		others_free(others);
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
	const struct load_options *o = call->options;
	bool check = call->n == 2 && !strcmp(call->operands[0], "check");

	if (check)
		return feeds_check(call);
	if (feed_option(&o->feed) || o->feed.key || o->reading.format || o->reading.skip_bad || *o->reading.where)
		return fail("feeds: these options are for check URL|@FEED");
	if (!call->n)
		return show(call);
	if (!strcmp(call->operands[0], "known"))
		return feeds_known(call);
	return fail("feeds: %s", call->verb->asks);
}
