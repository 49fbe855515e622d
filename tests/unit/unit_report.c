// SPDX-License-Identifier: GPL-2.0-only
/* A window of the history as text, as JSON and as a page. */
#include <errno.h>

#include "base/context.h"
#include "base/log.h"
#include "base/out.h"
#include "observe/attack_log.h"
#include "observe/report.h"
#include "sets/networks.h"
#include "made_networks.h"
#include "made_sums.h"
#include "shown.h"

static const struct shown known[] = {
#include "unit_report.txt"
};
static struct shows shows = { .file = "tests/unit/unit_report.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(*known) };
/* --- What it is taken from --- */

static const char *const *over; /* of attacks that were detected; "": is not over */
static bool fails_to_open, fails_to_read;
static int histories;
static uint64_t since;

static int given_open(const struct context *context, struct history **history, bool change)
{
	if (change || strcmp(context->state, "state") != 0)
		abort();
	*history = fails_to_open ? NULL : malloc(1);
	histories += !fails_to_open;
	return fails_to_open ? -ENOENT : 0;
}

static void given_close(struct history *history)
{
	histories -= history != NULL;
	free(history);
}

static int given_read(const struct history *history, uint64_t now, enum history_window window,
		      struct history_report *report)
{
	if (!history || window != HISTORY_DAY || now != 1800000000 || report->points_n)
		abort();
	report->sums.from = since;
	return fails_to_read ? -EAGAIN : 0;
}

static struct networks *given_networks(const char *directory)
{
	printf("networks of %s\n", directory);
	return NULL;
}

static json_t *given_log(const char *directory)
{
	json_t *attacks = json_array();

	printf("attacks of %s\n", directory);
	for (size_t i = 0; over[i]; i++)
		json_array_append_new(attacks, *over[i] ? json_pack("{s:s}", "ended", over[i]) : json_object());
	return attacks;
}

#define history_open   given_open
#define history_close  given_close
#define history_read   given_read
#define networks_open  given_networks
#define attack_log(of) given_log(of)
static bool full; /* standard output */
#define out_end() (full ? EXIT_ERROR : out_end())
#define time(to)  ((time_t)1800000000)
#include "observe/report.c"
#undef time

static struct report r;

static const struct context plain = { 0 };

static void list(unsigned int place, const char *name, uint32_t kind, uint64_t packets)
{
	snprintf(r.history.lists[place].name, sizeof(r.history.lists[place].name), "%s", name);
	r.history.lists[place].kind = kind;
	r.history.sums.list[place] = (struct tally){ packets, packets * 60 };
}

static void attack(uint64_t begin, uint64_t end, uint64_t packets, double peak)
{
	r.history.attacks[r.history.attacks_n++] =
		(struct history_attack){ begin, end, { packets, packets * 100 }, peak };
}

static void nothing_happened(void)
{
	memset(&r, 0, sizeof(r));
	r.window = HISTORY_DAY;
	r.top = 10;
	r.history.sums.from = 1800000000;
	r.history.sums.until = 1800086400;
	r.history.points_n = 2;
	r.history.point_seconds = 60;
	r.history.points[0].at = 1800000000;
	r.history.points[1].at = 1800086340;
}

static void much_happened(void)
{
	struct history_sums *s = &r.history.sums;

	nothing_happened();
	r.window = HISTORY_HOUR;
	r.top = 2;
	s->verdict[PASSED] = (struct tally){ 5000, 7000000 };
	s->verdict[DROPPED] = (struct tally){ 2001, 120060 };
	s->peak = 1234.4;
	s->peak_at = 1800000007;
	s->samples = 30;
	s->weighed = 1800;
	list(0, "", LIST_BAN, 1);
	list(1, "few", LIST_BAN, 500);
	list(2, "many", LIST_BAN, 1500);
	list(3, "counted", LIST_SHADOW, 40);
	list(4, "empty", LIST_BAN, 0);
	list(5, "a few & <more>", LIST_BAN, 500);
	list(LABELS - 1, "last", LIST_BAN, 3);
	made_entry(&r.history.sums, TOP_SOURCES, 0, 0, 0xc0000207, 4, 15);
	made_entry(&r.history.sums, TOP_SOURCES, 1, 0x20010db800000000, 7, 6, 10);
	made_entry(&r.history.sums, TOP_SOURCES, 2, 0, 0xc0000208, 4, 5);
	made_entry(&r.history.sums, TOP_NETWORKS, 0, 0, 0xc0000200, 4, 20);
	made_entry(&r.history.sums, TOP_NETWORKS, 1, 0x20010db800010000, 0, 6, 10);
	made_entry(&r.history.sums, TOP_PORTS, 0, 17, 1 + 53, 4, 20);
	made_entry(&r.history.sums, TOP_PORTS, 1, 1, 0, 4, 10);
	made_entry(&r.history.sums, TOP_INSIDE, 0, 0, 0x0a000005, 4, 12);
	attack(1800000900, 1800000960, 1700, 1234.4);
	attack(1800000300, 1800000301, 200, 1001);
	attack(1800000100, 1800000100, 100, 1000);
	r.history.points_n = 5;
	for (unsigned int i = 0; i < 5; i++)
		r.history.points[i] = (struct history_point){ 1800000000 + 60 * i, 1000 * i, 500 * (4 - i), 30000 };
}

static void printed(const char *name, void (*happened)(void))
{
	char what[32];

	happened();
	shows_begin(&shows);
	(void)report_text(&r);
	snprintf(what, sizeof(what), "%s, text", name);
	if (!shows_as(&shows, what))
		return;
	shows_begin(&shows);
	(void)report_json(&plain, &r);
	snprintf(what, sizeof(what), "%s, json", name);
	if (!shows_as(&shows, what))
		return;
	shows_begin(&shows);
	(void)report_html(&r);
	snprintf(what, sizeof(what), "%s, html", name);
	shows_as(&shows, what);
}

/* What cannot be written is told to whoever asked for it. */
static void unwritten(void)
{
	int err[2];

	much_happened();
	for (int i = 0; i < 2; i++) {
		full = i;
		shows_begin(&shows);
		err[i] = report_text(&r);
		shows_as(&shows, "much, text");
	}
	full = false;
	CHECK(err[0] == EXIT_DONE && err[1] == EXIT_ERROR, "it ends with %d, and with %d where it is full", err[0],
	      err[1]);
}

static void nothing(void)
{
	printed("nothing", nothing_happened);
}

static void much(void)
{
	printed("much", much_happened);
}

/* Began and ended within that minute. */
static void detected(unsigned int began, int ended, const char *what, unsigned int untracked)
{
	char from[32], until[32];

	snprintf(from, sizeof(from), "2027-01-15T08:00:%02uZ", began);
	snprintf(until, sizeof(until), "2027-01-15T08:00:%02dZ", ended);
	json_array_append_new(r.detected, json_pack("{s:s, s:s?, s:s, s:s?, s:i, s:i, s:i}", "began", from, "ended",
						    ended < 0 ? NULL : until, "kind", "flood", "what", what, "above",
						    1000 + began, "untracked", untracked, "peak", 100 + began));
}

/* One more than the report has room for. */
static void attacks_were_detected(void)
{
	nothing_happened();
	r.top = 2;
	r.history.sums.leaving[DROPPED] = (struct tally){ 3, 180 };
	r.detected = json_array();
	detected(1, 2, NULL, 0);
	detected(3, 34, "dns answers", 500);
	detected(40, -1, NULL, 7);
}

static void as_many_as_there_is_room_for(void)
{
	nothing_happened();
	r.top = 2;
	r.history.sums.leaving[PASSED] = (struct tally){ 1, 60 };
	r.detected = json_array();
	detected(1, 2, NULL, 0);
	detected(3, 4, NULL, 0);
}

static void one_attack_was_detected(void)
{
	nothing_happened();
	r.top = 2;
	r.history.sums.leaving[PASSED] = (struct tally){ 4, 240 };
	r.history.sums.leaving[DROPPED] = (struct tally){ 5, 300 };
	r.detected = json_array();
	detected(1, 2, NULL, 0);
}

static void detections(void)
{
	printed("one detected", one_attack_was_detected);
	report_end(&r);
	printed("two detected", as_many_as_there_is_room_for);
	report_end(&r);
	printed("three detected", attacks_were_detected);
	report_end(&r);
	CHECK(!r.detected && !r.networks, "something is left");
}

/* Of attacks those that were not over when the window began. */
static void taken(void)
{
	static const char *const times[] = { "2027-01-14T07:59:59Z", "2027-01-15T07:59:59Z", "",
					     "2027-01-15T08:00:00Z", "2027-01-15T08:00:01Z", NULL };
	const struct context context = { .state = "state" };

	over = times;
	shows_begin(&shows);
	for (int kind = 0; kind < 4; kind++) {
		int err;

		memset(&r, 0x55, sizeof(r));
		fails_to_open = kind == 2;
		fails_to_read = kind == 3;
		since = kind == 1 ? 0 : 1800000000;
		err = report_take(&context, &r, HISTORY_DAY, 7);
		printf("%s, %d, %u, %llu, %zu points, %d are open\n", err ? errno_text(err) : "taken", r.window, r.top,
		       (unsigned long long)r.history.sums.from, (size_t)r.history.points_n, histories);
		if (r.detected)
			json_dumpf(r.detected, stdout, JSON_INDENT(0));
		puts("");
		report_end(&r);
	}
	shows_as(&shows, "taken");
}

/* The same, where a table says whose addresses are. */
static void much_of_whom(void)
{
	much_happened();
	r.networks = made_networks();
}

static void whose(void)
{
	printed("whose", much_of_whom);
	networks_close(r.networks);
	r.networks = NULL;
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "nothing happened", nothing },
		{ "much happened", much },
		{ "what cannot be written", unwritten },
		{ "whose addresses they are", whose },
		{ "what is taken", taken },
		{ "attacks that were detected", detections },
	};

	setenv("TZ", "UTC", 1);
	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
