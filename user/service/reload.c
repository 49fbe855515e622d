// SPDX-License-Identifier: GPL-2.0-only
#include "service/reload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/path_walk.h"
#include "base/state_path.h"
#include "base/words.h"
#include "change/feed.h"
#include "observe/lines_down.h"
#include "service/config.h"
#include "service/file_watch.h"
#include "service/jobs.h"
#include "service/list_look.h"
#include "service/retry.h"
#include "sets/networks.h"
#include "state/failed.h"
#include "state/sources.h"

/* The files of one download come together: look once. */
#define SETTLE_MS 200
/* Who may write to one file may do so all the time: that takes the service from nobody else. A few in a row are usual.
 */
#define REST_FIRST    1000
#define REST_MOST     60000
#define USUAL	      8
#define LOCK_NUMBER   SIZE_MAX
#define FAILED_NUMBER (SIZE_MAX - 1)
/* Some changes are not reported: by another machine, or by a mount over a directory. */
#define LOOK_EVERY 60000
/* Nor is any, where the kernel has nothing left that would: the state is looked at. */
#define UNSEEN_EVERY 1000
/* Whoever has to answer for a file has so long, before it is said that he does not. */
#define ANSWER_MS 10000

/* What is reported of a file. */
struct news {
	struct retry rest; /* it is not looked at before that; INT64_MAX: a version of it is being loaded */
	bool changed;
	bool held;	    /* it has changed while it rested */
	unsigned int times; /* so often in a row */
};

static const struct retry rest = { .first = REST_FIRST, .most = REST_MOST };

/* Of a struct source no more than what is in it: there may be hundreds, of 8 KiB each. */
struct followed {
	char *list;		    /* "": the table that says whose addresses are */
	const char *path, *options; /* in the same memory, behind it */
	char stamp[SOURCE_STAMP_MAX];
	char tried[SOURCE_STAMP_MAX]; /* the version that was last given to load */
	struct news news;
	struct looker looker;
	bool far; /* others than the kernel answer for it, who may not */
	bool warned, denied;
	bool lost; /* nobody knows what came of that */
};

struct reload {
	struct file_watch *watch;
	struct followed *lists;
	size_t n;
	int64_t due, look_at, unseen_at;   /* INT64_MAX: what other commands do is told */
	bool command_ended, known, untold; /* known: whether it is */
	struct news failed;		   /* of the files that could not be loaded */
};

int reload_open(struct reload **reload)
{
	struct reload *r = calloc(1, sizeof(*r));

	*reload = r;
	if (!r)
		return -ENOMEM;
	r->due = r->unseen_at = INT64_MAX;
	r->failed.rest = rest;
	r->look_at = clock_ms() + LOOK_EVERY;
	r->watch = file_watch_open();
	if (r->watch)
		return 0;
	free(r);
	*reload = NULL;
	return -ENOMEM;
}

static void free_lists(struct followed *lists, size_t n)
{
	for (size_t i = 0; lists && i < n; i++) {
		looker_stop(&lists[i].looker);
		free(lists[i].list);
	}
	free(lists);
}

void reload_close(struct reload *r)
{
	if (!r)
		return;
	file_watch_close(r->watch);
	free_lists(r->lists, r->n);
	free(r);
}

int reload_fd(const struct reload *r)
{
	return file_watch_fd(r->watch);
}

static struct followed *find(const struct reload *r, const struct source *source)
{
	for (size_t i = 0; i < r->n; i++)
		if (!strcmp(r->lists[i].list, source->list) && !strcmp(r->lists[i].path, source->path))
			return &r->lists[i];
	return NULL;
}

/* The files of lines that failed: the state does not name them if their lists were never loaded. */
static void follow_failed(struct reload *r, const struct config *config, const struct jobs *jobs)
{
	for (size_t i = 0; i < config->n; i++) {
		const struct config_line *line = &config->lines[i];
		const char *list, *file;

		/* If that fails, the line is still tried again. */
		if (jobs_defers_line(jobs, line->number) && config_loads(line, &list, &file) && !feed_is_url(file))
			file_watch_add(r->watch, file, FAILED_NUMBER, false);
	}
}

static const char *what(const struct followed *list, char text[LIST_NAME_MAX + 8])
{
	if (!*list->list)
		return "the table of networks";
	snprintf(text, LIST_NAME_MAX + 8, "list '%s'", list->list);
	return text;
}

static void is_untold(struct reload *r, const struct context *context, int err)
{
	static const struct lines_down none;

	if (!r->known && !err)
		lines_down_keep(context, STATE_UNTOLD, &none);
	if (err && !r->untold) {
		line_down_say(
			context, STATE_UNTOLD, true,
			"%s; what other commands do is seen a second later, new versions of lists up to two minutes later",
			reason(err));
		r->unseen_at = 0;
	}
	if (!err && r->untold) {
		line_down_say(context, STATE_UNTOLD, false, "what other commands do is seen at once again");
		r->look_at = 0; /* what nobody told of */
	}
	r->known = true;
	r->untold = err;
}

static void follow_files(struct reload *r, const struct config *config, const struct jobs *jobs)
{
	char lock[STATE_PATH_MAX], text[LIST_NAME_MAX + 8];
	enum answers before;
	struct stat is;
	int err;

	file_watch_begin(r->watch);
	err = file_watch_add(r->watch, state_path(lock, jobs->context->state, STATE_LOCK), LOCK_NUMBER, true);
	is_untold(r, jobs->context, err);
	before = way_waits_for(KERNEL_ANSWERS);
	for (size_t i = 0; i < r->n; i++) {
		struct followed *list = &r->lists[i];

		err = file_watch_add(r->watch, list->path, i, false);
		/* What may not even be seen is_due() says; what may not answer is looked at by another process. */
		if (err && !list->warned && !r->untold && (err_is(err, EREMOTE) || !way_look(list->path, true, &is)))
			warn("%s: %s; a new version is noticed a minute or two later", what(list, text), reason(err));
		list->warned = err && !r->untold;
	}
	follow_failed(r, config, jobs);
	way_waits_for(before);
	file_watch_end(r->watch);
}

/* The table of networks, if there is one, behind the lists. */
static size_t add_networks(const char *state, struct source *to)
{
	struct networks *networks = networks_open(state);
	const struct networks_source *from = networks_from(networks);

	*to = (struct source){ 0 };
	if (from) {
		snprintf(to->path, sizeof(to->path), "%s", from->path);
		snprintf(to->stamp, sizeof(to->stamp), "%s", from->stamp);
	}
	networks_close(networks);
	return *to->path != '\0';
}

static int keep(struct followed *to, const struct source *from)
{
	size_t list = strlen(from->list) + 1, path = strlen(from->path) + 1, options = strlen(from->options) + 1;
	char *text = malloc(list + path + options);

	to->list = text;
	if (!text)
		return -ENOMEM;
	memcpy(text, from->list, list);
	to->path = memcpy(text + list, from->path, path);
	to->options = memcpy(text + list + path, from->options, options);
	memcpy(to->stamp, from->stamp, sizeof(to->stamp));
	return 0;
}

int reload_follow(struct reload *r, struct state *state, const struct config *config, const struct jobs *jobs)
{
	struct followed *lists;
	struct source *sources, table;
	size_t n, tables;
	int err = state_sources(state, &sources, &n);

	if (err)
		return err;
	lists = calloc(n + 1, sizeof(*lists));
	err = lists ? 0 : -ENOMEM;
	tables = add_networks(jobs->context->state, &table);
	for (size_t i = 0; i < n + tables && !err; i++) {
		const struct source *source = i < n ? &sources[i] : &table;
		struct followed *old = find(r, source);

		if (old) {
			lists[i] = *old;
			old->looker = (struct looker){ 0 };
		}
		err = keep(&lists[i], source);
		/* It may have been written before it was watched. */
		if (!old) {
			lists[i].news = (struct news){ .rest = rest, .changed = true };
			r->due = 0;
		}
	}
	free(sources);
	if (err) {
		free_lists(lists, n + tables);
		return err;
	}
	free_lists(r->lists, r->n);
	r->lists = lists;
	r->n = n + tables;
	follow_files(r, config, jobs);
	return 0;
}

void reload_all(struct reload *r)
{
	for (size_t i = 0; i < r->n; i++) {
		r->lists[i].news.changed = true;
		r->lists[i].news.rest.at = r->lists[i].news.times = 0;
		r->lists[i].tried[0] = '\0';
	}
	r->due = 0;
}

void reload_ended(struct reload *r, const char *list, int64_t now)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->lists[i].news.rest.at == INT64_MAX && !strcmp(r->lists[i].list, list))
			retry_later(&r->lists[i].news.rest, now);
}

void reload_lost(struct reload *r, const char *list)
{
	for (size_t i = 0; i < r->n; i++)
		r->lists[i].lost = r->lists[i].lost || !strcmp(r->lists[i].list, list);
}

void reload_again(struct reload *r)
{
	for (size_t i = 0; i < r->n; i++) {
		if (!r->lists[i].tried[0] || !strcmp(r->lists[i].tried, r->lists[i].stamp))
			continue;
		r->lists[i].news.changed = true;
		r->lists[i].tried[0] = '\0';
		r->due = 0;
	}
}

static void on_change(void *arg, size_t number)
{
	struct reload *r = arg;

	if (number == LOCK_NUMBER)
		r->command_ended = true;
	else if (number == FAILED_NUMBER)
		r->failed.changed = true;
	else if (number < r->n)
		r->lists[number].news.changed = true;
}

static void came(struct reload *r, struct news *news, int64_t now)
{
	if (!news->changed)
		return;
	news->held = news->held || now < news->rest.at;
	if (!news->held && r->due == INT64_MAX)
		r->due = now + SETTLE_MS;
}

bool reload_read(struct reload *r, int64_t now)
{
	r->command_ended = false;
	file_watch_read(r->watch, on_change, r);
	for (size_t i = 0; i < r->n; i++)
		came(r, &r->lists[i].news, now);
	came(r, &r->failed, now);
	return r->command_ended;
}

static int64_t due_of(const struct news *news, int64_t due)
{
	return news->held && news->rest.at < due ? news->rest.at : due;
}

bool reload_unseen(struct reload *r, int64_t now)
{
	bool due = now >= r->unseen_at;

	if (due)
		r->unseen_at = r->untold ? now + UNSEEN_EVERY : INT64_MAX;
	return due;
}

static int64_t turn_due(const struct reload *r)
{
	int64_t due = due_of(&r->failed, r->due < r->look_at ? r->due : r->look_at);

	for (size_t i = 0; i < r->n; i++) {
		const struct followed *list = &r->lists[i];

		due = due_of(&list->news, due);
		if (list->looker.pid && !list->denied && list->looker.since + ANSWER_MS < due)
			due = list->looker.since + ANSWER_MS;
	}
	return due;
}

int64_t reload_due(const struct reload *r)
{
	int64_t due = turn_due(r);

	return r->unseen_at < due ? r->unseen_at : due;
}

/* May it be looked at? If it was held, what comes next rests for longer. */
static bool may_look(struct news *news, int64_t now)
{
	if (now < news->rest.at) {
		news->held = news->held || news->changed;
		return false;
	}
	news->times = news->held ? news->times + 1 : 0;
	if (news->times < USUAL)
		news->rest.wait = 0;
	news->held = false;
	return true;
}

/* As the config file says, otherwise as the list was loaded. */
static int load_again(const struct followed *source, const struct config *config, struct jobs *jobs)
{
	char *own[] = { "load", source->list, (char *)(uintptr_t)source->path };
	char *table[] = { "tune", "--networks", (char *)(uintptr_t)source->path };
	const struct config_line *line = config_load_of(config, source->list);
	struct job job = { .kind = JOB_LOAD };
	struct words options;
	char **words;
	size_t n;
	int err = -ENOMEM;

	if (!*source->list)
		return jobs_add(jobs, &(struct job){ .kind = JOB_NETWORKS }, NULL, table, 3);
	snprintf(job.list, sizeof(job.list), "%s", source->list);
	if (line)
		return jobs_add(jobs, &job, line->verb->if_news, line->words.words, (size_t)line->words.n);
	if (words_split(&options, source->options))
		return -EINVAL;
	n = (size_t)options.n;
	words = calloc(n + 3, sizeof(*words));
	if (words) {
		memcpy(words, own, sizeof(own));
		memcpy(words + 3, options.words, n * sizeof(*words));
		err = jobs_add(jobs, &job, "--renew", words, n + 3);
	}
	free(words);
	words_free(&options);
	return err;
}

/* May it be loaded now, as what was seen of it says? */
static bool is_due(const struct context *context, struct followed *list, const struct list_look *seen)
{
	bool denied = err_is(seen->err, EACCES) || err_is(seen->err, ETIMEDOUT) || seen->is_link;
	bool in_force = !seen->err && !strcmp(seen->stamp, list->stamp);
	char text[LIST_NAME_MAX + 8];

	/*
	 * The unit keeps the service out of home directories, where a list may lie that was loaded by hand. A link that
	 * leads nowhere fails as one that leads to no list: nobody learns by it what there is.
	 */
	if (denied && !list->denied)
		warn("%s: %s; its new versions are not loaded: %s", what(list, text), seen->why,
		     err_is(seen->err, EACCES)	    ? "put it elsewhere, or name it in the config file"
		     : err_is(seen->err, ETIMEDOUT) ? "have them copied to a disk of this machine"
		     : err_is(seen->err, EXDEV)	    ? "put the file itself there"
						    : "the link leads nowhere");
	if (denied && *list->list)
		list_failed(context, list->list, seen->why);
	else if (list->denied && (seen->err || in_force) && *list->list)
		list_succeeded(context, list->list);
	if (denied)
		list->tried[0] = '\0'; /* what it was refused for is not what it fails with */
	list->denied = denied;
	if (list->lost && in_force) {
		/* It was in force before the command ended. */
		list_succeeded(context, list->list);
		list->lost = false;
	}
	/* A file that is gone is no new version. If one is being written, its end is reported. */
	return seen->is_news && !seen->is_written;
}

/* Who answers for files may let a load last for ever: that keeps one place at most, which others need, too. */
static bool is_held_up(const struct reload *r, const struct followed *list)
{
	for (size_t i = 0; i < r->n && list->far; i++)
		if (r->lists[i].far && r->lists[i].news.rest.at == INT64_MAX)
			return true;
	return false;
}

struct with {
	struct reload *reload;
	const struct config *config;
	struct jobs *jobs;
	int64_t now;
};

static void was_seen(const struct with *w, struct followed *list, const struct list_look *seen)
{
	char text[LIST_NAME_MAX + 8];

	if (!is_due(w->jobs->context, list, seen))
		return;
	if (is_held_up(w->reload, list)) {
		list->news.changed = list->news.held = true;
		retry_later(&list->news.rest, w->now);
		return;
	}
	strcpy(list->tried, seen->stamp);
	if (load_again(list, w->config, w->jobs))
		warn("%s: %s", what(list, text), strerror(ENOMEM));
	else
		list->news.rest.at = INT64_MAX;
}

/* `look`: even if no change was reported. */
static void look_at(const struct with *w, struct followed *list, bool look)
{
	const struct list_known file = { list->path, list->stamp, list->tried, list->news.changed };
	char text[LIST_NAME_MAX + 8];
	struct list_look seen;
	int err;

	if (list->looker.pid || (!file.reported && !look))
		return;
	list->news.changed = false;
	list_look(&seen, &file);
	list->far = err_is(seen.err, EREMOTE);
	if (!list->far) {
		was_seen(w, list, &seen);
		return;
	}
	err = looker_begin(&list->looker, &file, w->now);
	if (err)
		warn("%s: it cannot be looked at: %s", what(list, text), reason(err));
}

static bool is_late(const struct followed *list, int64_t now)
{
	return list->looker.pid && !list->denied && now - list->looker.since >= ANSWER_MS;
}

static void say_late(const struct with *w, struct followed *list)
{
	struct list_look seen = { .err = -ETIMEDOUT };

	snprintf(seen.why, sizeof(seen.why), "%s: whoever answers for its file system does not answer", list->path);
	is_due(w->jobs->context, list, &seen);
}

void reload_looked(struct reload *r, const struct config *config, struct jobs *jobs, int64_t now)
{
	const struct with w = { r, config, jobs, now };
	struct list_look seen;

	for (size_t i = 0; i < r->n; i++) {
		struct followed *list = &r->lists[i];

		if (!looker_ended(&list->looker, &seen))
			continue;
		if (!err_is(seen.err, EREMOTE))
			was_seen(&w, list, &seen);
		if (list->news.changed && !list->news.held)
			r->due = now;
	}
}

bool reload_turn(struct reload *r, const struct config *config, struct jobs *jobs, int64_t now)
{
	const struct with w = { r, config, jobs, now };
	bool look = now >= r->look_at, again;

	if (now < turn_due(r))
		return false;
	if (look)
		r->look_at = now + LOOK_EVERY;
	r->due = INT64_MAX;
	follow_files(r, config, jobs); /* their paths may lead elsewhere now */
	for (size_t i = 0; i < r->n; i++) {
		if (is_late(&r->lists[i], now))
			say_late(&w, &r->lists[i]);
		if (may_look(&r->lists[i].news, now))
			look_at(&w, &r->lists[i], look);
	}
	again = may_look(&r->failed, now) && r->failed.changed;
	if (again) {
		r->failed.changed = false;
		retry_later(&r->failed.rest, now);
	}
	return again;
}
