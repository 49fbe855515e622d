// SPDX-License-Identifier: GPL-2.0-only
/* detect suggest: looks at what passes for a while, and proposes limits. */
#include <math.h>
#include <poll.h>
#include <signal.h>

#include "base/clock.h"
#include "base/progress.h"
#include "base/stop.h"
#include "kernel/attach.h"
#include "kernel/counters.h"
#include "kernel/root.h"
#include "observe/senders.h"
#include "observe/tap.h"
#include "verbs/verbs.h"

/* Packets a second that are read; beyond that, not all sources are followed. */
#define PACKETS_MOST 20000.0
/* How often what has come is read, and interfaces are looked for. */
#define READ_MS	  50
#define FOLLOW_MS 1000

struct suggest {
	const struct context *context;
	struct senders *senders;
	struct taps *taps;
	unsigned int one_in;
	uint64_t missed;
	int err;
};

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
	for (s->one_in = 1; rate / s->one_in > PACKETS_MOST && s->one_in < 1u << 16;)
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
}

static int follow(struct suggest *s)
{
	struct attachment *on = NULL;
	size_t n = 0;
	int err = attach_list(s->context, &on, &n) ?: taps_follow(s->taps, on, n);

	free(on);
	return err;
}

static int look(struct suggest *s, double seconds)
{
	int64_t began = clock_ms(), end = began + (int64_t)(seconds * 1000), next = began;

	while (!stop_asked && clock_ms() < end && !s->err) {
		if (clock_ms() >= next) {
			int err = follow(s);

			if (err)
				return err;
			next += FOLLOW_MS;
			progress(s->context, "looking at what passes",
				 (double)(clock_ms() - began) / (double)(end - began));
		}
		poll(NULL, 0, READ_MS);
		taps_read(s->taps, on_sample, s);
	}
	s->missed = taps_missed(s->taps);
	progress_end();
	return s->err;
}

int detect_suggest(const struct context *context, double seconds, unsigned int one_in)
{
	struct suggest s = { .context = context, .one_in = one_in };
	json_t *object = NULL;
	int err, status = 0;

	stop_on(SIGINT);
	stop_on(SIGTERM);
	err = kernel_ready(context) ?: one_in ? 0 : choose_share(&s);
	if (!err) {
		s.senders = senders_new();
		s.taps = taps_of_sources(s.one_in);
		err = s.senders && s.taps ? 0 : -ENOMEM;
	}
	err = err ?: look(&s, seconds);
	if (!err && context->json) {
		err = out_senders(s.senders, s.one_in, &object);
		if (!err)
			status = out_json(context,
					  json_pack("{s:o, s:I}", "detect", object, "missed", (json_int_t)s.missed));
	} else if (!err) {
		err = print_senders(context, s.senders, s.one_in);
		if (!err && s.missed)
			warn("%llu packets were not seen, as too many came at once", (unsigned long long)s.missed);
		status = out_end();
	}
	taps_free(s.taps);
	senders_free(s.senders);
	return err ? fail("detect suggest: %s", reason(err)) : status;
}
