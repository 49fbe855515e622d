// SPDX-License-Identifier: GPL-2.0-only
#include "observe/metrics_pages.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kernel/live.h"
#include "observe/metrics.h"
#include "observe/page.h"
#include "state/bans.h"
#include "state/failed.h"
#include "state/kept_image.h"
#include "state/state.h"

/* How old an answer may be when there is a crowd. */
#define ANSWER_MS 1000

struct health {
	unsigned int status;
	const char *word;
	char why[sizeof(((struct list_failure *)0)->why) + 256]; /* a line, without its end; "": nothing to say */
};

/* The service looks at it when a command ends; meanwhile others may have written to it. */
static bool is_readable(struct metrics_pages *s)
{
	struct list_info *lists = NULL;
	struct state *state = NULL;
	uint64_t bans;
	size_t n;

	if (s->read && clock_ms() - s->read < ANSWER_MS)
		return s->readable;
	s->readable = !state_open(&state, s->context, false) && !lists_in_force(state, &lists, &n) &&
		      !state_bans_count(state, time(NULL), &bans);
	s->read = clock_ms();
	state_close(state);
	free(lists);
	return s->readable;
}

static void look_at_health(struct metrics_pages *s, struct health *h)
{
	struct list_failure *failed = NULL;
	struct generation live;
	char when[UTC_TEXT_MAX];
	size_t failed_n;

	*h = (struct health){ WEB_UNAVAILABLE, "failing", "" };
	list_failures(s->context, &failed, &failed_n);
	if (s->faults.now && !s->state_lost) {
		snprintf(h->why, sizeof(h->why), "%s", s->faults.text);
	} else if (kernel_live(s->context, &live)) {
		snprintf(h->why, sizeof(h->why), "no filter is in force, or it cannot be read");
	} else if (s->state_lost || !is_readable(s)) {
		snprintf(h->why, sizeof(h->why), "the state is lost, or cannot be read");
	} else {
		/* A refused list: what is in force filters. No reason to take the machine out of service. */
		h->status = WEB_OK;
		h->word = failed_n ? "degraded" : "ok";
		if (failed_n)
			snprintf(h->why, sizeof(h->why), "list '%s': refused since %s: %s", failed->list,
				 utc_text(when, failed->since), failed->why);
		else if (s->faults.n)
			snprintf(h->why, sizeof(h->why), "healed %llu times, at last at %s: %s", s->faults.n,
				 utc_text(when, s->faults.last), s->faults.text);
	}
	free(failed);
}

/* Whoever does not know the token hears how it is, not why: what asks may be no more than a load balancer. */
static void health(struct metrics_pages *s, bool known, struct web_page *page)
{
	struct health h;
	char text[sizeof(h.why) + 16];

	look_at_health(s, &h);
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
		"# HELP xdp_bloom_faults_total How often a part of the filter, or the state, was found to be gone.\n"
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

	look_at_health(s, &h);
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
	page_free(pages->page);
	explicit_bzero(&pages->token, sizeof(pages->token));
}
