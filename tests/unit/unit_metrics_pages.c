// SPDX-License-Identifier: GPL-2.0-only
/*
 * What /, /page.json, /metrics and /healthz answer, to whom, and how old that may be: word for word. The state, the
 * kernel and the clock are made up.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/context.h"
#include "base/log.h"
#include "kernel/live.h"
#include "observe/agent_seen.h"
#include "observe/fresh.h"
#include "base/state_path.h"
#include "observe/lines_down.h"
#include "observe/metrics.h"
#include "observe/metrics_pages.h"
#include "observe/page.h"
#include "shown.h"
#include "state/bans.h"
#include "state/failed.h"
#include "state/kept_image.h"
#include "state/state.h"
#include "state/unshown.h"

static const struct shown texts[] = {
#include "unit_metrics_pages.txt"
};

static struct shows shows = { .file = "tests/unit/unit_metrics_pages.txt",
			      .known = texts,
			      .n = sizeof(texts) / sizeof(texts[0]) };

#define DATE 1767225600 /* 2026-01-01T00:00:00Z */

static struct context context = CONTEXT_DEFAULT;
static struct metrics_pages web;
static int64_t now_ms;
static int calls, fails_at;
static unsigned int refused_n, troubles;
static bool fleet_troubled, agent_troubled, overdue, no_filter, crowd, not_shown;
static size_t lines_fail, dropped, untold;
static int made;

static int call(const char *what)
{
	bool fails = ++calls == fails_at;

	printf("  %s%s\n", what, fails ? ": fails" : "");
	return fails ? -EIO : 0;
}

static int given_fresh(struct state *state, int64_t now, struct fresh **all, size_t *n)
{
	(void)state;
	if (call(now == DATE ? "what is fresh" : "what is fresh, when?"))
		return -EIO;
	*all = calloc(3, sizeof(**all));
	*n = 3;
	for (int i = 0; i < 3; i++) {
		snprintf((*all)[i].list, sizeof((*all)[i].list), "list%d", i);
		(*all)[i].good = i ? DATE - i : 0;
	}
	return 0;
}

static bool given_trouble(const struct fresh *f, bool served, char text[FRESH_TEXT_MAX])
{
	snprintf(text, FRESH_TEXT_MAX, "list '%s' is old%s", f->list, served ? "" : ", and not served");
	return f->list[4] - '0' < (int)troubles;
}

static void given_failures(const struct context *of, struct list_failure **failures, size_t *n)
{
	(void)of;
	*failures = calloc(refused_n + 1, sizeof(**failures));
	*n = refused_n;
	for (unsigned int i = 0; i < refused_n; i++) {
		snprintf((*failures)[i].list, sizeof((*failures)[i].list), "list%u", i);
		(*failures)[i].since = DATE - 60 * i;
		if (i == 3)
			memset((*failures)[i].why, 'w', sizeof((*failures)[i].why) - 1);
		else
			strcpy((*failures)[i].why, "no list");
	}
}

static int given_overdue(struct state *state, char text[OVERDUE_TEXT_MAX])
{
	(void)state;
	snprintf(text, OVERDUE_TEXT_MAX, "%s", overdue ? "exact has not gone back" : "");
	return call("what is overdue");
}

static bool given_fleet_trouble(const struct fleet_view *view, int64_t now, char text[FLEET_TEXT_MAX])
{
	(void)view;
	snprintf(text, FLEET_TEXT_MAX, "the fleet is silent%s", now == DATE ? "" : ", when?");
	return fleet_troubled;
}

static void given_lines(struct lines_down *down, const struct context *its, const char *file, bool served)
{
	(void)its;
	(void)served;
	if (!strcmp(file, STATE_NEEDS)) {
		down->n = dropped;
		snprintf(down->text[0], sizeof(down->text[0]), "what this machine needs is dropped: 192.0.2.1");
		return;
	}
	if (!strcmp(file, STATE_UNTOLD)) {
		down->n = untold;
		snprintf(down->text[0], sizeof(down->text[0]), "what other commands do is seen a second later");
		return;
	}
	down->n = lines_fail;
	for (size_t i = 0; i < down->n; i++)
		snprintf(down->text[i], sizeof(down->text[i]), "line %zu, 'follow bans', fails", i + 3);
}

static bool given_agent_trouble(const struct agent_seen *seen, char text[AGENT_TEXT_MAX])
{
	(void)seen;
	snprintf(text, AGENT_TEXT_MAX, "the agent is silent");
	return agent_troubled;
}

static bool given_unshown(const char *directory, int64_t now, char text[UNSHOWN_TEXT_MAX])
{
	(void)now;
	snprintf(text, UNSHOWN_TEXT_MAX, "something in %s is not shown", directory);
	return not_shown;
}

static int given_metrics(const struct context *of, FILE *out)
{
	fprintf(out, "metrics %d\n", ++made);
	return of == &context ? call("counts") : -EIO;
}

static int given_json(struct page **page, const struct page_view *view, unsigned int asked, char **text, size_t *size)
{
	int err = call("makes the page's document");

	(void)page;
	if (!err)
		*size = (size_t)asprintf(text, "{%d: %s, '%s', asked %u%s}\n", ++made, view->health, view->trouble,
					 asked, view->passing == &web.passing && view->context == &context ? "" : "?");
	return err;
}

static void given_html(struct web_page *page)
{
	*page = (struct web_page){ .status = WEB_OK, .type = "text/html" };
}

#define clock_ms()		    now_ms
#define time(to)		    ((void)(to), (time_t)DATE)
#define state_open(to, of, change)  ((void)(to), (void)(of), call((change) ? "opens to change" : "opens the state"))
#define state_close(state)	    ((void)(state))
#define lists_in_force(of, to, n)   ((void)(of), (void)(to), *(n) = 0, call("lists"))
#define state_bans_count(of, at, n) ((void)(of), *(n) = 0, call((at) == DATE ? "bans" : "bans, when?"))
#define fresh_take		    given_fresh
#define fresh_trouble		    given_trouble
#define fleet_view_take(v, c, of)   ((void)(v), (void)(c), (void)(of), call("the fleet"))
#define fleet_view_free(view)	    ((void)(view))
#define overdue_trouble		    given_overdue
#define fleet_trouble		    given_fleet_trouble
#define list_failures		    given_failures
#define agent_seen_take(seen, of)   memset(seen, 0, sizeof(*(seen)))
#define agent_trouble		    given_agent_trouble
#define lines_down_take		    given_lines
#define unshown_trouble		    given_unshown
#define kernel_live(of, to)	    ((void)(of), (void)(to), no_filter ? -ENOENT : 0)
#define metrics_write		    given_metrics
#define page_json		    given_json
#define page_html		    given_html
#define page_free(page)		    ((void)(page))
#include "observe/metrics_pages.c"

static void begin(void)
{
	metrics_forget(&web);
	web = (struct metrics_pages){ .context = &context, .shown = true };
	now_ms = 5000000;
	calls = fails_at = made = 0;
	refused_n = troubles = 0;
	fleet_troubled = agent_troubled = overdue = no_filter = crowd = not_shown = false;
	lines_fail = dropped = untold = 0;
}

static void asks(const char *path, const char *token)
{
	struct web_request request = { .path = path, .token = token, .crowd = crowd };
	struct web_page page = { 0 };

	calls = 0;
	printf("> %s%s%s\n", path, token ? ", " : "", token ?: "");
	metrics_answer(&web, &request, &page);
	printf("%u %s%s: %.*s\n", page.status, page.type ?: "-", page.ends ? ", and ends" : "", (int)page.size,
	       page.text ?: "");
	free(page.text);
}

static void to_whom(void)
{
	static const char *const paths[] = { "/", "/page.json", "/metrics", "/healthz", "/other", "/metrics/", "" };

	for (int kind = 0; kind < 6; kind++) {
		begin();
		web.open = kind == 1 || kind == 4;
		web.shown = kind != 2;
		web.token.wanted = kind >= 3;
		strcpy(web.token.text, kind >= 3 ? "secret" : "");
		printf("-- %s%s%s\n", web.open ? "open" : "closed", web.shown ? ", shown" : "",
		       web.token.wanted ? ", with a token" : "");
		for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
			asks(paths[i], kind == 4 ? "wrong" : kind == 5 ? "secret" : NULL);
	}
	printf("looked at %lld\n", (long long)web.looked);
}

static void asks_with_token(void)
{
	web.token.wanted = true;
	strcpy(web.token.text, "secret");
	asks("/healthz", "secret");
	web.token.wanted = false;
}

/* As a second later: everybody hears what is wrong, and whoever knows the token also why. */
static void looks(void)
{
	web.read = 0;
	asks("/healthz", NULL);
	asks_with_token();
}

static void healths(void)
{
	asks("/healthz", NULL);
	now_ms += 999;
	asks("/healthz", NULL);
	now_ms += 1;
	asks("/healthz", NULL);
	for (fails_at = 1; fails_at <= 6; fails_at++) {
		web.read = 0;
		asks("/healthz", NULL);
		asks("/healthz", NULL);
	}
	begin();
	no_filter = true;
	asks("/healthz", NULL);
	no_filter = false;
	web.state_lost = true;
	asks("/healthz", NULL);
	web.faults = (struct faults){ .n = 3, .now = true, .last = DATE, .text = "a map is gone" };
	asks("/healthz", NULL);
	web.state_lost = false;
	asks("/healthz", NULL);
	asks_with_token();
	web.token.wanted = true;
	asks("/healthz", NULL);
	web.faults.now = false;
	asks("/healthz", NULL);
	web.token.wanted = false;
	asks("/healthz", NULL);
	asks_with_token();
	puts("-- lists");
	for (refused_n = 0; refused_n <= 4; refused_n++)
		for (troubles = 0; troubles <= 3; troubles++)
			looks();
	refused_n = 1;
	troubles = 0;
	for (int kind = 1; kind < 4; kind++) {
		fleet_troubled = kind & 1;
		agent_troubled = kind & 2;
		looks();
	}
	not_shown = true;
	looks();
	overdue = true;
	looks();
	not_shown = false;
	untold = 1;
	asks("/healthz", NULL);
	untold = 0;
	for (lines_fail = 1; lines_fail <= 2; lines_fail++)
		looks();
	begin();
	lines_fail = 1;
	asks("/healthz", NULL);
	puts("-- what is needed and dropped");
	begin();
	dropped = 1;
	asks("/healthz", NULL);
	asks_with_token();
}

static void ages(void)
{
	for (int kind = 0; kind < 2; kind++) {
		const char *path = kind ? "/page.json" : "/metrics";

		begin();
		for (crowd = false;; crowd = true) {
			asks(path, NULL);
			now_ms += 999;
			asks(path, NULL);
			asks(path, NULL);
			now_ms += 1;
			asks(path, NULL);
			if (crowd)
				break;
		}
		now_ms += 1000;
		fails_at = kind ? 6 : 1;
		asks(path, NULL);
		fails_at = 0;
	}
	web.faults = (struct faults){ .n = 2, .now = true, .text = "a map is gone" };
	asks("/metrics", NULL);
	fails_at = 1;
	asks("/metrics", NULL);
	now_ms += 1000;
	asks("/page.json", NULL);
	fails_at = 0;
	now_ms += 1000;
	asks("/page.json", NULL);
}

static void word_for_word(void)
{
	static const struct scene scenes[] = { { "to whom", to_whom }, { "health", healths }, { "ages", ages } };

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
	strcpy(web.token.text, "secret");
	metrics_forget(&web);
	CHECK(!web.token.text[0], "the token is not forgotten");
	web = (struct metrics_pages){ 0 };
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
