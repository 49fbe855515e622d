// SPDX-License-Identifier: GPL-2.0-only
#include "observe/page.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/out.h"
#include "base/state_path.h"
#include "kernel/attach.h"
#include "kernel/live.h"
#include "observe/agent_seen.h"
#include "observe/attack_log.h"
#include "observe/detector.h"
#include "observe/documents.h"
#include "observe/fleet_view.h"
#include "observe/fresh.h"
#include "observe/passing.h"
#include "observe/recent.h"
#include "observe/report.h"
#include "observe/web_server.h"
#include "page_text.h"
#include "sets/networks.h"
#include "state/bans.h"
#include "state/events.h"
#include "state/failed.h"
#include "state/kept_image.h"
#include "state/limits.h"

/* A page asks every other second; where many are open they share so many questions a second. */
#define EVERY	   2
#define EVERY_MOST 60
#define QUESTIONS  20

#define TOP	10
#define BANS	15
#define EVENTS	20
#define ATTACKS 5
/* What no file of the state shows, such as an interface that is gone. */
#define LOOK_MS 5000

/* Has one of them changed? */
static const char *const files[] = { STATE_DATABASE, STATE_DATABASE "-wal", STATE_FAILED, STATE_NETWORKS, STATE_FLEET };
#define FILES (sizeof(files) / sizeof(*files))

struct stamp {
	ino_t inode;
	off_t size;
	struct timespec written;
};

struct page {
	json_t *known;	/* members of the document that are the state's and the kernel's */
	json_t *unread; /* which of them cannot be read, and why: lines */
	struct stamp stamps[FILES];
	int64_t looked;
	int every; /* s: what pages were last asked to wait */
	int64_t made;
	json_t *events;	 /* the latest first */
	json_t *attacks; /* the latest last */
	bool detects;	 /* there is to be a detector */
	struct events_tail tail;
	struct networks *networks;
	bool unmapped; /* they are to be read again */
};

/* Members of `known`. */
#define KNOWN 8

void page_html(struct web_page *page)
{
	*page = (struct web_page){ .status = WEB_OK,
				   .type = "text/html; charset=utf-8",
				   .text = strdup(page_text),
				   .size = sizeof(page_text) - 1,
				   .policy = page_policy,
				   .ends = true };
}

static bool has_changed(struct page *page, const struct context *context)
{
	struct stamp stamps[FILES] = { 0 };
	char path[STATE_PATH_MAX];
	bool changed;

	for (size_t i = 0; i < FILES; i++) {
		struct stat is;

		if (!stat(state_path(path, context->state, files[i]), &is)) {
			stamps[i].inode = is.st_ino;
			stamps[i].size = is.st_size;
			stamps[i].written = is.st_mtim;
		}
	}
	changed = memcmp(stamps, page->stamps, sizeof(stamps)) != 0;
	memcpy(page->stamps, stamps, sizeof(stamps));
	return changed;
}

/* What cannot be read is null. */
static json_t *unread(struct page *page, const char *what, int err)
{
	char line[512];

	snprintf(line, sizeof(line), "%s cannot be read: %s", what, reason(err));
	json_array_append_new(page->unread, out_text(line));
	return json_null();
}

static json_t *bans_json(struct page *page, struct state *state, int64_t now)
{
	struct ban *bans = NULL;
	json_t *next;
	uint64_t count = 0;
	size_t n = 0;
	int err = state_bans_count(state, now, &count) ?: state_bans_first(state, now, BANS, &bans, &n);

	if (err)
		return unread(page, "which bans there are", err);
	next = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(next, out_ban(&bans[i], now, page->networks));
	free(bans);
	return json_pack("{s:I, s:o}", "count", (json_int_t)count, "next", next);
}

static void look_at_state(struct page *page, const struct context *context, int64_t now)
{
	json_t *known = page->known;
	struct list_failure *failed = NULL;
	struct list_info *lists = NULL;
	struct fresh *fresh = NULL;
	struct fleet_view fleet = { 0 };
	struct agent_seen agent;
	struct state *state = NULL;
	json_t *refused = json_array();
	size_t n = 0, failed_n = 0, fresh_n = 0;
	int err = state_open(&state, context, false) ?:
		  lists_in_force(state, &lists, &n) ?:
		  fresh_take(state, now, &fresh, &fresh_n) ?:
		  fleet_view_take(&fleet, context, state);

	json_object_set_new(known, "lists", err ? unread(page, "the state", err) : json_null());
	json_object_set_new(known, "bans", err ? json_null() : bans_json(page, state, now));
	page->detects = !err && state_limits(state).on;
	list_failures(context, &failed, &failed_n);
	for (size_t i = 0; i < failed_n; i++)
		json_array_append_new(refused, out_failure(&failed[i]));
	if (!err)
		json_object_set_new(known, "lists", out_lists(lists, n, failed, failed_n, now));
	json_object_set_new(known, "feeds", err ? json_null() : out_fresh(fresh, fresh_n));
	json_object_set_new(known, "fleet", err ? json_null() : out_fleet(&fleet));
	agent_seen_take(&agent, context);
	json_object_set_new(known, "crowdsec", out_agent(&agent));
	json_object_set_new(known, "refused", refused);
	fleet_view_free(&fleet);
	state_close(state);
	free(lists);
	free(fresh);
	free(failed);
}

static void look_at_kernel(struct page *page, const struct context *context)
{
	json_t *known = page->known;
	struct attachment *on = NULL;
	struct live live;
	size_t n = 0;
	int err = attach_list(context, &on, &n);

	json_object_set_new(known, "interfaces",
			    err ? unread(page, "which interfaces are filtered", err) : out_interfaces(on, n));
	live_open(&live, context);
	json_object_set_new(known, "generation", live.g.number ? json_integer((json_int_t)live.g.number) : json_null());
	live_close(&live);
	free(on);
}

/* What is wrong with the file is said once; memory, or a descriptor, may be there the next time. */
static void map_networks(struct page *page, const char *state)
{
	int err = networks_map(&page->networks, state);

	page->unmapped = err_is(err, ENOMEM) || err_is(err, EMFILE) || err_is(err, ENFILE);
	if (err && !page->unmapped)
		networks_warn(err);
}

static void forget_known(struct page *page)
{
	json_decref(page->known);
	json_decref(page->unread);
	page->known = page->unread = NULL;
}

/* Reading the state takes milliseconds where it is large: only when there is something new. */
static int look(struct page *page, const struct context *context, int64_t now)
{
	bool changed = has_changed(page, context);

	if (changed) {
		networks_close(page->networks);
		page->networks = NULL;
		page->unmapped = true;
	}
	if (page->known && !changed && clock_ms() - page->looked < LOOK_MS)
		return 0;
	forget_known(page);
	page->known = json_object();
	page->unread = json_array();
	page->looked = clock_ms();
	if (page->known && page->unread) {
		if (page->unmapped)
			map_networks(page, context->state);
		look_at_state(page, context, now);
		look_at_kernel(page, context);
	}
	if (json_object_size(page->known) == KNOWN && page->unread)
		return 0;
	/* Without memory, a member is left out: that is not to be shown until the next look. */
	forget_known(page);
	return -ENOMEM;
}

static void read_events(struct page *page)
{
	char line[EVENT_LINE_MAX];

	while (events_next(&page->tail, line)) {
		const char *when, *what, *message;
		json_t *event = json_loads(line, 0, NULL);

		if (event && !json_unpack(event, "{s:s, s:s, s:s}", "time", &when, "event", &what, "message", &message))
			json_array_insert_new(page->events, 0,
					      json_pack("{s:o, s:o, s:o}", "time", out_text(when), "event",
							out_text(what), "message", out_text(message)));
		attack_take(page->attacks, event);
		if (json_array_size(page->attacks) > ATTACKS)
			json_array_remove(page->attacks, 0);
		json_decref(event);
		if (json_array_size(page->events) > EVENTS)
			json_array_remove(page->events, EVENTS);
	}
}

static json_t *health_json(const struct page *page, const struct page_view *view)
{
	const json_t *interfaces = json_object_get(page->known, "interfaces");
	const char *status = json_array_size(page->unread) && !strcmp(view->health, "ok") ? "degraded" : view->health;
	json_t *troubles = json_array(), *interface;
	size_t i, on = 0;

	for (const char *line = view->trouble, *end; *line; line = end + (*end == '\n')) {
		char text[1024];

		end = line + strcspn(line, "\n");
		snprintf(text, sizeof(text), "%.*s", (int)(end - line), line);
		json_array_append_new(troubles, out_text(text));
	}
	json_array_extend(troubles, page->unread);
	json_array_foreach(interfaces, i, interface) on += !json_is_true(json_object_get(interface, "gone"));
	if (json_is_array(interfaces) && !on) {
		json_array_append_new(troubles, json_string("no interface is filtered"));
		status = "failing";
	}
	return json_pack("{s:s, s:o}", "status", status, "troubles", troubles);
}

static json_t *rate(double rate)
{
	return rate < 0 ? json_null() : json_real(rate);
}

/* The hour as report -j has it, and of the minute what is drawn. */
static void look_at_history(json_t *document, const struct history *history, uint64_t now, struct networks *networks)
{
	static struct report report;
	double passed = -1, dropped = -1;
	json_t *minute = NULL, *all;

	report.top = TOP;
	report.networks = networks;
	report.window = HISTORY_MINUTE;
	if (!history_read(history, now, HISTORY_MINUTE, &report.history)) {
		history_rates(&report.history, now, &passed, &dropped);
		all = report_document(&report);
		minute = json_pack("{s:O*}", "series", json_object_get(all, "series"));
		json_decref(all);
	}
	json_object_set_new(document, "packets",
			    json_pack("{s:o, s:o}", "passed_per_second", rate(passed), "dropped_per_second",
				      rate(dropped)));
	json_object_set_new(document, "minute", minute ? minute : json_null());
	report.window = HISTORY_HOUR;
	json_object_set_new(document, "hour",
			    history_read(history, now, HISTORY_HOUR, &report.history) ? json_null()
										      : report_document(&report));
}

/* What it samples it samples while somebody asks: the first to ask get nothing yet. */
static json_t *passing_json(const struct page_passing *p, uint64_t now, const struct networks *networks)
{
	static struct history_sums sums;
	int64_t seconds = p->samples ? (clock_ms() - p->since) / 1000 : 0;
	json_t *document;

	memset(&sums, 0, sizeof(sums));
	if (p->samples)
		passing_sums(p->samples, now, &sums);
	document = json_pack("{s:I, s:I, s:f, s:o}", "seconds",
			     (json_int_t)(seconds < RECENT_SECONDS ? seconds : RECENT_SECONDS), "samples",
			     (json_int_t)sums.samples, "weighed", sums.weighed, "why",
			     p->why[0] ? out_text(p->why) : json_null());
	for (enum top t = 0; t < TOPS; t++)
		json_object_set_new(document, top_names[t], report_top(&sums, t, TOP, networks));
	return document;
}

/* As many pages are open as ask in the time that they wait. */
static void share_out(struct page *page, unsigned int asked)
{
	int64_t now = clock_ms();
	double pages = page->made && now > page->made ? asked * 1e3 * page->every / (double)(now - page->made) : 0;

	page->every = pages > EVERY_MOST * QUESTIONS ? EVERY_MOST : (int)(pages / QUESTIONS);
	page->every = page->every < EVERY ? EVERY : page->every;
	page->made = now;
}

/* How many sources were above the limit of which class. */
static json_t *above_json(const struct detector_sums *d)
{
	json_t *above = json_object();

	for (enum packet_class class = 0; class < LIMITED; class ++)
		if (d->above_of[class])
			json_object_set_new(above, limit_names[class], json_integer((json_int_t)d->above_of[class]));
	return above;
}

/* Of those above a limit, who was of late; null where it is off. */
static json_t *detector_json(const struct page *page, const struct context *context)
{
	struct detector_sums d;

	if (!page->detects || detector_now(context, &d))
		return json_null();
	return json_pack("{s:b, s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:s?, s:O}", "in_force", d.in_force, "above",
			 (json_int_t)d.above, "above_of", above_json(&d), "banned_sources", (json_int_t)d.banned,
			 "suspects", (json_int_t)d.tracked, "room", (json_int_t)d.room, "dropped",
			 (json_int_t)(d.packets[DETECTED_DROPPED] + d.packets[DETECTED_BANNED]), "untracked",
			 (json_int_t)d.packets[DETECTED_UNTRACKED], "busiest", *d.busiest ? d.busiest : NULL, "attacks",
			 page->attacks);
}

static json_t *document_of(struct page *page, const struct page_view *view, time_t now)
{
	char when[UTC_TEXT_MAX], host[256] = "";
	json_t *document;

	gethostname(host, sizeof(host) - 1);
	document = json_pack("{s:s, s:o, s:s, s:i, s:o, s:O}", "version", VERSION, "host", out_text(host), "time",
			     utc_text(when, now), "every", page->every, "health", health_json(page, view), "events",
			     page->events);
	if (!document)
		return NULL;
	json_object_update(document, page->known);
	look_at_history(document, view->history, (uint64_t)now, page->networks);
	json_object_set_new(document, "detector", detector_json(page, view->context));
	json_object_set_new(document, "passing", passing_json(view->passing, (uint64_t)now, page->networks));
	return document;
}

int page_json(struct page **made, const struct page_view *view, unsigned int asked, char **text, size_t *size)
{
	struct page *page = *made;
	time_t now = time(NULL);
	json_t *document;
	int err;

	if (!page) {
		*made = page = calloc(1, sizeof(*page));
		if (!page)
			return -ENOMEM;
		events_from_start(&page->tail, view->context->state);
	}
	if (!page->events)
		page->events = json_array();
	if (!page->attacks)
		page->attacks = json_array();
	share_out(page, asked);
	err = look(page, view->context, now);
	if (err)
		return err;
	read_events(page);
	document = document_of(page, view, now);
	*text = document ? json_dumps(document, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
	json_decref(document);
	*size = *text ? strlen(*text) : 0;
	return *text ? 0 : -ENOMEM;
}

void page_free(struct page *page)
{
	if (page) {
		json_decref(page->known);
		json_decref(page->unread);
		json_decref(page->events);
		json_decref(page->attacks);
		networks_close(page->networks);
	}
	free(page);
}
