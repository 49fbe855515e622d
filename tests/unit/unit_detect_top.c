// SPDX-License-Identifier: GPL-2.0-only
/*
 * detect top: who is shown in which order, at which rate, what its keys do, what it says where something cannot be had,
 * and how it ends. The clock, the terminal and the kernel are made up.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/stop.h"
#include "bpf/detect.h"
#include "change/change.h"
#include "filter/limits.h"
#include "kernel/detect_seen.h"
#include "kernel/root.h"
#include "observe/top_screen.h"
#include "typed.h"

static const struct shown known[] = {
#include "unit_detect_top.txt"
};

static struct shows shows = { .file = "tests/unit/unit_detect_top.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

/* A poll each: a key, '.' waits, '-' for longer than it may, '!' and '~' the terminal is gone; then it is told to end.
 */
static const char *script;
static int64_t now_ms;
static int pressed, calls, fails_at, fails_with, looks, held, rows_most;
static bool no_room, quiet_begin;

/* What is seen: of the first look, and what each further one has more. */
static struct seen first, more_of;
static struct suspect_seen suspects[300], more_suspects[300];

static int call(const char *what)
{
	if (++calls != fails_at)
		return 0;
	printf("  %s: fails\n", what);
	return because(fails_with, "%s cannot be had", what);
}

static int given_seen(const struct context *context, struct seen *to)
{
	int err = call("a look");

	(void)context;
	*to = (struct seen){ 0 };
	if (err)
		return err;
	*to = first;
	to->suspect = calloc(first.n + 1, sizeof(*to->suspect));
	to->now += (__u64)looks * more_of.now;
	for (int of = 0; of < DETECTEDS; of++)
		to->packets[of] += (__u64)looks * more_of.packets[of];
	for (size_t i = 0; i < first.n; i++) {
		to->suspect[i] = suspects[i];
		for (enum packet_class class = 0; class < LIMITED; class ++) {
			to->suspect[i].is.count[class] += (unsigned int)looks * more_suspects[i].is.count[class];
			to->suspect[i].is.over[class] += (unsigned int)looks * more_suspects[i].is.over[class];
		}
	}
	looks++;
	held++;
	return 0;
}

static void given_free(struct seen *seen)
{
	held -= seen->suspect != NULL;
	free(seen->suspect);
	*seen = (struct seen){ 0 };
}

static int given_ready(const struct context *context)
{
	(void)context;
	return call("the kernel");
}

static void *given_calloc(size_t n, size_t size)
{
	return no_room && looks > 2 ? NULL : calloc(n, size);
}

static void given_check(const struct context *context, bool change)
{
	(void)context;
	printf("  checks%s\n", change ? ", to change" : "");
}

static void given_stop(int signal)
{
	if (!quiet_begin)
		printf("  ends at signal %d\n", signal);
}

static int given_view(const char *verb, const char *instead)
{
	printf("  the screen of %s, or %s\n", verb, instead);
	return call("the screen");
}

static void given_view_end(void)
{
	puts("  the screen is given back");
}

static int given_key(void)
{
	int key = pressed;

	pressed = -1;
	return key;
}

static void given_draw(const struct top_page *page)
{
	printf("  at %lld%s: %s | %s\n  %s\n", (long long)now_ms, page->paused ? ", paused" : "", page->head,
	       page->sums, page->heading);
	for (size_t i = 0; i < page->rows && (int)i < rows_most; i++)
		printf("  %s\n", page->row[i]);
	if ((int)page->rows > rows_most)
		printf("  ... %zu rows\n", page->rows);
}

static int given_poll(struct pollfd *fds, nfds_t n, int ms)
{
	char next = *script ? *script++ : '\0';

	if (n != 1 || fds->fd != STDIN_FILENO || fds->events != POLLIN || ms < 0 || ms > 100)
		printf("  waits %d ms for another\n", ms);
	if (strchr(".-!~", next))
		now_ms += next == '-' ? 3000 : ms;
	else
		pressed = next == '^' ? 3 : next;
	fds->revents = next == '!' ? POLLHUP : next == '~' ? POLLERR : 0;
	stop_asked = !next;
	return 0;
}

static int64_t given_ms(void)
{
	return now_ms;
}

#define kernel_seen	     given_seen
#define kernel_ready_to_look given_ready
#define seen_free	     given_free
#define change_check	     given_check
#define stop_on		     given_stop
#define top_view_begin	     given_view
#define top_view_end	     given_view_end
#define top_view_key	     given_key
#define top_page_draw	     given_draw
#define poll		     given_poll
#define clock_ms	     given_ms
#define calloc(n, size)	     given_calloc(n, size)
#include "verbs/detect_top.c"
#undef calloc

static void begin(void)
{
	script = "";
	now_ms = 1000;
	pressed = -1;
	calls = fails_at = looks = held = 0;
	fails_with = -EIO;
	rows_most = 10;
	no_room = quiet_begin = false;
	memset(suspects, 0, sizeof(suspects));
	memset(more_suspects, 0, sizeof(more_suspects));
	first = (struct seen){ .on = true, .now = 10000000000, .room = 4096 };
	more_of = (struct seen){ .now = 2000000000 };
	limits_plan(&first.with, &(struct limits){ .on = true }, 4000000);
}

static void sends(__u64 key, __u64 mark, unsigned int packets, unsigned int was_over, unsigned int over)
{
	suspects[first.n] = (struct suspect_seen){ .key = key,
						   .mark = mark,
						   .is = { .count = { 100, 100000, 10 },
							   .over = { was_over },
							   .over_at = was_over || over ? 9000000000 : 0,
							   .since = 1 } };
	more_suspects[first.n++] =
		(struct suspect_seen){ .is = { .count = { packets, packets * 100, packets / 2 }, .over = { over } } };
}

static int nothing_held(void)
{
	if (held)
		printf("  %d looks are not given back\n", held);
	return held;
}

static void shows_it(const char *keys)
{
	script = keys;
	calls = looks = 0;
	printf("-- keys '%s'\n", keys);
	typed_apart("detect top", nothing_held);
}

static void nobody(void)
{
	shows_it("");
	quiet_begin = true;
	first.on = false;
	shows_it("");
	puts("-- no detector");
	fails_at = 2;
	fails_with = -ENOENT;
	shows_it("");
}

/* Above a limit now, by how much; who was; then by all that they send. */
static void in_order(void)
{
	quiet_begin = true;
	sends(0x2d000001, SUSPECT_IPV4, 20, 0, 0);
	sends(0x2d000002, SUSPECT_IPV4, 30, 0, 0);
	sends(0x2d000003, SUSPECT_IPV4, 10, 5, 0);
	sends(0x2d000004, SUSPECT_IPV4, 12, 1, 0);
	sends(0x2d000005, SUSPECT_IPV4, 11, 5, 2);
	sends(0x2d000006, SUSPECT_IPV4, 25, 0, 0);
	sends(0x2d000009, SUSPECT_IPV4, 15, 9, 5);
	sends(0x20010db8ULL << 32, SUSPECT_IPV6, 13, 0, 4);
	more_of.packets[DETECTED_OVER] = 4;
	more_of.packets[DETECTED_DROPPED] = 20;
	more_of.packets[DETECTED_BANNED] = 600;
	more_of.packets[DETECTED_UNTRACKED] = 8000;
	shows_it("..");
	puts("-- all is counted anew meanwhile");
	first.packets[DETECTED_UNTRACKED] = 50;
	more_of.packets[DETECTED_UNTRACKED] = (__u64)-10;
	more_of.packets[DETECTED_OVER] = 0;
	shows_it("");
	puts("-- look-ups");
	first.with.looks_up = ~0ULL;
	shows_it("");
}

/* One source by two interfaces is one above a limit. */
static void by_two_interfaces(void)
{
	quiet_begin = true;
	sends(0x2d000001, SUSPECT_IPV4, 20, 1, 3);
	sends(0x2d000001, SUSPECT_IPV4 | 1 << 8, 20, 1, 2);
	sends(0x2d000002, SUSPECT_IPV4, 20, 1, 1);
	shows_it("");
}

static void many(void)
{
	quiet_begin = true;
	for (unsigned int n = 199; n <= 201; n++) {
		first.n = 0;
		while (first.n < n)
			sends(0x2d000000 + first.n, SUSPECT_IPV4, 10 + (unsigned int)first.n, 0, 0);
		rows_most = 2;
		shows_it("");
	}
}

static void keys(void)
{
	quiet_begin = true;
	sends(0x2d000001, SUSPECT_IPV4, 20, 1, 3);
	shows_it("..........q");
	shows_it(".........q.");
	shows_it("Q.");
	shows_it("^.");
	shows_it("x.");
	shows_it("p..........p.........q");
	shows_it(" ..........  q");
	shows_it("-.q");
	shows_it("..!");
	shows_it("..~");
}

static void failures(void)
{
	quiet_begin = true;
	sends(0x2d000001, SUSPECT_IPV4, 20, 1, 3);
	for (fails_at = 1; fails_at <= 6; fails_at++)
		for (int kind = 0; kind < 2; kind++) {
			fails_with = kind ? -ENOENT : -EIO;
			shows_it("........................");
		}
	fails_at = 0;
	no_room = true;
	shows_it("..........q");
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "nobody", nobody }, { "in order", in_order }, { "by two interfaces", by_two_interfaces },
		{ "many", many },     { "keys", keys },		{ "failures", failures },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
