// SPDX-License-Identifier: GPL-2.0-only
/* lists NAME: what is printed of a list, from a state, counters and a history that are made up; word for word. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernel/counters.h"
#include "observe/history.h"
#include "sets/reader.h"
#include "state/failed.h"
#include "state/kept_image.h"
#include "state/state.h"
#include "typed.h"

static const struct shown known[] = {
#include "unit_one_list.txt"
};

static struct shows shows = { .file = "tests/unit/unit_one_list.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define DATE 1767225600 /* 2026-01-01T00:00:00Z */

static int calls, fails_at;
static unsigned int sources, packets, unread;
static bool of_image, failed_before, no_memory, damaged;
static const char *scope, *where;

static int call(const char *what)
{
	return ++calls == fails_at ? because(-EIO, "%s: it was not to be", what) : 0;
}

static int given_open(struct state **state, const struct context *context, bool change)
{
	(void)context;
	*state = NULL;
	return call(change ? "opens to change" : "opens the state");
}

/* Two that overlap with the first, one that does not. */
static const struct {
	const char *name;
	enum list_kind kind;
	const char *text;
} lists[] = {
	{ "drop", LIST_BAN, "45.0.0.0/24 45.0.1.7 45.0.3.0-45.0.3.4 2001:db8::/32" },
	{ "watch", LIST_SHADOW, "45.0.0.0/25 2001:db8:7::/48" },
	{ "ours", LIST_ALLOW, "45.0.1.7" },
	{ "far", LIST_BAN, "46.0.0.0/8" },
	{ "hosts", LIST_BAN,
	  "47.0.0.0 47.0.0.2 47.0.0.4 47.0.0.6 47.0.0.8 47.0.0.10 47.0.0.12 47.0.0.14 47.0.0.16 47.0.0.18 47.0.0.20" }
};

static int given_lists(struct state *state, struct list_info **to, size_t *n)
{
	(void)state;
	*n = sizeof(lists) / sizeof(*lists);
	*to = calloc(*n, sizeof(**to));
	for (size_t i = 0; i < *n; i++) {
		(*to)[i] = (struct list_info){ .kind = lists[i].kind,
					       .label = (uint8_t)(i + 1),
					       .prefixes = 7 + i,
					       .addresses = "99",
					       .source = "a\tfile",
					       .loaded = "2025-12-31T23:59:00Z" };
		snprintf((*to)[i].name, LIST_NAME_MAX, "%s", lists[i].name);
		snprintf((*to)[i].scope, SCOPE_TEXT_MAX, "%s", scope);
		snprintf((*to)[i].where, WHERE_MAX, "%s", where);
	}
	return call("the lists");
}

static struct addr parsed(const char *text, unsigned int *length)
{
	struct addr first;

	if (prefix_parse(text, strlen(text), &first, length))
		abort();
	return first;
}

static int given_set(struct state *state, const char *name, struct ranges *set)
{
	char line[300];

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		if (strcmp(lists[i].name, name) != 0)
			continue;
		snprintf(line, sizeof(line), "%s", lists[i].text);
		for (char *at = strtok(line, " "); at; at = strtok(NULL, " ")) {
			char *end = strchr(at, '-');
			unsigned int length;
			struct addr first, last;

			if (end)
				*end = '\0';
			first = last = parsed(at, &length);
			if (end)
				last = parsed(end + 1, &length);
			else
				last.num |= addr_mask(first.family, length);
			if (first.family == 4 ? ranges_add4(set, (uint32_t)first.num, (uint32_t)last.num)
					      : ranges_add6(set, first.num, last.num))
				abort();
		}
	}
	return ranges_finish(set) ?: call(name);
}

static int given_counters(const struct context *context, struct counted *counted)
{
	(void)context;
	memset(counted, 0, sizeof(*counted));
	for (unsigned int i = 1; i < 6; i++) {
		counted->list[i] = (struct tally){ packets * i, 1000 * packets * i };
		counted->unread[i].packets = unread * i;
	}
	return call("the counters");
}

static int given_history(const struct context *context, struct history **history, bool write)
{
	(void)context;
	*history = NULL;
	return call(write ? "opens to write" : "the history");
}

static void source(struct history_report *report, size_t at, const char *text, unsigned int n, double stands_for)
{
	struct top_entry *e = &report->sums.top[TOP_SOURCES][at];
	unsigned int length;
	struct addr first = parsed(text, &length);

	*e = (struct top_entry){ .family = (uint32_t)first.family,
				 .lo = (uint64_t)first.num,
				 .hi = (uint64_t)(first.num >> 64),
				 .samples = n,
				 .packets = stands_for };
}

static int given_read(const struct history *h, uint64_t now, enum history_window w, struct history_report *report)
{
	static const char *const far_ones[] = { "45.0.0.1", "2001:db8::7", "45.0.1.7", "44.0.0.1",  "45.0.0.9",
						"45.0.3.4", "45.0.3.0",	   "45.0.3.1", "2001:db9::" };

	if (h || now != DATE || w != HISTORY_HOUR)
		return -EINVAL;
	memset(report, 0, sizeof(*report));
	for (unsigned int i = 0; i < sources; i++) {
		char text[40];

		snprintf(text, sizeof(text), sources < 20 ? "47.0.0.%u" : "45.0.0.%u", sources < 20 ? 2 * i : i);
		source(report, i, sources < 10 ? far_ones[i] : text, i + 1, 100.4 * (i + 1) + i * i);
	}
	return call("its last hour");
}

static void given_failures(const struct context *context, struct list_failure **failures, size_t *n)
{
	(void)context;
	*failures = calloc(2, sizeof(**failures));
	*n = failed_before ? 2 : 0;
	strcpy((*failures)[0].list, "dro");
	strcpy((*failures)[1].list, "drop");
	strcpy((*failures)[1].why, "no\tlist");
	(*failures)[1].since = DATE;
}

static int given_no_list(struct state *state, const char *name)
{
	(void)state;
	return because(-ENOENT, "there is no list '%s'", name);
}

#define state_open	 given_open
#define state_close(s)	 ((void)(s))
#define lists_in_force	 given_lists
#define because_no_list	 given_no_list
#define image_kept(s)	 (of_image)
#define state_list_set	 given_set
#define kernel_counters	 given_counters
#define history_open	 given_history
#define history_read	 given_read
#define history_close(h) ((void)(h))
#define list_failures	 given_failures
#define time(to)	 ((void)(to), (time_t)DATE)
#define calloc(n, size)	 (no_memory && (!damaged || (size) == sizeof(ip6)) ? NULL : calloc(n, size))
#include "verbs/one_list.c"
#undef calloc
#undef time

static void anew(void)
{
	fails_at = 0;
	sources = 0;
	packets = 5;
	unread = 0;
	of_image = failed_before = no_memory = damaged = false;
	scope = where = "";
}

/* True: a call failed, or would have. */
static bool types(const char *name, bool json)
{
	struct context context = CONTEXT_DEFAULT;
	int err = dup(STDERR_FILENO), status;

	printf("$ %s%s\n", name, json ? ", JSON" : "");
	fflush(stdout);
	dup2(STDOUT_FILENO, STDERR_FILENO);
	calls = 0;
	context.json = json;
	status = one_list(&context, name);
	fflush(stdout);
	dup2(err, STDERR_FILENO);
	close(err);
	printf("= %d\n", status);
	return calls >= fails_at;
}

static void both(const char *name)
{
	types(name, false);
	types(name, true);
}

static void each(void)
{
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		both(lists[i].name);
	both("none");
	both("");
}

static void more(void)
{
	failed_before = true;
	scope = "tcp/22";
	where = "kind = x";
	both("drop");
	both("watch");
	unread = 3;
	both("drop");
	scope = "";
	packets = 0;
	both("drop");
}

static void busiest(void)
{
	for (sources = 0; sources < 10; sources++)
		types("drop", false);
	sources = 9;
	types("drop", true);
	for (sources = 10; sources < 12; sources++)
		types("hosts", false);
	sources = TOP_ENTRIES;
	both("drop");
	both("watch");
}

static void image(void)
{
	of_image = true;
	sources = 5;
	both("drop");
	both("watch");
	both("ours");
}

static void cannot(void)
{
	sources = 1;
	for (fails_at = 1; types("drop", false); fails_at++)
		;
	fails_at = 0;
	no_memory = true;
	types("drop", false);
	damaged = true;
	types("drop", false);
}

static void word_for_word(void)
{
	static const struct scene scenes[] = { { "each", each },
					       { "more of one", more },
					       { "the busiest", busiest },
					       { "an image", image },
					       { "cannot", cannot } };

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), anew);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
