// SPDX-License-Identifier: GPL-2.0-only
/* page.json: each member of the document, from a state, a kernel and a clock that are made up; word for word. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/context.h"
#include "base/log.h"
#include "kernel/attach.h"
#include "kernel/live.h"
#include "observe/agent_seen.h"
#include "observe/detector.h"
#include "observe/fleet_view.h"
#include "observe/fresh.h"
#include "observe/history.h"
#include "observe/page.h"
#include "observe/passing.h"
#include "observe/recent.h"
#include "observe/report.h"
#include "observe/web_server.h"
#include "sets/networks.h"
#include "shown.h"
#include "state/bans.h"
#include "state/events.h"
#include "state/failed.h"
#include "state/kept_image.h"
#include "state/limits.h"
#include "state/state.h"

static const struct shown known_texts[] = {
#include "unit_page_shown.txt"
};

static struct shows shows = { .file = "tests/unit/unit_page_shown.txt",
			      .known = known_texts,
			      .n = sizeof(known_texts) / sizeof(known_texts[0]) };

#define DATE 1767225600LL /* 2026-01-01T00:00:00Z */

static const struct context own = CONTEXT_DEFAULT;
static int64_t now_ms;
static int calls, fails_at, looks;
static unsigned int attached, gone, bans_n, lists_n, failed_lists, generation;
static bool detects, no_text, gone_last;
static double rates[2];
static const char *const *events;
static struct stat stats[5];
static struct detector_sums detected;
static struct page *the_page;
static char sampled[1];
static struct page_passing passing;
static struct page_view asked_for;

static int call(const char *what)
{
	return ++calls == fails_at ? because(-EIO, "%s: it was not to be", what) : 0;
}

static int given_state(struct state **state, const struct context *context, bool change)
{
	*state = NULL;
	looks++;
	return call(context != &own || change ? "opens another" : "the state");
}

static int given_lists(struct state *state, struct list_info **lists, size_t *n)
{
	(void)state;
	*lists = calloc(lists_n + 1, sizeof(**lists));
	*n = lists_n;
	for (unsigned int i = 0; i < lists_n; i++)
		(*lists)[i] = (struct list_info){ .name = "one",
						  .kind = LIST_BAN,
						  .prefixes = 7,
						  .addresses = "9",
						  .source = "here",
						  .loaded = "2025-12-31T23:59:00Z",
						  .label = 3 };
	return call("the lists");
}

static int given_fresh(struct state *state, int64_t now, struct fresh **all, size_t *n)
{
	(void)state;
	*all = calloc(2, sizeof(**all));
	(*all)[0] =
		(struct fresh){ .list = "one", .is = now == DATE ? "fresh" : "of another time", .age = 60, .next = 5 };
	*n = lists_n != 0;
	return call("what is fresh");
}

static int given_fleet(struct fleet_view *v, const struct context *context, struct state *state)
{
	(void)context, (void)state;
	*v = (struct fleet_view){ .joined = lists_n, .waiting = 4 };
	return call("the fleet");
}

static int given_count(struct state *state, int64_t now, uint64_t *n)
{
	(void)state;
	*n = now == DATE ? bans_n : 77;
	return call("how many bans");
}

static int given_first(struct state *state, int64_t now, unsigned int most, struct ban **bans, size_t *n)
{
	(void)state;
	if (call("which bans"))
		return because(-EIO, "which bans: it was not to be");
	*n = most < bans_n ? most : bans_n;
	*bans = calloc(*n + 1, sizeof(**bans));
	for (size_t i = 0; i < *n; i++)
		(*bans)[i] = (struct ban){ .first = { 0xc0000201 + (unsigned int)i, 4 },
					   .length = 32,
					   .added = now - 60,
					   .expires = now + 60 };
	return 0;
}

static void given_failures(const struct context *context, struct list_failure **failures, size_t *n)
{
	(void)context;
	*failures = calloc(failed_lists + 1, sizeof(**failures));
	*n = failed_lists;
	for (unsigned int i = 0; i < failed_lists; i++) {
		snprintf((*failures)[i].list, LIST_NAME_MAX, "%s", i ? "two" : "one");
		(*failures)[i].since = DATE - 1 - i;
		strcpy((*failures)[i].why, "no list");
	}
}

static int given_attached(const struct context *context, struct attachment **on, size_t *n)
{
	(void)context;
	*on = calloc(attached + 1, sizeof(**on));
	*n = attached;
	for (unsigned int i = 0; i < attached; i++) {
		snprintf((*on)[i].name, IF_NAMESIZE, "eth%u", i);
		snprintf((*on)[i].as, IF_NAMESIZE, "eth%u", i);
		(*on)[i].mode = MODE_SKB;
		(*on)[i].gone = gone_last ? i + gone >= attached : i < gone;
	}
	return call("the interfaces");
}

static int given_live(struct live *live, const struct context *context)
{
	memset(live, 0, sizeof(*live));
	live->g.number = context == &own ? generation : 77;
	return 0;
}

static int given_history(const struct history *h, uint64_t now, enum history_window w, struct history_report *report)
{
	if (h || now != DATE)
		return -EINVAL;
	memset(report, 0, sizeof(*report));
	report->points_n = w + 1;
	return call(w == HISTORY_MINUTE ? "the minute" : "the hour");
}

static void given_rates(const struct history_report *minute, uint64_t now, double *passed, double *dropped)
{
	bool right = minute->points_n == HISTORY_MINUTE + 1 && now == DATE;

	*passed = right ? rates[0] : -7;
	*dropped = right ? rates[1] : -7;
}

static json_t *given_document(const struct report *report)
{
	return json_pack("{s:i, s:i, s:b, s:i}", "series", (int)report->history.points_n, "top", (int)report->top,
			 "networks", report->networks != NULL, "window", (int)report->window);
}

static json_t *given_top(const struct history_sums *sums, enum top top, unsigned int n, const struct networks *networks)
{
	return json_pack("[i, i, i, b]", (int)top, (int)n, (int)sums->samples, networks != NULL);
}

static void given_sums(struct passing *samples, uint64_t second, struct history_sums *sums)
{
	sums->samples = samples == (struct passing *)sampled && second == DATE ? 12 : 77;
	sums->weighed = 1234.56789;
}

static int given_detector(const struct context *context, struct detector_sums *sums)
{
	*sums = detected;
	return call(context == &own ? "the detector" : "another detector");
}

static void given_events(struct events_tail *tail, const char *directory)
{
	tail->directory = directory;
	tail->at = 7;
}

static bool given_event(struct events_tail *tail, char line[EVENT_LINE_MAX])
{
	if (tail->directory != own.state || tail->at != 7 || !events || !*events)
		return false;
	snprintf(line, EVENT_LINE_MAX, "%s", *events++);
	return true;
}

static int given_stat(const char *path, struct stat *is)
{
	static const char *const names[] = { "/state.db", "/state.db-wal", "/failed", "/networks", "/fleet" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *name = strrchr(path, '/');

		if (strncmp(path, own.state, strlen(own.state)) != 0 || strcmp(name, names[i]) != 0)
			continue;
		*is = stats[i];
		return is->st_ino ? 0 : -1;
	}
	printf("  no file of the state: %s\n", path);
	return -1;
}

static int given_host(char *name, size_t size)
{
	memset(name, 'h', size);
	return 0;
}

static struct limits given_limits(struct state *state)
{
	(void)state;
	return (struct limits){ .on = detects };
}

#define state_open		  given_state
#define state_close(state)	  ((void)(state))
#define lists_in_force		  given_lists
#define fresh_take		  given_fresh
#define fleet_view_take		  given_fleet
#define fleet_view_free(v)	  ((void)(v))
#define state_bans_count	  given_count
#define state_bans_first	  given_first
#define state_limits		  given_limits
#define list_failures		  given_failures
#define attach_list		  given_attached
#define live_open		  given_live
#define live_close(live)	  ((void)(live))
#define agent_seen_take(seen, of) (*(seen) = (struct agent_seen){ .followed = lists_n })
#define history_read		  given_history
#define history_rates		  given_rates
#define report_document		  given_document
#define report_top		  given_top
#define passing_sums		  given_sums
#define detector_now		  given_detector
#define events_from_start	  given_events
#define events_next		  given_event
#define networks_map(to, state)	  ((void)(state), *(to) = NULL, 0)
#define gethostname		  given_host
#define clock_ms()		  now_ms
#define time(to)		  ((void)(to), (time_t)DATE)
#define calloc(n, size)		  (no_text ? NULL : calloc(n, size))
#define json_dumps(document, how) (no_text ? NULL : json_dumps(document, how))
#define stat(path, is)		  given_stat(path, is)
#undef VERSION
#define VERSION "1"
#include "observe/page.c"
#undef stat
#undef calloc
#undef json_dumps
#undef time

static void anew(void)
{
	page_free(the_page);
	the_page = NULL;
	now_ms = 1000000;
	calls = fails_at = looks = 0;
	attached = lists_n = 1;
	gone = bans_n = failed_lists = 0;
	generation = 5;
	detects = no_text = gone_last = false;
	rates[0] = 12.5;
	rates[1] = 0.25;
	events = NULL;
	memset(stats, 0, sizeof(stats));
	memset(&detected, 0, sizeof(detected));
	memset(&passing, 0, sizeof(passing));
	asked_for = (struct page_view){ .context = &own, .health = "ok", .trouble = "", .passing = &passing };
}

/* That member; "": all of it; NULL: it is not printed. */
static void asks_often(const char *member, unsigned int asked)
{
	char *text = NULL, *part;
	size_t size = 77;
	json_t *all;
	int err;

	calls = 0;
	err = page_json(&the_page, &asked_for, asked, &text, &size);
	if (!member) {
		free(text);
		return;
	}
	if (err || !*member || size != strlen(text)) {
		printf("%s\n", err ? reason(err) : text);
		if (err ? size != 77 && size : size != strlen(text))
			printf("and %zu bytes\n", size);
		free(text);
		return;
	}
	all = json_loads(text, 0, NULL);
	part = json_dumps(json_object_get(all, member), JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
	printf("%s: %s\n", member, part ?: "none");
	free(part);
	free(text);
	json_decref(all);
}

static void asks(const char *member)
{
	asks_often(member, 1);
}

static void whole(void)
{
	bans_n = failed_lists = 2;
	detects = true;
	passing.samples = (struct passing *)sampled;
	asks("");
	anew();
	attached = lists_n = generation = 0;
	rates[0] = rates[1] = -1;
	asks("");
}

static void health(void)
{
	static const char *const texts[] = { "", "one", "one\n", "one\ntwo", "\n", "one\n\ntwo\n", "a\tb" };
	static const char *const words[] = { "ok", "degraded", "failing" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		asked_for.trouble = texts[i];
		asks("health");
	}
	asked_for.trouble = "one";
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		for (fails_at = 0; fails_at < 2; fails_at++) {
			asked_for.health = words[i];
			now_ms += 5000;
			asks("health");
		}
	fails_at = 0;
	gone_last = true;
	for (attached = 0; attached < 3; attached++)
		for (gone = 0; gone <= attached; gone++) {
			printf("%u, %u gone\n", attached, gone);
			now_ms += 5000;
			asks("health");
			gone_last = !gone_last;
		}
}

/* What cannot be read is null, and said. */
static void each_fails(void)
{
	static const char *const members[] = { "health",   "lists",   "bans",	    "feeds",	  "fleet",
					       "crowdsec", "refused", "interfaces", "generation", "packets",
					       "minute",   "hour",    "detector" };

	detects = true;
	failed_lists = bans_n = 1;
	asks("");
	for (fails_at = calls; fails_at > 0; fails_at--) {
		printf("-- %d\n", fails_at);
		for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
			now_ms += 5000;
			asks(members[i]);
		}
	}
}

static void counts(void)
{
	static const unsigned int each[] = { 0, 1, 14, 15, 16 };

	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		size_t n;
		json_t *bans;
		char *text = NULL;
		size_t size;

		bans_n = each[i];
		now_ms += 5000;
		if (page_json(&the_page, &asked_for, 1, &text, &size))
			abort();
		bans = json_loads(text, 0, NULL);
		n = json_array_size(json_object_get(json_object_get(bans, "bans"), "next"));
		printf("%u bans, %zu are shown\n", each[i], n);
		json_decref(bans);
		free(text);
	}
	bans_n = 1;
	now_ms += 5000;
	asks("bans");
}

static void happened(void)
{
	static const char *const some[] = {
		"{\"time\": \"t1\", \"event\": \"load\", \"message\": \"m\\u001b\", \"more\": 1}",
		"{\"time\": \"t2\", \"event\": \"load\"}",
		"{\"time\": 2, \"event\": \"load\", \"message\": \"m\"}",
		"{",
		"",
		"[]",
		"{\"time\": \"t3\", \"event\": \"add\", \"message\": \"m\"}",
		NULL,
	};
	static const char *all[40];
	static char lines[40][300];

	events = some;
	asks("events");
	asks("events");
	for (int n = 18; n < 23; n++) {
		for (int i = 0; i < n; i++) {
			snprintf(lines[i], sizeof(lines[i]), "{\"time\": \"%d\", \"event\": \"e\", \"message\": \"\"}",
				 i);
			all[i] = lines[i];
		}
		all[n] = NULL;
		events = all;
		page_free(the_page);
		the_page = NULL;
		asks("attacks");
		printf("%d events: %zu, the first of %s, the last of %s\n", n, json_array_size(the_page->events),
		       json_string_value(json_object_get(json_array_get(the_page->events, 0), "time")),
		       json_string_value(json_object_get(
			       json_array_get(the_page->events, json_array_size(the_page->events) - 1), "time")));
	}
	detects = true;
	for (int n = 1; n < 8; n++) {
		for (int i = 0; i < n; i++) {
			snprintf(
				lines[i], sizeof(lines[i]),
				"{\"attack\": {\"began\": \"%d\", \"kind\": \"k\", \"classes\": [], \"sources\": 1, \"above\":"
				" 2, \"peak\": 3}}",
				i);
			all[i] = lines[i];
		}
		all[n] = NULL;
		events = all;
		page_free(the_page);
		the_page = NULL;
		asks("generation");
		printf("%d attacks: %zu, the first of %s, the last of %s\n", n, json_array_size(the_page->attacks),
		       json_string_value(json_object_get(json_array_get(the_page->attacks, 0), "began")),
		       json_string_value(json_object_get(
			       json_array_get(the_page->attacks, json_array_size(the_page->attacks) - 1), "began")));
	}
	asks("detector");
}

static void passes(void)
{
	static const int64_t since[] = { 1000, 999, 0, 119999, 120000, 121000 };

	asks("passing");
	strcpy(passing.why, "no memory\t");
	asks("passing");
	passing.samples = (struct passing *)sampled;
	now_ms = 1000000;
	for (size_t i = 0; i < sizeof(since) / sizeof(*since); i++) {
		passing.since = now_ms - since[i];
		asks("passing");
		passing.why[0] = '\0';
	}
	now_ms += 5000;
}

static void detector(void)
{
	asks("detector");
	detects = true;
	now_ms += 5000;
	asks("detector");
	detected = (struct detector_sums){
		.in_force = true, .room = 64, .tracked = 5, .above = 3, .banned = 2, .busiest = "a"
	};
	detected.packets[DETECTED_DROPPED] = 10;
	detected.packets[DETECTED_BANNED] = 200;
	detected.packets[DETECTED_UNTRACKED] = 3000;
	detected.packets[DETECTED_OVER] = 40000;
	for (unsigned int i = 0; i < CLASSES; i++)
		detected.above_of[i] = i % 2 ? 0 : i + 1;
	asks("detector");
	for (unsigned int i = 0; i < CLASSES; i++)
		detected.above_of[i] = i % 2;
	asks("detector");
}

static void packets(void)
{
	static const double each[] = { -1, -0.001, 0, 0.123456789, 1234567.8 };

	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		rates[0] = each[i];
		rates[1] = each[sizeof(each) / sizeof(*each) - 1 - i];
		asks("packets");
	}
	asks("minute");
	asks("hour");
	asks("");
}

/* So many pages ask in so much time: how long they are to wait. */
static void how_often(void)
{
	static const struct {
		int64_t after;
		unsigned int asked;
	} each[] = { { 0, 1000 },     { 2000, 1 },     { 2000, 40 },	{ 2000, 59 },	 { 2000, 60 },
		     { 3000, 80 },    { 4000, 119 },   { 5000, 100 },	{ 5000, 20 },	 { 1, 1 },
		     { 50, 1 },	      { 0, 1000 },     { -1000, 1000 }, { 1000, 10000 }, { 60000, 1199 },
		     { 59000, 1200 }, { 60000, 1200 }, { 60000, 1201 }, { 60000, 5000 }, { 60000, 0 },
		     { 2000, 1 } };

	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		now_ms += each[i].after;
		printf("%u within %lld: ", each[i].asked, (long long)each[i].after);
		asks_often("every", each[i].asked);
	}
}

static void again(void)
{
	asks("generation");
	printf("%d looks\n", looks);
	now_ms += 4999;
	asks("generation");
	printf("%d looks\n", looks);
	now_ms += 1;
	generation = 6;
	asks("generation");
	printf("%d looks\n", looks);
	for (size_t i = 0; i < 5; i++) {
		for (int how = 0; how < 5; how++) {
			int before = looks;

			stats[i].st_ino = how == 3 ? 0 : 8 + (how > 0);
			stats[i].st_size += how == 1;
			stats[i].st_mtim.tv_nsec += how == 2;
			asks(NULL);
			asks(NULL);
			printf("file %zu, %d: %d looks\n", i, how, looks - before);
		}
	}
}

static void no_memory(void)
{
	no_text = true;
	asks("");
	no_text = false;
	asks("generation");
	no_text = true;
	asks("");
	no_text = false;
	asks("generation");
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "whole", whole },	      { "health", health },	     { "each fails", each_fails },
		{ "how many bans", counts },  { "what happened", happened }, { "what passes", passes },
		{ "the detector", detector }, { "packets", packets },	     { "how often", how_often },
		{ "looks again", again },     { "no memory", no_memory },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), anew);
	anew();
}

static void html(void)
{
	struct web_page is;

	page_html(&is);
	CHECK(is.status == WEB_OK && !strcmp(is.type, "text/html; charset=utf-8") && is.ends && is.policy &&
		      strstr(is.policy, "default-src"),
	      "%u, %s, '%s'", is.status, is.type, is.policy);
	CHECK(is.text && is.size == strlen(is.text) && !strncmp(is.text, "<!DOCTYPE html>", 15), "%zu bytes: %.40s",
	      is.size, is.text);
	free(is.text);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word }, { "the page", html } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
