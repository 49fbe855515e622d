// SPDX-License-Identifier: GPL-2.0-only
/* What becomes of a command that has ended. */
#include "service/internal.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/log.h"
#include "change/feed_row.h"
#include "kernel/live.h"
#include "state/events.h"
#include "state/failed.h"
#include "state/reserve.h"

/* `due`: the filter's rate exceeds the target. */
static void measured(struct service *s, bool due)
{
	rate_watch_end(&s->rate, clock_ms(), due);
	if (!due)
		return;
	service_say("the filter's false-positive rate exceeds the target: it is rebuilt larger");
	jobs_verb(&s->jobs, JOB_ROTATE, "rotate");
}

static void rotate_later(struct service *s)
{
	s->rotate_at = s->rotate_next = clock_ms() + ROTATE_AGAIN;
	s->rate.number = 0; /* it may have been due to the rate: measure again */
}

/* What a line found attached goes back, unless that is confirmed: it has its turn again when that is over. */
static bool goes_back(const struct service *s, const struct job *job, int status)
{
	return job->kind == JOB_LINE && !job->unwanted && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_MISSING &&
	       (job->overtaken || expiry_waits(&s->expiry, s->context));
}

/* Lines and lists are tried again. A line is deferred, as the state may not know its list. True: the job is kept. */
static bool retry(struct service *s, struct job *job)
{
	if (job->unwanted || (job->kind != JOB_LINE && job->kind != JOB_LOAD))
		return false;
	if (s->retry.at == INT64_MAX)
		retry_later(&s->retry, clock_ms());
	if (job->kind != JOB_LINE)
		return false;
	job->failed = true;
	jobs_defer(&s->jobs, job);
	service_look_soon(s, clock_ms()); /* its file is watched from then on */
	return true;
}

/* What it was about has a field of its own where lines are JSON. */
static void done_say(const struct job *job)
{
	const struct log_subject about = { job->run ? "run" : job->args[1], job->list[0] ? job->list : NULL,
					   job->since };
	char text[JOB_TEXT_MAX], line[JOB_TEXT_MAX + 8];

	snprintf(line, sizeof(line), "%s: done", job_text(text, job));
	service_say_about(&about, line);
}

static int feed_lost_run(const struct context *with, void *arg)
{
	const struct job *job = arg;
	struct context own = *with;

	feed_lost(&own, job->list, job->why);
	return EXIT_DONE;
}

static bool loads(const struct job *job)
{
	return job->list[0] && (job->kind == JOB_LOAD || job->kind == JOB_FEED ||
				(job->kind == JOB_LINE && !strcmp(job->args[1], "load")));
}

/* A command that fails says and keeps what was wrong. One that a signal ended could not. */
static void lost(struct service *s, const struct job *job, int status)
{
	struct job feed = { .kind = JOB_FEED_LOST, .run = feed_lost_run };
	char text[JOB_TEXT_MAX], why[JOB_END_MAX];

	job_text(text, job);
	job_end_text(why, job, status);
	warn("%s: %s", text, why);
	if (job->unwanted || job->run)
		return;
	event(s->context, (struct event){ .kind = EVENT_REFUSED, .generation = kernel_live_generation(s->context) },
	      "%s: %s", text, why);
	if (!loads(job))
		return;
	list_failed(s->context, job->list, why);
	if (job->kind == JOB_LOAD)
		reload_lost(s->reload, job->list);
	if (job->kind != JOB_FEED)
		return;
	memcpy(feed.list, job->list, sizeof(feed.list));
	memcpy(feed.why, why, sizeof(feed.why));
	jobs_add(&s->urgent, &feed, NULL, NULL, 0);
}

void service_job_ended(struct service *s, struct job *job, int status)
{
	bool done = WIFEXITED(status) && WEXITSTATUS(status) != EXIT_ERROR, report = done;
	bool once_more = goes_back(s, job, status), is_line = job->kind == JOB_LINE;
	/* What was left out is tried again, as what was refused. */
	bool partly = done && loads(job) && WEXITSTATUS(status) == EXIT_MISSING;

	if (WIFSIGNALED(status))
		lost(s, job, status);
	switch (job->kind) {
	case JOB_START:
		/* With a full disk it is tried again, as where an interface is left open. */
		if (!done && !reserve_is_needed(s->context->state))
			s->status = EXIT_ERROR;
		report = false;
		break;
	case JOB_RESTORE:
		/* A missing interface is no failure: the service waits for it. */
		report = !arrivals_left_open(s->arrivals, clock_ms()) || WEXITSTATUS(status) == EXIT_DONE;
		report = report && done;
		break;
	case JOB_ROTATE:
		if (!done)
			rotate_later(s);
		break;
	case JOB_MEASURE:
		measured(s, done && WEXITSTATUS(status) == EXIT_PASSES);
		report = false;
		break;
	case JOB_EXPIRE:
		expiry_ran(&s->expiry, done);
		service_look_soon(s, clock_ms());
		break;
	case JOB_JAIL:
		jail_watch_ran(&s->jail, clock_ms(), done);
		report = false;
		break;
	case JOB_LINE:
		report = done && job->again && !once_more;
		break;
	case JOB_FEED: /* what came of it is in the state, and an event */
	case JOB_FEED_LOST:
		report = false;
		break;
	case JOB_NEEDS: /* it says so itself */
		if (needs_watch_ran(&s->needs, WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_ERROR, clock_ms()))
			jobs_restore(&s->coming, JOB_RESTORE);
		report = false;
		break;
	case JOB_LOAD:
	case JOB_NETWORKS:
		reload_ended(s->reload, job->list, clock_ms());
		break;
	case JOB_HEAL:	 /* the keeper's own */
	case JOB_LEARN:	 /* learn.c has it */
	case JOB_FOLLOW: /* followers.c */
	case JOB_ERRANDS:
	case JOB_FLEET:
		break;
	}
	if (report && !partly)
		done_say(job);
	s->started = true;
	service_see(s);
	keeper_look(s->keeper); /* before anybody is told that it is ready */
	job->failed = false;
	if (once_more)
		jobs_defer(&s->jobs, job);
	else if ((done && !partly) || !retry(s, job))
		job_free(job);
	if (is_line)
		followers_tell(&s->followers);
}
