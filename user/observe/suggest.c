// SPDX-License-Identifier: GPL-2.0-only
#include "observe/suggest.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/progress.h"
#include "base/stop.h"
#include "kernel/attach.h"
#include "kernel/counters.h"
#include "observe/senders.h"
#include "observe/tap.h"

/* Packets a second that are read; beyond that, not all sources are followed. */
#define PACKETS_MOST 20000.0
/* How often what has come is read, and interfaces are looked for. */
#define READ_MS	  50
#define FOLLOW_MS 1000

/* Of fewer there is nothing left to follow. */
#define ONE_IN_MOST (1u << 16)

static int passed_now(const struct context *context, double *passed)
{
	struct counted counted;
	int err = kernel_counters(context, &counted);

	*passed = (double)counted.verdict[PASSED].packets;
	return err;
}

/* By how much passes in a second. */
static int choose_share(struct suggest *s)
{
	int64_t began = clock_ms();
	double before, after, rate;
	int err = passed_now(s->context, &before);

	while (!err && !stop_asked && clock_ms() - began < 1000)
		poll(NULL, 0, READ_MS);
	err = err ?: passed_now(s->context, &after);
	if (err)
		return err;
	rate = (after - before) * 1000 / (double)(clock_ms() - began);
	for (s->one_in = 1; rate / s->one_in > PACKETS_MOST && s->one_in < ONE_IN_MOST;)
		s->one_in *= 2;
	return 0;
}

static void on_sample(void *arg, const struct sample *sample, double packets)
{
	struct suggest *s = arg;
	/* What the stack has put together is as many packets and as many headers more; they are not counted as bytes.
	 */
	int err = senders_add(s->senders, (int64_t)(sample->time / 1000000000), sample->bytes, sample->captured,
			      sample->length, (uint64_t)packets);

	s->err = s->err ?: err;
	s->read++;
}

static int follow(struct suggest *s)
{
	struct attachment *on = NULL;
	size_t n = 0;
	int err = attach_list(s->context, &on, &n) ?: taps_follow(s->taps, on, n);

	free(on);
	return err;
}

/* Once a second: the interfaces that there are, and no more packets than can be read. */
static int turn(struct suggest *s, bool fixed)
{
	int err = follow(s);

	if (!err && !fixed && (double)s->read > 2 * PACKETS_MOST && s->one_in < ONE_IN_MOST) {
		s->one_in *= 2;
		err = taps_thin(s->taps, s->one_in);
	}
	s->read = 0;
	return err;
}

int suggest_look(struct suggest *s, double seconds)
{
	int64_t began, next;
	bool fixed = s->one_in;
	int err = fixed ? 0 : choose_share(s);

	if (err)
		return err;
	s->senders = senders_new();
	s->taps = taps_of_sources(s->one_in);
	if (!s->senders || !s->taps)
		return -ENOMEM;
	began = next = clock_ms();
	while (!err && !stop_asked && clock_ms() - began < (int64_t)(seconds * 1000)) {
		if (clock_ms() >= next) {
			err = turn(s, fixed);
			next += FOLLOW_MS;
			if (!s->quiet)
				progress(s->context, "looking at what passes",
					 (double)(clock_ms() - began) / (seconds * 1000));
		}
		poll(NULL, 0, READ_MS);
		taps_read(s->taps, on_sample, s);
		err = err ?: s->err;
	}
	s->missed = taps_missed(s->taps);
	s->seconds = (double)(clock_ms() - began) / 1000;
	progress_end();
	return err;
}

void suggest_free(struct suggest *s)
{
	taps_free(s->taps);
	senders_free(s->senders);
}
