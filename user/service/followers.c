// SPDX-License-Identifier: GPL-2.0-only
#include "service/followers.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/state_path.h"
#include "base/stop.h"
#include "kernel/live.h"
#include "observe/lines_down.h"
#include "service/config.h"
#include "service/jobs.h"
#include "service/retry.h"
#include "state/events.h"

#define AGAIN_FIRST 1000
#define AGAIN_MOST  60000
/* One that went on for so long has not failed at once. */
#define LASTED 60000
/* One that goes on for so long does not fail any more: what is wrong with it shows at once. */
#define GOES_ON 5000

struct follower {
	struct follower *next;
	struct jobs jobs; /* one, and it runs */
	struct words words;
	unsigned int line; /* 0: the fleet */
	bool wanted;
	struct retry retry;
	int64_t fails; /* since then, in seconds since the epoch; 0: it does not */
	char why[JOB_END_MAX];
};

bool followers_have(const struct config_line *line)
{
	return config_goes_on(line);
}

static int copy_words(struct words *to, const struct words *from)
{
	to->words = calloc((size_t)from->n + 1, sizeof(*to->words));
	if (!to->words)
		return -ENOMEM;
	for (to->n = 0; to->n < from->n; to->n++) {
		to->words[to->n] = strdup(from->words[to->n]);
		if (!to->words[to->n])
			return -ENOMEM;
	}
	return 0;
}

static void forget(struct follower *f)
{
	for (int i = 0; i < f->words.n; i++)
		free(f->words.words[i]);
	free(f->words.words);
	free(f);
}

static void expect(struct followers *all, const struct config_line *line)
{
	struct follower **at = &all->first;

	while (*at && ((*at)->wanted || !words_same(&(*at)->words, &line->words)))
		at = &(*at)->next;
	if (!*at) {
		struct follower *f = calloc(1, sizeof(*f));

		if (!f || copy_words(&f->words, &line->words)) {
			warn("line %u: %s", line->number, strerror(ENOMEM));
			if (f)
				forget(f);
			return;
		}
		f->jobs.context = all->context;
		f->retry = (struct retry){ .first = AGAIN_FIRST, .most = AGAIN_MOST };
		*at = f;
	}
	(*at)->line = line->number;
	(*at)->wanted = true;
}

static const char *table_of(const struct follower *f)
{
	for (int i = 1; i < f->words.n; i++) {
		if (!strncmp(f->words.words[i], "--table=", 8))
			return f->words.words[i] + 8;
		if (!strcmp(f->words.words[i], "--table") && i + 1 < f->words.n)
			return f->words.words[i + 1];
	}
	return "";
}

/* What was announced goes with the line that said so, unless another says it of that table. */
static void end(const struct followers *all, const struct follower *f)
{
	int how = strcmp(f->words.words[0], "announce") != 0 ? SIGTERM : STOP_FOR_GOOD;

	for (const struct follower *other = all->first; other; other = other->next)
		if (other->wanted && other->words.n && !strcmp(other->words.words[0], f->words.words[0]) &&
		    !strcmp(table_of(other), table_of(f)))
			how = SIGTERM;
	kill(f->jobs.pid, how);
}

/* For the log. */
static const char *name_of(char text[JOB_TEXT_MAX], const struct follower *f)
{
	struct job job = { .kind = f->line ? JOB_FOLLOW : JOB_FLEET, .line = f->line };

	return job_text(text, &job);
}

/* Of a list that is to be loaded it is said why. */
static void tell_of(struct lines_down *down, const struct job *job)
{
	char name[JOB_TEXT_MAX];

	for (; job && down->n < LINES_DOWN_MAX; job = job->next)
		if (job->kind == JOB_LINE && job->failed && strcmp(job->args[1], "load") != 0)
			snprintf(down->text[down->n++], LINE_DOWN_MAX, "%s, '%s', failed; the log says why",
				 job_text(name, job), job->args[1]);
}

/* Everybody may read it, and the words of a line may be secret. */
void followers_tell(const struct followers *all)
{
	struct lines_down down = { .n = 0 };
	char name[JOB_TEXT_MAX], since[UTC_TEXT_MAX];

	for (const struct follower *f = all->first; f && down.n < LINES_DOWN_MAX; f = f->next)
		if (f->fails && f->wanted)
			snprintf(down.text[down.n++], LINE_DOWN_MAX, "%s, '%s', fails since %s: %s; the log says more",
				 name_of(name, f), f->words.words[0], utc_text(since, f->fails), f->why);
	if (all->others) {
		tell_of(&down, all->others->first);
		tell_of(&down, all->others->deferred);
	}
	lines_down_keep(all->context, STATE_LINES, &down);
}

static void fails(const struct followers *all, struct follower *f, const char *why)
{
	if (!f->fails)
		f->fails = time(NULL);
	snprintf(f->why, sizeof(f->why), "%s", why);
	followers_tell(all);
}

static void goes_on(const struct followers *all, struct follower *f)
{
	if (!f->fails)
		return;
	f->fails = 0;
	followers_tell(all);
}

void followers_expect(struct followers *all, const struct config *config)
{
	for (struct follower *f = all->first; f; f = f->next)
		f->wanted = f->wanted && !f->line;
	for (size_t i = 0; i < config->n; i++)
		if (followers_have(&config->lines[i]))
			expect(all, &config->lines[i]);
	for (struct follower *f = all->first; f; f = f->next)
		if (!f->wanted && f->jobs.pid)
			end(all, f);
	followers_tell(all);
}

void followers_fleet(struct followers *all, bool joined)
{
	char *words[] = { (char *)(uintptr_t) "fleet", (char *)(uintptr_t) "run" };
	const struct config_line line = { .words = { words, 2 } };
	struct follower *f = all->first;

	while (f && f->line)
		f = f->next;
	if (joined && (!f || !f->wanted))
		expect(all, &line);
	else if (f && f->wanted && !joined) {
		f->wanted = false;
		f->fails = 0;
		if (f->jobs.pid)
			kill(f->jobs.pid, SIGTERM);
	}
}

static void start(const struct followers *all, struct follower *f, int64_t now)
{
	struct job job = { .kind = f->line ? JOB_FOLLOW : JOB_FLEET, .line = f->line };
	char text[JOB_TEXT_MAX];
	int err = jobs_add(&f->jobs, &job, NULL, f->words.words, (size_t)f->words.n) ?: jobs_start(&f->jobs);

	f->retry.at = INT64_MAX;
	if (!err)
		return;
	warn("%s: %s", name_of(text, f), reason(err));
	jobs_stop(&f->jobs);
	retry_later(&f->retry, now);
	fails(all, f, reason(err));
}

void followers_turn(struct followers *all, int64_t now)
{
	struct follower **at = &all->first;

	while (*at) {
		struct follower *f = *at;

		if (!f->wanted && !f->jobs.pid) {
			*at = f->next;
			forget(f);
			continue;
		}
		if (f->wanted && !f->jobs.pid && now >= f->retry.at)
			start(all, f, now);
		if (f->jobs.pid && now - f->jobs.since >= GOES_ON)
			goes_on(all, f);
		at = &f->next;
	}
}

int64_t followers_due(const struct followers *all)
{
	int64_t due = INT64_MAX;

	for (const struct follower *f = all->first; f; f = f->next) {
		if (!f->jobs.pid && f->retry.at < due)
			due = f->wanted ? f->retry.at : 0;
		if (f->jobs.pid && f->fails && f->jobs.since + GOES_ON < due)
			due = f->jobs.since + GOES_ON;
	}
	return due;
}

/* A command that fails says and keeps what was wrong. One that a signal ended could not. */
static void lost(const struct followers *all, struct follower *f, const char *why)
{
	char text[JOB_TEXT_MAX];

	event(all->context, (struct event){ .kind = EVENT_REFUSED, .generation = kernel_live_generation(all->context) },
	      "%s: %s", name_of(text, f), why);
}

static void ended(const struct followers *all, struct follower *f, const struct job *job, int status, int64_t now)
{
	char text[JOB_TEXT_MAX], why[JOB_END_MAX];

	/* Wanted again before it is forgotten, it begins at once. */
	if (!f->wanted) {
		f->retry.at = f->retry.wait = 0;
		return;
	}
	if (now - f->jobs.since >= LASTED)
		f->retry.wait = 0;
	/* Another was joined. */
	if (!f->line && WIFEXITED(status) && !WEXITSTATUS(status)) {
		f->retry.at = f->retry.wait = 0;
		goes_on(all, f);
		return;
	}
	retry_later(&f->retry, now);
	job_end_text(why, job, status);
	warn("%s: %s; it begins again in %d s", name_of(text, f), why, (int)(f->retry.wait / 1000));
	if (WIFSIGNALED(status))
		lost(all, f, why);
	/* What has come to its end, or had bad lines, has worked. */
	if (WIFSIGNALED(status) || WEXITSTATUS(status) > EXIT_DEGRADED)
		fails(all, f, why);
	else
		goes_on(all, f);
}

void followers_ended(struct followers *all, int64_t now)
{
	struct job *job;
	int status;

	for (struct follower *f = all->first; f; f = f->next)
		if (jobs_ended(&f->jobs, &job, &status)) {
			ended(all, f, job, status, now);
			job_free(job);
		}
}

void followers_stop(struct followers *all)
{
	/* All at once, not one after the other. */
	for (struct follower *f = all->first; f; f = f->next)
		if (f->jobs.pid)
			kill(f->jobs.pid, SIGTERM);
	while (all->first) {
		struct follower *f = all->first;

		all->first = f->next;
		jobs_stop(&f->jobs);
		forget(f);
	}
	if (all->context)
		followers_tell(all);
}
