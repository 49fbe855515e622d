// SPDX-License-Identifier: GPL-2.0-only
#include "service/reload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "service/config.h"
#include "service/file_watch.h"
#include "service/jobs.h"
#include "base/log.h"
#include "state/sources.h"
#include "base/words.h"

/* Several files of one download come together: one look. */
#define SETTLE_MS    200
#define LOCK_NUMBER  SIZE_MAX
#define AGAIN_NUMBER (SIZE_MAX - 1)
/* Not all is told: of a file that another machine writes, or one behind a file system that is mounted over it. */
#define LOOK_EVERY 60000

struct followed {
	struct source source;
	char tried[SOURCE_STAMP_MAX]; /* the version that was last given to load */
	bool changed, told;
};

struct reload {
	struct follow *follow;
	struct followed *lists;
	size_t n;
	int64_t due, look_at;
	bool command_ended, lock_told;
	bool again; /* what could not be loaded has changed */
};

int reload_open(struct reload **reload)
{
	struct reload *r = calloc(1, sizeof(*r));
	int err = -ENOMEM;

	*reload = r;
	if (!r)
		return err;
	r->due = INT64_MAX;
	r->look_at = clock_ms() + LOOK_EVERY;
	r->follow = follow_open(&err);
	if (err) {
		free(r);
		*reload = NULL;
	}
	return err;
}

void reload_close(struct reload *r)
{
	if (!r)
		return;
	follow_close(r->follow);
	free(r->lists);
	free(r);
}

int reload_fd(const struct reload *r)
{
	return follow_fd(r->follow);
}

static struct followed *find(const struct reload *r, const struct source *source)
{
	for (size_t i = 0; i < r->n; i++)
		if (!strcmp(r->lists[i].source.list, source->list) && !strcmp(r->lists[i].source.path, source->path))
			return &r->lists[i];
	return NULL;
}

/* The files of lines that failed, of lists that may never have been loaded. */
static void follow_failed(struct reload *r, const struct config *config, const struct jobs *jobs)
{
	for (size_t i = 0; i < config->n; i++) {
		const char *list, *file;
		char about[JOB_LINE_MAX];

		job_line(about, config->lines[i].number);
		if (jobs_keeps(jobs, about) && config_loads(&config->lines[i].words, &list, &file))
			follow_add(r->follow, file, AGAIN_NUMBER, false); /* else it is tried again all the same */
	}
}

static void follow_files(struct reload *r, const struct config *config, const struct jobs *jobs)
{
	char lock[PATH_MAX];
	int err;

	follow_begin(r->follow);
	snprintf(lock, sizeof(lock), "%s/lock", opt_state);
	err = follow_add(r->follow, lock, LOCK_NUMBER, true);
	if (err && !r->lock_told)
		warn("%s; what other commands do is not seen", reason(err));
	r->lock_told = err;
	for (size_t i = 0; i < r->n; i++) {
		struct followed *list = &r->lists[i];

		err = follow_add(r->follow, list->source.path, i, false);
		if (err && !list->told)
			warn("list '%s': %s; a new version is noticed a minute or two later", list->source.list,
			     reason(err));
		list->told = err;
	}
	follow_failed(r, config, jobs);
	follow_end(r->follow);
}

int reload_follow(struct reload *r, struct state *state, const struct config *config, const struct jobs *jobs)
{
	struct followed *lists;
	struct source *sources;
	size_t n;
	int err = state_sources(state, &sources, &n);

	if (err)
		return err;
	lists = calloc(n + 1, sizeof(*lists));
	for (size_t i = 0; lists && i < n; i++) {
		const struct followed *old = find(r, &sources[i]);

		if (old)
			lists[i] = *old;
		lists[i].source = sources[i];
		/* It may have been written before anybody looked. */
		if (!old) {
			lists[i].changed = true;
			r->due = 0;
		}
	}
	free(sources);
	if (!lists)
		return -ENOMEM;
	free(r->lists);
	r->lists = lists;
	r->n = n;
	follow_files(r, config, jobs);
	return 0;
}

void reload_all(struct reload *r)
{
	for (size_t i = 0; i < r->n; i++) {
		r->lists[i].changed = true;
		r->lists[i].tried[0] = '\0';
	}
	r->due = 0;
}

void reload_again(struct reload *r)
{
	for (size_t i = 0; i < r->n; i++) {
		if (!r->lists[i].tried[0] || !strcmp(r->lists[i].tried, r->lists[i].source.stamp))
			continue;
		r->lists[i].changed = true;
		r->lists[i].tried[0] = '\0';
		r->due = 0;
	}
}

static void on_change(void *arg, size_t number)
{
	struct reload *r = arg;

	if (number == LOCK_NUMBER)
		r->command_ended = true;
	else if (number == AGAIN_NUMBER)
		r->again = true;
	else if (number < r->n)
		r->lists[number].changed = true;
}

bool reload_read(struct reload *r, int64_t now)
{
	r->command_ended = false;
	follow_read(r->follow, on_change, r);
	for (size_t i = 0; i <= r->n; i++)
		if ((i < r->n ? r->lists[i].changed : r->again) && r->due == INT64_MAX)
			r->due = now + SETTLE_MS;
	return r->command_ended;
}

bool reload_waits(const struct reload *r)
{
	return r->due != INT64_MAX;
}

int64_t reload_due(const struct reload *r)
{
	return r->due < r->look_at ? r->due : r->look_at;
}

/* As the config file says it, or else as the list was loaded. */
static int load_again(const struct source *source, const struct config *config, struct jobs *jobs)
{
	char *own[] = { (char *)(uintptr_t)source->list, (char *)(uintptr_t)source->path };
	char about[LIST_NAME_MAX + 16];
	const struct words *line = config_load_of(config, source->list);
	struct words options;
	char **words;
	int err = -ENOMEM;

	snprintf(about, sizeof(about), "load %s", source->list);
	if (line)
		return jobs_command(jobs, about, "load", "--if-changed", line->words + 1, (size_t)line->n - 1);
	if (words_split(&options, source->options))
		return -EINVAL;
	words = calloc((size_t)options.n + 2, sizeof(*words));
	if (words) {
		memcpy(words, own, sizeof(own));
		memcpy(words + 2, options.words, (size_t)options.n * sizeof(*words));
		err = jobs_command(jobs, about, "load", "--if-changed", words, (size_t)options.n + 2);
	}
	free(words);
	words_free(&options);
	return err;
}

bool reload_turn(struct reload *r, const struct config *config, struct jobs *jobs, int64_t now)
{
	bool again = r->again, look = now >= r->look_at, told;

	if (now < reload_due(r))
		return false;
	r->again = false;
	if (look)
		r->look_at = now + LOOK_EVERY;
	r->due = INT64_MAX;
	follow_files(r, config, jobs); /* the way there may be another */
	for (size_t i = 0; i < r->n; i++) {
		struct followed *list = &r->lists[i];
		struct source new = list->source;

		told = list->changed;
		if (!told && !look)
			continue;
		list->changed = false;
		/* A file that is gone is no new version of the list. */
		if (source_look(new.stamp, new.path) || !strcmp(new.stamp, list->source.stamp) || !strcmp(new.stamp, list->tried))
			continue;
		/* Its end is told, too. */
		if (source_is_written(list->source.path))
			continue;
		/* Of another's file the kernel does not say whether it is being written. */
		if (!told && source_is_young(list->source.path, LOOK_EVERY / 1000))
			continue;
		strcpy(list->tried, new.stamp);
		if (load_again(&list->source, config, jobs))
			warn("list '%s': %s", list->source.list, strerror(ENOMEM));
	}
	return again;
}
