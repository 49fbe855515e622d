// SPDX-License-Identifier: GPL-2.0-only
#include "observe/metrics_pages.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kernel/live.h"
#include "observe/metrics.h"
#include "state/failed.h"

/* How old an answer may be when there is a crowd. */
#define ANSWER_MS 1000

static void health(const struct metrics_pages *s, struct web_page *page)
{
	struct generation live;
	struct list_failure *failed;
	char text[sizeof(failed->why) + 256], when[UTC_TEXT_MAX];
	size_t failed_n;

	if (s->faults.now && !s->state_lost) {
		snprintf(text, sizeof(text), "%s\n", s->faults.text);
		web_line(page, WEB_UNAVAILABLE, text);
	} else if (kernel_live(s->context, &live)) {
		web_line(page, WEB_UNAVAILABLE, "no filter is in force, or it cannot be read\n");
	} else if (s->state_lost) {
		web_line(page, WEB_UNAVAILABLE, "the state is lost, or cannot be read\n");
	} else if (list_failures(s->context, &failed, &failed_n), failed_n) {
		/* What is in force filters: not a reason to take the machine out of service. */
		snprintf(text, sizeof(text), "degraded\nlist '%s': refused since %s: %s\n", failed->list,
			 utc_text(when, failed->since), failed->why);
		web_line(page, WEB_OK, text);
		free(failed);
	} else {
		snprintf(text, sizeof(text), "ok\nhealed %llu times, at last at %s: %s\n", s->faults.n,
			 utc_text(when, s->faults.last), s->faults.text);
		web_line(page, WEB_OK, s->faults.n ? text : "ok\n");
	}
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

/* The counters of now; in a crowd, of a moment ago. */
static int count(struct metrics_pages *s, bool crowd)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out;
	int err;

	if (s->text && crowd && clock_ms() - s->at < ANSWER_MS)
		return 0;
	out = open_memstream(&text, &size);
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
	if (err) {
		free(text);
		return err;
	}
	free(s->text);
	s->text = text;
	s->size = size;
	s->at = clock_ms();
	return 0;
}

static void counters(struct metrics_pages *s, bool crowd, struct web_page *page)
{
	if (count(s, crowd)) {
		web_line(page, WEB_FAILED, "the counters cannot be read\n");
		return;
	}
	*page = (struct web_page){ .status = WEB_OK,
				   .type = "text/plain; version=0.0.4; charset=utf-8",
				   .text = malloc(s->size + 1),
				   .size = s->size };
	if (page->text)
		memcpy(page->text, s->text, s->size);
}

void metrics_answer(void *pages, const char *path, bool crowd, struct web_page *page)
{
	if (!strcmp(path, "/healthz"))
		health(pages, page);
	else if (!strcmp(path, "/metrics"))
		counters(pages, crowd, page);
	else
		web_line(page, WEB_NOT_FOUND, "/metrics or /healthz\n");
}

void metrics_forget(struct metrics_pages *pages)
{
	free(pages->text);
	pages->text = NULL;
}
