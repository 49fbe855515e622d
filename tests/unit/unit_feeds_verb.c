// SPDX-License-Identifier: GPL-2.0-only
/* feeds: a line of each list that is fetched, and its document, from a state that is made up; word for word. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "change/load.h"
#include "observe/fresh.h"
#include "observe/history.h"
#include "sets/alone.h"
#include "state/accepted.h"
#include "state/feeds.h"
#include "state/state.h"
#include "typed.h"

static const struct shown known_texts[] = {
#include "unit_feeds_verb.txt"
};

static struct shows shows = { .file = "tests/unit/unit_feeds_verb.txt",
			      .known = known_texts,
			      .n = sizeof(known_texts) / sizeof(known_texts[0]) };

#define DATE 1767225600 /* 2026-01-01T00:00:00Z */

static int calls, fails_at, dropped_at;
static unsigned int feeds_n, more_lists;
static bool accepted_is, no_memory;
static double day4, day6;
static struct feed feed;
static enum list_kind kind;
static const char *sets[3]; /* of lists one, two, three: so many IPv4 addresses from 45.0.0.0 on, or v6 */

static int call(const char *what)
{
	return ++calls == fails_at ? because(-EIO, "%s: it was not to be", what) : 0;
}

static int given_open(struct state **state, const struct context *context, bool change)
{
	(void)context;
	*state = NULL;
	return call(change ? "to change" : "the state");
}

static int given_feeds(struct state *state, struct feed **all, size_t *n)
{
	static const char *const names[] = { "one", "two", "none" };

	(void)state;
	*all = calloc(4, sizeof(**all));
	*n = feeds_n;
	for (unsigned int i = 0; i < feeds_n; i++) {
		(*all)[i] = feed;
		snprintf((*all)[i].list, LIST_NAME_MAX, "%s", names[i]);
		snprintf((*all)[i].url, FETCH_URL_MAX, "https://h/%u", i);
		(*all)[i].there = strcmp(names[i], "none") != 0;
	}
	return call("the feeds");
}

static struct list_info list_of(const char *name)
{
	struct list_info list = { .kind = kind, .prefixes = 1234 };

	snprintf(list.name, LIST_NAME_MAX, "%s", name);
	return list;
}

static int given_list(struct state *state, const char *name, struct list_info *list)
{
	(void)state;
	*list = list_of(name);
	return !strcmp(name, "none") ? -ENOENT : call("a list");
}

static int given_lists(struct state *state, struct list_info **lists, size_t *n)
{
	(void)state;
	*n = 3 + more_lists;
	*lists = calloc(*n, sizeof(**lists));
	for (size_t i = 0; i < *n; i++)
		(*lists)[i] = list_of(i == 0 ? "one" : i == 1 ? "two" : "three");
	(*lists)[2].kind = LIST_ALLOW;
	return call("the lists");
}

static int given_set(struct state *state, const char *name, struct ranges *set)
{
	const char *is = sets[!strcmp(name, "one") ? 0 : !strcmp(name, "two") ? 1 : 2] ?: "";

	(void)state;
	for (; *is; is++) {
		unsigned int at = (unsigned int)(*is - 'a');

		if (*is >= 'a' ? ranges_add4(set, 0x2d000000 + 4 * at, 0x2d000000 + 4 * at)
			       : ranges_add6(set, (ip6)(unsigned int)*is << 100, (ip6)(unsigned int)*is << 100))
			abort();
	}
	return ranges_finish(set) ?: call("a set");
}

static int given_accepted(struct state *state, const char *list, struct accepted *a)
{
	(void)state, (void)list;
	*a = (struct accepted){ .known = accepted_is, .day = { day4, day6 } };
	return call("what was accepted");
}

static int given_history(const struct context *context, struct history **history, bool write)
{
	(void)context;
	*history = NULL;
	return write ? -EINVAL : ++calls == fails_at ? -EIO : 0;
}

static int given_read(const struct history *h, uint64_t now, enum history_window w, struct history_report *report)
{
	if (h || now != DATE || w != HISTORY_HOUR)
		return -EINVAL;
	memset(report, 0, sizeof(*report));
	strcpy(report->lists[dropped_at].name, "one");
	report->sums.list[dropped_at].packets = 4321;
	return ++calls == fails_at ? -EIO : 0;
}

static void given_check(const struct call *of, const char *what)
{
	printf("  %s:", what);
	for (int i = 0; i < of->n; i++)
		printf(" %s", of->operands[i]);
	puts("");
}

#define state_open	   given_open
#define state_close(s)	   ((void)(s))
#define state_feeds	   given_feeds
#define state_list_get	   given_list
#define state_lists	   given_lists
#define state_list_set	   given_set
#define state_accepted_get given_accepted
#define history_open	   given_history
#define history_read	   given_read
#define history_close(h)   ((void)(h))
#define time(to)	   ((void)(to), (time_t)DATE)
#define feeds_check(of)	   (given_check(of, "check"), EXIT_DONE)
#define feeds_known(of)	   (given_check(of, "known"), EXIT_DONE)
#define calloc(n, size)	   (no_memory && ((n) == 1) == (fails_at == 77) ? NULL : calloc(n, size))
#define shown		   shown_feed /* there is one in shown.h */
#include "verbs/feeds.c"
#undef shown
#undef calloc
#undef time

static void anew(void)
{
	fails_at = more_lists = 0;
	feeds_n = 3;
	accepted_is = no_memory = false;
	day4 = day6 = 0;
	dropped_at = 7;
	kind = LIST_BAN;
	feed = (struct feed){ .every = 3600, .good = DATE - 60, .tried = DATE - 60, .next = DATE + 3540 };
	sets[0] = "abcd1";
	sets[1] = "de";
	sets[2] = "";
}

/* True: a call failed, or would have. */
static bool types(const char *line)
{
	calls = 0;
	typed(line);
	return calls >= fails_at;
}

static void both(void)
{
	types("feeds");
	types("feeds --json");
}

static void each(void)
{
	both();
	feeds_n = 0;
	both();
	types("feeds --quiet");
	feeds_n = 1;
	feed.tried = feed.good = feed.next = 0;
	both();
	strcpy(feed.result, "http\t404");
	strcpy(feed.key, "key");
	feed.failures = 4;
	feed.changed = DATE - 7;
	feed.max_age = 86400;
	feed.then = FEED_SHADOW;
	both();
}

static void amounts(void)
{
	static const struct {
		const char *one, *other;
		double day4, day6;
	} all[] = { { "abcd", "", 2, 0 }, { "abcd", "abcd", 9, 0 }, { "abcd", "abc", 4, 0 },
		    { "123", "", 0, 1 },  { "123", "12", 0, 7 },    { "123", "123", 0, 3 },
		    { "", "", 1, 1 },	  { "a1", "a", 0, 0 },	    { "abcdefgh", "h", 0, 0 } };

	feeds_n = 1;
	for (int how = 0; how < 2; how++) {
		accepted_is = how;
		for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
			sets[0] = all[i].one;
			sets[1] = all[i].other;
			day4 = all[i].day4;
			day6 = all[i].day6;
			printf("'%s', '%s', %g %g\n", sets[0], sets[1], day4, day6);
			both();
		}
	}
	kind = LIST_SHADOW;
	types("feeds");
	kind = LIST_ALLOW;
	both();
	kind = LIST_BAN;
	for (dropped_at = 0; dropped_at < LABELS; dropped_at += LABELS - 1)
		types("feeds");
}

static void cannot(void)
{
	feeds_n = 1;
	for (fails_at = 1; types("feeds"); fails_at++)
		;
	fails_at = 1;
	types("feeds --json");
	fails_at = 0;
	for (more_lists = ALONE_MOST - 3; more_lists < ALONE_MOST - 1; more_lists++)
		types("feeds");
	more_lists = 0;
	no_memory = true;
	types("feeds");
	fails_at = 77;
	types("feeds");
}

static void ways(void)
{
	static const char *const all[] = {
		"feeds known",	      "feeds known x",	  "feeds known x more",	   "feeds check @x",
		"feeds check",	      "feeds other",	  "feeds check @x more",   "feeds check @x --format csv",
		"feeds --format csv", "feeds --lan",	  "feeds known --lan",	   "feeds --insecure",
		"feeds --key k",      "feeds --skip-bad", "feeds --where 'a = b'", "feeds --header-file f",
	};

	feeds_n = 0;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		types(all[i]);
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "each", each }, { "amounts", amounts }, { "cannot", cannot }, { "ways", ways }
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), anew);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
