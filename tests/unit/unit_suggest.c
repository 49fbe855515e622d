// SPDX-License-Identifier: GPL-2.0-only
/*
 * How detect suggest looks at what passes: which share of the sources, for how long, and what fails. Clock, counters
 * and taps are made up.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/context.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/stop.h"
#include "kernel/attach.h"
#include "kernel/counters.h"
#include "observe/senders.h"
#include "observe/tap.h"
#include "shown.h"

static const struct shown known[] = {
#include "unit_suggest.txt"
};

static struct shows shows = { .file = "tests/unit/unit_suggest.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static int64_t now_ms, stop_at;
static double passing; /* packets a second */
static int calls, fails_at, held, turns;
static unsigned int comes; /* samples, each time it reads */
static bool add_fails;
static char place[2];

static int call(const char *what)
{
	if (++calls != fails_at)
		return 0;
	printf("  %s: fails\n", what);
	return because(-EIO, "%s cannot be had", what);
}

static int64_t given_ms(void)
{
	return now_ms;
}

static int given_poll(struct pollfd *fds, nfds_t n, int ms)
{
	if (fds || n)
		puts("  waits for something");
	now_ms += ms;
	stop_asked = stop_at && now_ms >= stop_at;
	return 0;
}

static int given_counters(const struct context *context, struct counted *counted)
{
	(void)context;
	*counted = (struct counted){ .verdict[PASSED].packets = (uint64_t)(passing * (double)now_ms / 1000) };
	return call("the counters");
}

static int given_list(const struct context *context, struct attachment **list, size_t *n)
{
	(void)context;
	*list = malloc(1);
	*n = 3;
	turns++;
	return call("what is filtered");
}

static int given_follow(struct taps *taps, const struct attachment *on, size_t n)
{
	(void)taps;
	if (!on || n != 3)
		puts("  follows others");
	return call("taps");
}

static struct taps *given_taps(unsigned int one_in)
{
	printf("  looks at one source in %u, at %lld\n", one_in, (long long)now_ms);
	if (call("memory for taps"))
		return NULL;
	held++;
	return (struct taps *)(void *)&place[0];
}

static int given_thin(struct taps *taps, unsigned int one_in)
{
	(void)taps;
	printf("  and at one in %u, at %lld\n", one_in, (long long)now_ms);
	return call("fewer");
}

static void given_read(struct taps *taps, void (*each)(void *arg, const struct sample *sample, double packets),
		       void *arg)
{
	const struct sample s = { .time = 7999999999ULL, .captured = 60, .length = 1500 };

	(void)taps;
	for (unsigned int i = 0; i < comes; i++)
		each(arg, &s, 3);
}

static struct senders *given_senders(void)
{
	if (call("memory for senders"))
		return NULL;
	held++;
	return (struct senders *)(void *)&place[1];
}

static int given_add(struct senders *senders, int64_t second, const void *bytes, size_t captured, size_t length,
		     uint64_t packets)
{
	if (senders != (void *)&place[1] || second != 7 || !bytes || captured != 60 || length != 1500 || packets != 3)
		puts("  adds another");
	return add_fails ? because(-ENOMEM, "no room for senders") : 0;
}

static void given_progress(const struct context *context, const char *what, double share)
{
	(void)context;
	printf("  %s: %.3f\n", what, share);
}

#define clock_ms	  given_ms
#define poll		  given_poll
#define kernel_counters	  given_counters
#define attach_list	  given_list
#define taps_follow	  given_follow
#define taps_of_sources	  given_taps
#define taps_thin	  given_thin
#define taps_read	  given_read
#define taps_missed(taps) ((void)(taps), 11)
#define taps_free(taps)	  (held -= (taps) != NULL)
#define senders_new	  given_senders
#define senders_add	  given_add
#define senders_free(of)  (held -= (of) != NULL)
#define progress	  given_progress
#define progress_end()	  puts("  progress ends")
#include "observe/suggest.c"

static const struct context context = CONTEXT_DEFAULT;

static void begin(void)
{
	now_ms = 1000;
	stop_at = calls = fails_at = held = turns = 0;
	passing = 0;
	comes = 0;
	add_fails = false;
	stop_asked = 0;
}

static void looks(double seconds, unsigned int one_in, bool quiet)
{
	struct suggest s = { .context = &context, .one_in = one_in, .quiet = quiet };
	int err;

	now_ms = 1000;
	calls = turns = 0;
	stop_asked = 0;
	err = suggest_look(&s, seconds);
	printf("%g s: %s, one in %u, %.3f s, %d turns, %llu missed\n", seconds, err ? reason(err) : "done", s.one_in,
	       s.seconds, turns, (unsigned long long)s.missed);
	suggest_free(&s);
	if (held)
		puts("something is left");
}

/* By how much passes: at each bound, one less and one more. */
static void shares(void)
{
	for (double more = 1; more <= 4; more *= 2)
		for (int beside = -1; beside <= 1; beside++) {
			passing = more * PACKETS_MOST + 10 * beside;
			printf("-- %.0f a second\n", passing);
			looks(0.1, 0, true);
		}
	passing = 1e18;
	looks(0.1, 0, true);
	puts("-- it is said");
	looks(0.1, 7, true);
}

static void how_long(void)
{
	looks(1, 1, false);
	looks(2.5, 1, false);
	looks(0, 1, false);
	looks(11, 1, true);
	puts("-- it is told to end");
	stop_at = 1500;
	looks(2, 0, true);
	stop_at = 2500;
	looks(2, 0, true);
}

/* More comes than can be read: fewer sources from the next second on, unless it was said how many. */
static void too_many(void)
{
	unsigned int reads = 1000 / READ_MS;

	for (int beside = 0; beside <= 1; beside++) {
		comes = 2 * PACKETS_MOST / reads + (unsigned int)beside;
		looks(3, 0, true);
		looks(3, 1, true);
	}
}

static void failures(void)
{
	for (fails_at = 1; fails_at <= 8; fails_at++)
		looks(1.5, 0, true);
	fails_at = 0;
	comes = 1;
	add_fails = true;
	looks(3, 1, true);
	add_fails = false;
	comes = 2 * PACKETS_MOST;
	fails_at = 9;
	looks(3, 0, true);
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "shares", shares },
		{ "how long", how_long },
		{ "too many", too_many },
		{ "failures", failures },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
