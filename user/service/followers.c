// SPDX-License-Identifier: GPL-2.0-only
#include "service/followers.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/log.h"
#include "base/stop.h"
#include "service/config.h"
#include "service/jobs.h"
#include "service/retry.h"

#define AGAIN_FIRST 1000
#define AGAIN_MOST  60000
/* One that went on for so long has not failed at once. */
#define LASTED 60000

struct follower {
	struct follower *next;
	struct jobs jobs; /* one, and it runs */
	struct words words;
	unsigned int line; /* 0: the fleet */
	bool wanted;
	struct retry retry;
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
		if (f->jobs.pid)
			kill(f->jobs.pid, SIGTERM);
	}
}

/* For the log. */
static const char *name_of(char text[JOB_TEXT_MAX], const struct follower *f)
{
	struct job job = { .kind = f->line ? JOB_FOLLOW : JOB_FLEET, .line = f->line };

	return job_text(text, &job);
}

static void start(struct follower *f, int64_t now)
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
			start(f, now);
		at = &f->next;
	}
}

int64_t followers_due(const struct followers *all)
{
	int64_t due = INT64_MAX;

	for (const struct follower *f = all->first; f; f = f->next)
		if (!f->jobs.pid && f->retry.at < due)
			due = f->wanted ? f->retry.at : 0;
	return due;
}

static void ended(struct follower *f, int status, int64_t now)
{
	char text[JOB_TEXT_MAX];

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
		return;
	}
	retry_later(&f->retry, now);
	if (WIFSIGNALED(status))
		warn("%s: ended by signal %d; it begins again in %d s", name_of(text, f), WTERMSIG(status),
		     (int)(f->retry.wait / 1000));
	else
		warn("%s: ended with status %d; it begins again in %d s", name_of(text, f), WEXITSTATUS(status),
		     (int)(f->retry.wait / 1000));
}

void followers_ended(struct followers *all, int64_t now)
{
	struct job *job;
	int status;

	for (struct follower *f = all->first; f; f = f->next)
		if (jobs_ended(&f->jobs, &job, &status)) {
			job_free(job);
			ended(f, status, now);
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
}
