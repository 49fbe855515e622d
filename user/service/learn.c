// SPDX-License-Identifier: GPL-2.0-only
#include "service/learn.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/out.h"
#include "kernel/live.h"
#include "kernel/root.h"
#include "observe/learned.h"
#include "observe/senders_json.h"
#include "observe/suggest.h"
#include "state/events.h"

/* Where it cannot look, it tries again. */
#define AGAIN_MS 60000

static int keep(const struct context *context, const struct learn *learn, const struct suggest *s)
{
	char from[UTC_TEXT_MAX], until[UTC_TEXT_MAX];
	json_t *object = NULL, *document;
	int err = senders_json(s->senders, s->one_in, &object);

	if (err)
		return err;
	document = json_pack("{s:s, s:s, s:f, s:I, s:o}", "from", utc_text(from, learn->from), "until",
			     utc_text(until, learn->until), "seconds", s->seconds, "missed", (json_int_t)s->missed,
			     "detect", object);
	err = document ? learned_write(context, document) : -ENOMEM;
	json_decref(document);
	return err;
}

/* After a restart of the service it goes on with what is left of the time. */
static int run(const struct context *context, void *arg)
{
	const struct learn *learn = arg;
	struct suggest s = { .context = context, .quiet = true };
	int64_t left = learn->until - time(NULL);
	int err = kernel_ready(context) ?: suggest_look(&s, left > 0 ? (double)left : 0) ?: keep(context, learn, &s);

	if (!err)
		event(context, (struct event){ .kind = EVENT_LEARNED, .generation = kernel_live_generation(context) },
		      "what sources send, in %.0f s; the limits that follow from it: xdp-bloom detect learn",
		      s.seconds);
	suggest_free(&s);
	return err ? fail("detect learn: %s", reason(err)) : EXIT_DONE;
}

static void begin(struct learn *learn, int64_t now)
{
	const struct job job = { .kind = JOB_LEARN, .run = run, .arg = learn };
	int err = jobs_add(&learn->jobs, &job, NULL, NULL, 0) ?: jobs_start(&learn->jobs);

	if (!err)
		return;
	warn("detect learn: %s", reason(err));
	jobs_stop(&learn->jobs);
	learn->again = now + AGAIN_MS;
}

void learn_expect(struct learn *learn, int64_t from, int64_t until)
{
	if (learn->from == from && learn->until == until)
		return;
	jobs_stop(&learn->jobs);
	learn->from = from;
	learn->until = until;
	learn->again = 0;
	learn->done = false;
}

/* What is over before it began was learned, or nobody was there. */
static bool is_due(const struct learn *learn)
{
	return !learn->done && !learn->jobs.first && learn->until > time(NULL);
}

void learn_turn(struct learn *learn, int64_t now)
{
	struct job *job;
	int status;

	if (jobs_ended(&learn->jobs, &job, &status)) {
		learn->done = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_DONE;
		learn->again = now + AGAIN_MS;
		job_free(job);
	}
	if (is_due(learn) && now >= learn->again)
		begin(learn, now);
}

int64_t learn_due(const struct learn *learn)
{
	return is_due(learn) ? learn->again : INT64_MAX;
}

void learn_stop(struct learn *learn)
{
	jobs_stop(&learn->jobs);
}
