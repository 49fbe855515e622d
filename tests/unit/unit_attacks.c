// SPDX-License-Identifier: GPL-2.0-only
/*
 * When an attack begins, what is said of it while it goes on, and when it is over: from what a detector that is made up
 * has seen each second, every event word for word.
 */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <poll.h>

#include "base/clock.h"
#include "base/log.h"
#include "kernel/detect.h"
#include "kernel/detect_seen.h"
#include "kernel/live.h"
#include "observe/attack_kind.h"
#include "observe/detector.h"
#include "state/events.h"
#include "shown.h"

static const struct shown known[] = {
#include "unit_attacks.txt"
};

static struct shows shows = { .file = "tests/unit/unit_attacks.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

/* --- The detector ------------------------------------------------------------------------------------------------- */

#define BEGINS 1000000	  /* ms */
#define DATE   1767225600 /* 2026-01-01T00:00:00Z */

/* What a second brings: packets above a limit, dropped, of who is banned, without a place; who; and how it looks. */
struct second_of {
	unsigned int times, ms; /* so many looks, each so long after the one before */
	__u64 over, dropped, banned, untracked;
	size_t above;
	unsigned int classes;
	const char *busiest;
	__u64 busiest_over;
	double strangers; /* distinct sources; -1: it is another detector's sketch */
	bool at_least, fresh, anew;
	int err;
	struct attack_look look;
};

static const struct second_of *now_is;
static struct detector_sums sums;
static int64_t now_ms, ns;
static unsigned int reads;

static int given_seen(const struct context *context, struct seen *seen)
{
	(void)context;
	*seen = (struct seen){ .on = true };
	reads++;
	return now_is->err;
}

static void given_sums(const struct seen *seen, __u64 since, struct detector_sums *to)
{
	(void)seen;
	(void)since;
	*to = sums;
}

static bool given_strangers(struct strangers *strangers, const struct seen *before, const struct seen *now)
{
	(void)before;
	(void)now;
	*strangers = (struct strangers){ fabs(now_is->strangers), now_is->at_least };
	return now_is->strangers >= 0;
}

static bool given_fresh(const struct strangers *second, const struct strangers *moment, double seconds)
{
	CHECK(second->sources == now_is->strangers && moment->sources == now_is->strangers,
	      "another second's strangers");
	CHECK(seconds == 0.016, "a moment of %g s", seconds);
	return now_is->fresh;
}

static void given_look(struct attack_look *look, const struct seen *seen, __u64 since, __u64 above, __u64 untracked)
{
	(void)seen;
	*look = now_is->look;
	printf("%6lld look: %llu above, %llu untracked, since a tick and %llu ms before\n",
	       (long long)(now_ms - BEGINS), above, untracked, (sums.now - since - detect_tick()) / 1000000);
}

__attribute__((format(printf, 3, 4))) static void given_event(const struct context *context, struct event e,
							      const char *fmt, ...)
{
	char *text = json_dumps(e.more, JSON_COMPACT);
	va_list args;

	(void)context;
	printf("%6lld %s", (long long)(now_ms - BEGINS), e.kind == EVENT_ATTACK ? "" : "not an attack: ");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n       %s\n", text);
	free(text);
	json_decref(e.more);
}

static unsigned int given_generation(const struct context *context)
{
	(void)context;
	return 7;
}

static int64_t given_ms(void)
{
	return now_ms;
}

/* Each look at it takes half of what is waited for. */
static int64_t given_ns(clockid_t clock)
{
	(void)clock;
	return ns;
}

static int given_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	(void)fds;
	(void)n;
	ns += timeout * 1000000;
	return 0;
}

static time_t given_time(time_t *to)
{
	(void)to;
	return DATE + (time_t)((now_ms - BEGINS) / 1000);
}

#define kernel_seen_all	       given_seen
#define detector_sums_of       given_sums
#define strangers_between      given_strangers
#define strangers_are_fresh    given_fresh
#define attack_look_at	       given_look
#define event(...)	       given_event(__VA_ARGS__)
#define kernel_live_generation given_generation
#define clock_ms	       given_ms
#define clock_ns	       given_ns
#define poll		       given_poll
#define time(to)	       given_time(to)
#include "service/attacks.c"
#undef event
#undef time

/* --- What happens ------------------------------------------------------------------------------------------------- */

#define SYN	 .look = { ATTACK_ONE, { "syn", NULL, 0 }, "" }
#define MANY	 .look = { ATTACK_MANY, { "reflection", "dns", 53 }, "" }
#define PKTS	 .look = { ATTACK_MANY, { "packets", NULL, 0 }, "" }
#define NET	 .look = { ATTACK_CARPET, { "bytes", NULL, 0 }, "203.0.113.0/24" }
#define NONE	 .look = { ATTACK_NO_ROOM, { NULL, NULL, 0 }, "" }
#define C(class) (1u << CLASS_##class)
#define A	 .above = 3, .classes = C(PACKETS) | C(SYN), .busiest = "192.0.2.7", .busiest_over = 500
#define QUIET                                           \
	{                                               \
		.times = 1, .ms = 1000, .strangers = 20 \
	}

static const struct second_of one[] = { QUIET,
					{ 3, 1000, .over = 100, A, .strangers = 20, SYN },
					{ 1, 1000, .dropped = 500, .banned = 7, .above = 9, .classes = C(UDP),
					  .busiest = "198.51.100.9", .busiest_over = 499, .strangers = 20, SYN },
					{ 1, 1000, .over = 1, .above = 1, .busiest = "2001:db8::1", .busiest_over = 500,
					  .strangers = 20, MANY },
					{ 59, 1000, .strangers = 20 },
					{ 1, 999, .strangers = 20 },
					{ 2, 1, .strangers = 20 },
					{ 1, 1000, .over = 5, A, .strangers = 20, NET },
					{ 0 } };
/* Of another kind, and not more often than every five seconds. */
static const struct second_of kinds[] = { { 1, 1000, .strangers = 20 },
					  { 1, 1000, .over = 10, A, .strangers = 20, SYN },
					  { 1, 1000, .over = 11, A, .strangers = 20, MANY },
					  { 4, 1000, .over = 12, A, .strangers = 20, MANY },
					  { 1, 1000, .over = 1000, A, .strangers = 20, NET },
					  { 3, 1000, .over = 1, A, .strangers = 20, NET },
					  { 9, 1000, .over = 1, A, .strangers = 20, NET },
					  { 1, 1000, .over = 5000, A, .strangers = 20, PKTS },
					  { 0 } };
static const struct second_of without_a_place[] = { { 1, 1000, .strangers = 20 },
						    { 3, 1000, .untracked = 99, .strangers = 20, NONE },
						    { 1, 1000, .untracked = 100, .strangers = 20, NONE },
						    { 1, 1000, .untracked = 1, .strangers = 20, NONE },
						    { 61, 1000, .strangers = 20 },
						    { 0 } };
static const struct second_of anew[] = { { 1, 1000, .over = 900, .strangers = 20 },
					 { 1, 1000, .over = 7, A, .anew = true, .strangers = -1, SYN },
					 { 2, 1000, .err = EIO },
					 { 1, 1000, .over = 10, A, .strangers = 20, SYN },
					 { 1, 1000, .err = ENOENT },
					 { 0 } };
static const struct second_of forged[] = { { 2, 1000, .strangers = 100 },
					   { 1, 1000, .strangers = 10000, .fresh = true },
					   { 1, 1000, .strangers = 9999, .fresh = true },
					   { 1, 1000, .strangers = 50000 },
					   { 2, 1000, .strangers = 60000, .fresh = true, SYN },
					   { 1, 1000, .strangers = 90000, .fresh = true, .at_least = true, .over = 3, A,
					     SYN },
					   { 61, 1000, .strangers = 100 },
					   { 0 } };
/* A flood that is not forged stays the heavier one until there are more strangers than packets of it. */
static const struct second_of forged_beside[] = { { 2, 1000, .strangers = 100 },
						  { 1, 1000, .over = 30000, A, .strangers = 100, SYN },
						  { 1, 1000, .strangers = 20000, .fresh = true },
						  { 4, 1000, .strangers = 100 },
						  { 1, 1000, .strangers = 20000, .fresh = true },
						  { 6, 1000, .strangers = 100 },
						  { 0 } };
/* What is usual follows what there is, within a minute or so. */
static const struct second_of usual[] = { { 1, 1000, .strangers = 0 },
					  { 1, 1000, .strangers = 12000, .fresh = true },
					  { 61, 1000, .strangers = 20 },
					  { 400, 1000, .strangers = 2000 },
					  { 1, 1000, .strangers = 19000, .fresh = true },
					  { 1, 1000, .strangers = 25000, .fresh = true },
					  { 0 } };

static void print_state(const struct attacks *a)
{
	printf("%6lld %s, usual %.2f, next in %lld\n", (long long)(now_ms - BEGINS), a->began ? "goes on" : "quiet",
	       a->usual, (long long)(a->next - now_ms));
}

static void second_comes(struct attacks *a, const struct second_of *s)
{
	now_is = s;
	now_ms += s->ms;
	if (s->anew)
		memset(sums.packets, 0, sizeof(sums.packets));
	sums.now += 1000000000;
	sums.packets[DETECTED_OVER] += s->over;
	sums.packets[DETECTED_DROPPED] += s->dropped;
	sums.packets[DETECTED_BANNED] += s->banned;
	sums.packets[DETECTED_UNTRACKED] += s->untracked;
	sums.above = s->above;
	sums.classes = s->classes;
	sums.over = s->busiest_over;
	snprintf(sums.busiest, sizeof(sums.busiest), "%s", s->busiest ? s->busiest : "");
	attacks_turn(a, now_ms);
}

static void tell(const char *name, const struct second_of *seconds, bool ends)
{
	struct attacks a = { 0 };

	shows_begin(&shows);
	now_ms = BEGINS;
	reads = 0;
	sums = (struct detector_sums){ .now = 5000000000 };
	now_is = seconds;
	attacks_turn(&a, now_ms);
	printf("%u reads\n", reads);
	attacks_expect(&a, true);
	for (const struct second_of *s = seconds; s->times; s++) {
		for (unsigned int i = 0; i < s->times; i++)
			second_comes(&a, s);
		print_state(&a);
	}
	now_ms += 2500;
	if (ends)
		attacks_expect(&a, false);
	else
		attacks_close(&a);
	print_state(&a);
	printf("%u reads\n", reads);
	shows_as(&shows, name);
}

/* What was counted while it did not look is no attack of the second in which it looks again. */
static void off_and_on(void)
{
	static const struct second_of quiet = { 1, 1000, .strangers = 0 }, much = { 1, 1000, .over = 30000, A, SYN };
	struct attacks a = { 0 };

	shows_begin(&shows);
	now_ms = BEGINS;
	sums = (struct detector_sums){ .now = 5000000000 };
	attacks_expect(&a, true);
	second_comes(&a, &quiet);
	attacks_expect(&a, false);
	attacks_expect(&a, true);
	for (int i = 0; i < 2; i++) {
		second_comes(&a, &much);
		print_state(&a);
	}
	attacks_close(&a);
	shows_as(&shows, "off and on");
}

static void word_for_word(void)
{
	tell("one", one, true);
	tell("kinds", kinds, false);
	tell("without a place", without_a_place, true);
	tell("anew", anew, false);
	tell("forged", forged, true);
	tell("forged beside a flood", forged_beside, false);
	tell("usual", usual, true);
	off_and_on();
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
