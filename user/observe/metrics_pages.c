// SPDX-License-Identifier: GPL-2.0-only
#include "observe/metrics_pages.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/context.h"
#include "base/log.h"
#include "base/state_path.h"
#include "kernel/live.h"
#include "observe/agent_seen.h"
#include "observe/fresh.h"
#include "observe/lines_down.h"
#include "observe/metrics.h"
#include "observe/page.h"
#include "state/bans.h"
#include "state/failed.h"
#include "state/kept_image.h"
#include "state/state.h"
#include "state/unshown.h"

/* How old an answer may be when there is a crowd. */
#define ANSWER_MS 1000

struct health {
	unsigned int status;
	const char *word;
	char why[4096]; /* lines, without the last end; "": nothing to say */
	size_t n;	/* bytes of it */
	unsigned int lines;
	bool secret; /* whoever asks may know no more of a reason than that there is one */
};

/* The others are a number. */
#define LINES_MOST 4

/* The service looks at it when a command ends; meanwhile others may have written to it. */
static bool is_readable(struct metrics_pages *s)
{
	struct list_info *lists = NULL;
	struct state *state = NULL;
	uint64_t bans;
	size_t n;

	if (s->read && clock_ms() - s->read < ANSWER_MS)
		return s->readable;
	free(s->fresh);
	s->fresh = NULL;
	s->fresh_n = 0;
	fleet_view_free(&s->fleet);
	s->readable = !state_open(&state, s->context, false) && !lists_in_force(state, &lists, &n) &&
		      !state_bans_count(state, time(NULL), &bans) &&
		      !fresh_take(state, time(NULL), &s->fresh, &s->fresh_n) &&
		      !fleet_view_take(&s->fleet, s->context, state) && !overdue_trouble(state, s->overdue);
	s->read = clock_ms();
	state_close(state);
	free(lists);
	return s->readable;
}

PRINTF(2, 3) static void because_of(struct health *h, const char *fmt, ...)
{
	size_t room = sizeof(h->why) - h->n;
	va_list args;
	int n;

	if (h->lines++ >= LINES_MOST)
		return;
	if (h->n && room > 1) {
		h->why[h->n++] = '\n';
		room--;
	}
	va_start(args, fmt);
	n = vsnprintf(h->why + h->n, room, fmt, args);
	va_end(args);
	h->n += n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}

/* Lists whose next version was refused, and those that nobody renews. What is in force filters. */
static void look_at_lists(const struct metrics_pages *s, struct health *h)
{
	static const char *const plain[] = { STATE_UNTOLD, STATE_LINES };
	struct list_failure *failed = NULL;
	char when[UTC_TEXT_MAX], good[UTC_TEXT_MAX], text[FRESH_TEXT_MAX], fleet[FLEET_TEXT_MAX];
	char agents[AGENT_TEXT_MAX], unshown[UNSHOWN_TEXT_MAX];
	struct agent_seen agent;
	struct lines_down lines;
	size_t failed_n;

	if (*s->overdue)
		because_of(h, "%s",
			   h->secret ? "a change was not confirmed in time, and has not gone back" : s->overdue);
	if (unshown_trouble(s->context->state, time(NULL), unshown))
		because_of(h, "%s", unshown);
	list_failures(s->context, &failed, &failed_n);
	for (size_t i = 0; i < failed_n; i++) {
		const struct fresh *f = fresh_find(s->fresh, s->fresh_n, failed[i].list);

		because_of(h, "list '%s': refused since %s%s%s%s%s", failed[i].list, utc_text(when, failed[i].since),
			   h->secret ? "" : ": ", h->secret ? "" : failed[i].why,
			   f && f->good ? "; its server last had it at " : "",
			   f && f->good ? utc_text(good, f->good) : "");
	}
	free(failed);
	for (size_t i = 0; i < s->fresh_n; i++)
		if (fresh_trouble(&s->fresh[i], true, text))
			because_of(h, "%s", text);
	if (fleet_trouble(&s->fleet, time(NULL), fleet))
		because_of(h, "%s", h->secret ? "fleet: 'xdp-bloom status' says what is wrong" : fleet);
	lines_down_take(&lines, s->context, STATE_NEEDS, true);
	for (size_t i = 0; i < lines.n; i++)
		because_of(h, "%s",
			   h->secret ? "what this machine needs is dropped: 'xdp-bloom status' says what"
				     : lines.text[i]);
	for (size_t k = 0; k < sizeof(plain) / sizeof(plain[0]); k++) {
		lines_down_take(&lines, s->context, plain[k], true);
		for (size_t i = 0; i < lines.n; i++)
			because_of(h, "%s", lines.text[i]);
	}
	agent_seen_take(&agent, s->context);
	if (agent_trouble(&agent, agents))
		because_of(h, "%s", h->secret ? "crowdsec: the agent does not answer" : agents);
	if (h->lines > LINES_MOST) {
		unsigned int more = h->lines - LINES_MOST;

		h->lines = 0;
		because_of(h, "and %u more lines of this kind: xdp-bloom status", more);
	}
}

static void look_at_health(struct metrics_pages *s, struct health *h, bool secret)
{
	struct generation live;
	char when[UTC_TEXT_MAX];

	*h = (struct health){ .status = WEB_UNAVAILABLE, .word = "failing", .secret = secret };
	if (s->faults.now && !s->state_lost) {
		because_of(h, "%s",
			   secret ? "a part of the filter is gone or cannot be seen, or an interface is not filtered"
				  : s->faults.text);
	} else if (kernel_live(s->context, &live)) {
		because_of(h, "no filter is in force, or it cannot be read");
	} else if (s->state_lost || !is_readable(s)) {
		because_of(h, "the state is lost, or cannot be read");
	} else {
		/* No reason to take the machine out of service. */
		h->status = WEB_OK;
		look_at_lists(s, h);
		h->word = h->n ? "degraded" : "ok";
		if (!h->n && s->faults.n)
			because_of(h, "healed %llu times, at last at %s%s%s", s->faults.n,
				   utc_text(when, s->faults.last), secret ? "" : ": ", secret ? "" : s->faults.text);
	}
}

/*
 * Whoever does not know the token hears how it is, not why: what asks may be no more than a load balancer. Where there
 * is none, everybody hears what is wrong; a reason may quote a file, or say what this machine needs.
 */
static void health(struct metrics_pages *s, bool known, struct web_page *page)
{
	struct health h;
	char text[sizeof(h.why) + 16];

	look_at_health(s, &h, !s->token.wanted);
	if (!known || !h.why[0])
		snprintf(text, sizeof(text), "%s\n", h.word);
	else
		snprintf(text, sizeof(text), "%s%s%s\n", h.status == WEB_OK ? h.word : "",
			 h.status == WEB_OK ? "\n" : "", h.why);
	web_line(page, h.status, text);
}

static void fault_lines(const struct metrics_pages *s, FILE *out)
{
	fprintf(out,
		"# HELP xdp_bloom_faults_total How often a part of the filter, or the state, was gone, or an interface could not "
		"be filtered.\n"
		"# TYPE xdp_bloom_faults_total counter\nxdp_bloom_faults_total %llu\n"
		"# HELP xdp_bloom_faulty Whether something still is.\n"
		"# TYPE xdp_bloom_faulty gauge\nxdp_bloom_faulty %d\n",
		s->faults.n, s->faults.now);
}

static int count(struct metrics_pages *s, struct answered *answer)
{
	FILE *out = open_memstream(&answer->text, &answer->size);
	int err;

	if (!out)
		return -ENOMEM;
	err = metrics_write(s->context, out);
	/* Where a part is gone that is all there is to say. */
	if (s->faults.now)
		err = 0;
	if (!err)
		fault_lines(s, out);
	if (fclose(out) && !err)
		err = -ENOMEM;
	return err;
}

static int look_around(struct metrics_pages *s, struct answered *answer)
{
	struct health h;

	look_at_health(s, &h, false);
	return page_json(&s->page,
			 &(struct page_view){ s->context, s->history, h.word, strcmp(h.word, "ok") ? h.why : "",
					      &s->passing },
			 s->now.asked, &answer->text, &answer->size);
}

/* What was answered a moment ago is answered again, where `again` says so. */
static void answer(struct metrics_pages *s, struct answered *last, bool again, struct web_page *page,
		   int (*make)(struct metrics_pages *s, struct answered *answer))
{
	last->asked++;
	if (!last->text || !again || clock_ms() - last->at >= ANSWER_MS) {
		struct answered fresh = { 0 };

		if (make(s, &fresh)) {
			free(fresh.text);
			web_line(page, WEB_FAILED, "what it shows cannot be read\n");
			return;
		}
		free(last->text);
		*last = fresh;
		last->at = clock_ms();
	}
	page->text = malloc(last->size + 1);
	page->size = last->size;
	if (page->text)
		memcpy(page->text, last->text, last->size);
}

void metrics_answer(void *pages, const struct web_request *request, struct web_page *page)
{
	struct metrics_pages *s = pages;
	bool known = !s->token.wanted || token_is(&s->token, request->token);
	bool is_page = !strcmp(request->path, "/"), is_json = !strcmp(request->path, "/page.json");

	if (!strcmp(request->path, "/healthz")) {
		health(s, known, page);
	} else if ((is_page || is_json) && !s->token.wanted && (s->open || !s->shown)) {
		web_line(page, WEB_FORBIDDEN,
			 s->open ? "beyond this machine the page is shown with run --listen-token FILE\n"
				 : "the page is shown with run --listen-token FILE, or to every user of this machine "
				   "with run --page\n");
	} else if (is_page) {
		/* It has nothing in it: a browser has no other way to ask for the token. */
		page_html(page);
	} else if (!is_json && strcmp(request->path, "/metrics") != 0) {
		web_line(page, WEB_NOT_FOUND, "/, /metrics or /healthz\n");
	} else if (!known) {
		web_line(page, WEB_NO_TOKEN, "a token is needed: Authorization: Bearer TOKEN\n");
	} else if (is_json) {
		s->looked = clock_ms();
		*page = (struct web_page){ .status = WEB_OK, .type = "application/json", .ends = true };
		answer(s, &s->now, true, page, look_around);
	} else {
		*page = (struct web_page){ .status = WEB_OK, .type = "text/plain; version=0.0.4; charset=utf-8" };
		answer(s, &s->counters, request->crowd, page, count);
	}
}

void metrics_forget(struct metrics_pages *pages)
{
	free(pages->counters.text);
	free(pages->now.text);
	free(pages->fresh);
	fleet_view_free(&pages->fleet);
	page_free(pages->page);
	explicit_bzero(&pages->token, sizeof(pages->token));
}
