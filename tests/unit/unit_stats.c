// SPDX-License-Identifier: GPL-2.0-only
/* stats and metrics: what is printed of counters that are made up, as text, as JSON and as rates; word for word. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/stop.h"
#include "change/change.h"
#include "kernel/attachment.h"
#include "observe/metrics.h"
#include "observe/tallies.h"
#include "typed.h"

static const struct shown known[] = {
#include "unit_stats.txt"
};

static struct shows shows = { .file = "tests/unit/unit_stats.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static int takes, fails_at, given_back, stops_at, full_at, written;
static int64_t now_ms;
static bool nothing, exact, polices, live, gone;
static unsigned int ports_of, lists_of;

static int given_take(const struct context *context, struct tallies *t)
{
	unsigned int k = (unsigned int)++takes;
	struct counted *n = &t->counted;

	(void)context;
	if (takes == fails_at)
		return because(-EIO, "it was not to be");
	memset(t, 0, sizeof(*t));
	t->at = (struct timespec){ now_ms / 1000, now_ms % 1000 * 1000000 };
	t->live_label_is_exact = exact;
	t->lists = calloc(4, sizeof(*t->lists));
	t->lists_n = lists_of;
	for (unsigned int i = 0; i < lists_of; i++) {
		t->lists[i].kind = (enum list_kind[]){ LIST_BAN, LIST_SHADOW, LIST_ALLOW, LIST_BAN }[i];
		t->lists[i].label = (uint8_t)(i + 1);
		snprintf(t->lists[i].name, LIST_NAME_MAX, "list%u", i);
	}
	t->ports = calloc(4, sizeof(*t->ports));
	t->ports_n = ports_of;
	for (unsigned int i = 0; i < ports_of; i++) {
		t->ports[i].ifindex = i + 2;
		snprintf(t->ports[i].name, IF_NAMESIZE, "eth%u", i);
		t->ports[i].match = i == 1 ? MATCH_LEAVING(MATCH_DESTINATION) : MATCH_SOURCE;
	}
	n->polices = polices;
	if (nothing)
		return 0;
	n->verdict[PASSED] = (struct tally){ 1000 * k, 64000 * k };
	n->verdict[DROPPED] = (struct tally){ 300 * k * k, 500000 * k };
	n->verdict[UNPARSED] = (struct tally){ 7 * k, 700 };
	for (unsigned int why = 0; why < REASONS; why++) {
		n->port[2][why] = (struct tally){ (why + 1) * k, 100 * why * k };
		n->out[3][why] = (struct tally){ (why + 1) * 10 * k, 1000 * why * k };
		n->port[4][why] = (struct tally){ why == REASON_DROPPED ? 5 : 0, 5 };
	}
	if (gone)
		n->port[PORT_RETIRED][0].packets = 9 * k;
	for (unsigned int i = 1; i < 5; i++)
		n->list[i] = (struct tally){ 11 * i * k, 1100 * i * k };
	if (live)
		n->list[LABEL_LIVE] = (struct tally){ 77 * k, 7700 * k };
	return 0;
}

static void given_free(struct tallies *t)
{
	given_back++;
	free(t->lists);
	free(t->ports);
}

static int given_poll(void *fds, int n, int ms)
{
	printf("  waits %d ms%s\n", ms, fds || n ? " on something" : "");
	now_ms += ms;
	if (takes == stops_at)
		stop_asked = SIGTERM;
	return 0;
}

static int given_end(void)
{
	return ++written == full_at ? EXIT_ERROR : out_end();
}

static int given_metrics(const struct context *context, FILE *out)
{
	(void)context;
	fprintf(out, "metrics\n");
	return fails_at ? because(-EIO, "it was not to be") : 0;
}

#define tallies_take		given_take
#define tallies_free		given_free
#define poll			given_poll
#define out_end			given_end
#define metrics_write		given_metrics
#define stop_on(signal)		printf("  ends by %d\n", signal)
#define change_check(of, words) ((void)(of), puts((words) ? "  a check of words?" : "  is it a check"))
#include "verbs/stats.c"
#undef poll

static void anew(void)
{
	fails_at = stops_at = full_at = 0;
	nothing = polices = gone = false;
	exact = live = true;
	ports_of = 3;
	lists_of = 4;
}

static void types(const char *line)
{
	takes = given_back = written = 0;
	now_ms = 5000;
	stop_asked = 0;
	typed(line);
	if (given_back != 1 && !fails_at)
		printf("  given back %d times\n", given_back);
	stop_asked = 0;
}

static void text(void)
{
	types("stats");
	exact = false;
	polices = gone = true;
	types("stats");
	live = false;
	ports_of = lists_of = 0;
	types("stats");
	ports_of = 1;
	lists_of = 1;
	gone = false;
	types("stats");
	nothing = true;
	types("stats");
}

static void json(void)
{
	types("stats --json");
	exact = false;
	polices = gone = true;
	types("stats --json");
	nothing = true;
	ports_of = lists_of = 0;
	types("stats --json");
}

static void rates(void)
{
	types("stats --interval 1s --count 1");
	types("stats --interval 0.5 --count 2 --json");
	types("stats --interval 2.0006 --count 22");
	nothing = true;
	types("stats --interval 1s --count 2");
	nothing = false;
	for (stops_at = 1; stops_at < 3; stops_at++)
		types("stats --interval 1s");
	stops_at = 2;
	types("stats --interval 1s --count 2");
	full_at = 2;
	types("stats --interval 1s --count 4");
}

static void cannot(void)
{
	types("stats --count 2");
	types("stats x");
	for (fails_at = 1; fails_at < 4; fails_at++)
		types("stats --interval 1s --count 2");
	fails_at = 1;
	types("stats");
	types("metrics");
	fails_at = 0;
	given_back = 1;
	full_at = 1;
	takes = written = 0;
	typed("metrics");
	full_at = 0;
	typed("metrics");
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "text", text }, { "JSON", json }, { "rates", rates }, { "cannot", cannot }
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), anew);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
