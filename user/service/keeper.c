// SPDX-License-Identifier: GPL-2.0-only
#include "service/keeper.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/context.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/state_path.h"
#include "change/heal.h"
#include "kernel/attach.h"
#include "kernel/held.h"
#include "kernel/live.h"
#include "observe/metrics_pages.h"
#include "observe/unfiltered.h"
#include "service/jobs.h"
#include "service/observer.h"
#include "service/retry.h"
#include "state/events.h"

/* A banned packet is to pass for less than a second, on a busy machine too: a quarter until it is seen. */
#define LOOK_EVERY 250

/* What cannot be healed now (no bpffs, no memory): the same again, in ms. */
#define HEAL_AGAIN     1000
#define HEAL_AGAIN_MAX 10000

/*
 * Commands take the filter off before the state says so, or say so before it is on: what is not so after DOUBT ms any
 * more was one of these. Who holds the lock is given longer.
 */
#define DOUBT	     1000
#define DOUBT_LOCKED 10000

struct open_interface {
	struct unfiltered is;
	time_t since;
	int64_t seen; /* first */
	bool told;
};

struct keeper {
	const struct context *context;
	struct observer *observer;
	struct held *held;
	struct jobs jobs;
	int64_t look_at;
	struct retry retry;
	struct faults faults;
	char healing[sizeof(((struct faults *)0)->text)]; /* what the job that runs heals */
	bool broken, later;				  /* it could not be healed; it waits for another command */
	bool blind;					  /* the state cannot be read */
	time_t blind_since;
	char why_blind[sizeof(((struct faults *)0)->text)];
	struct open_interface *open; /* that cannot be filtered */
	size_t open_n;
	char began[sizeof(((struct faults *)0)->text)]; /* the last fault */
	dev_t state_dev;				/* of its file */
	ino_t state_ino;
};

int keeper_open(struct keeper **keeper, const struct context *context, struct observer *observer)
{
	struct keeper *k = calloc(1, sizeof(*k));
	int err = k ? held_open(&k->held, context) : -ENOMEM;

	*keeper = k;
	if (err)
		return err;
	k->context = k->jobs.context = context;
	k->observer = observer;
	k->retry = (struct retry){ .first = HEAL_AGAIN, .most = HEAL_AGAIN_MAX, .at = INT64_MAX };
	return 0;
}

void keeper_close(struct keeper *k)
{
	if (!k)
		return;
	jobs_stop(&k->jobs);
	held_close(k->held);
	free(k->open);
	free(k);
}

static void add(struct faults *faults, const char *what)
{
	size_t n = strlen(faults->text);

	snprintf(faults->text + n, sizeof(faults->text) - n, "%s%s", n ? "; " : "", what);
}

static bool any_told(const struct keeper *k)
{
	bool any = false;

	for (size_t i = 0; i < k->open_n; i++)
		any = any || k->open[i].told;
	return any;
}

/* All that is wrong now; or else what was so at last. */
static void publish(struct keeper *k)
{
	char text[UNFILTERED_TEXT_MAX];

	k->faults.now = k->broken || k->later || k->blind || any_told(k);
	k->faults.text[0] = '\0';
	if (k->broken || k->later)
		add(&k->faults, k->healing);
	if (k->blind)
		add(&k->faults, k->why_blind);
	for (size_t i = 0; i < k->open_n; i++)
		if (k->open[i].told)
			add(&k->faults, unfiltered_text(text, &k->open[i].is));
	if (!k->faults.now)
		add(&k->faults, k->began);
	observer_faults(k->observer, &k->faults);
}

static void begins(struct keeper *k, const char *what)
{
	const struct event fault = { EVENT_FAULT, .generation = kernel_live_generation(k->context) };

	snprintf(k->began, sizeof(k->began), "%s", what);
	k->faults.n++;
	k->faults.last = time(NULL);
	event(k->context, fault, "%s", what);
}

static void ends(struct keeper *k, const char *what)
{
	const struct event end = { EVENT_HEALED, .generation = kernel_live_generation(k->context) };

	event(k->context, end, "%s", what);
}

static void healed(struct keeper *k)
{
	ends(k, k->healing);
	k->broken = k->later = false;
	k->healing[0] = '\0';
	retry_forget(&k->retry);
}

#define EXIT_LATER 3

/* In a process of its own, which has the descriptors, too. */
static int heal_run(const struct context *context, void *arg)
{
	struct keeper *k = arg;
	int is = heal(context, k->held);

	if (is < 0)
		return k->broken ? EXIT_ERROR
				 : fail("%s: cannot be made again: %s; while the service runs, the filter goes on",
					k->healing, reason(is));
	return is == HEAL_DONE ? EXIT_DONE : is == HEAL_LATER ? EXIT_LATER : EXIT_PASSES;
}

static void start(struct keeper *k, int64_t now)
{
	const char *faults = held_faults(k->held);
	bool same = !strcmp(faults, k->healing);

	/* What could not be healed is not tried at every look. */
	if (same && k->broken && now < k->retry.at)
		return;
	if (!same) {
		k->broken = k->later = false;
		retry_forget(&k->retry);
		snprintf(k->healing, sizeof(k->healing), "%s", faults);
	}
	if (jobs_add(&k->jobs, &(struct job){ .kind = JOB_HEAL, .run = heal_run, .arg = k }, NULL, NULL, 0) ||
	    jobs_start(&k->jobs))
		warn("%s: there is no memory to heal it", faults);
}

/* Nothing is known to be wrong, and no other process could tell. Looking takes as many calls as if it could be seen. */
static void unseen(struct keeper *k, int64_t now)
{
	const char *why = held_faults(k->held);
	bool same = k->broken && !strcmp(why, k->healing);

	k->look_at = now + HEAL_AGAIN;
	if (same)
		return;
	snprintf(k->healing, sizeof(k->healing), "%s", why);
	k->broken = true;
	k->later = false;
	warn("%s", why);
	begins(k, why);
	publish(k);
}

/* Of a mount over its directory the kernel tells nobody. */
static bool state_is_another(struct keeper *k)
{
	char path[STATE_PATH_MAX];
	struct stat st = { 0 };
	bool is;

	if (stat(state_path(path, k->context->state, STATE_DATABASE), &st))
		st.st_ino = 0;
	is = st.st_ino != k->state_ino || st.st_dev != k->state_dev;
	k->state_ino = st.st_ino;
	k->state_dev = st.st_dev;
	return is;
}

bool keeper_turn(struct keeper *k, int64_t now)
{
	unsigned int found;
	bool another;

	jobs_limit(&k->jobs, now);
	if (now < k->look_at || k->jobs.pid)
		return false;
	another = state_is_another(k);
	k->look_at = now + LOOK_EVERY;
	found = held_look(k->held);
	if (found & HELD_UNSEEN) {
		unseen(k, now);
	} else if (found) {
		start(k, now);
	} else if (k->broken || k->later) {
		healed(k);
		publish(k);
	}
	return another;
}

void keeper_look(struct keeper *k)
{
	k->look_at = clock_ms();
}

static bool is_new(const struct keeper *k)
{
	return !k->broken && !k->later;
}

bool keeper_ended(struct keeper *k)
{
	struct job *job;
	int status;

	if (!jobs_ended(&k->jobs, &job, &status))
		return false;
	job_free(job);
	status = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_ERROR;
	k->look_at = clock_ms();
	if (status == EXIT_PASSES) {
		/* Where it is to be filtered, that is said, and it is attached again. */
		held_forget_detached(k->held);
		return true;
	}
	if (is_new(k))
		begins(k, k->healing);
	if (status == EXIT_DONE) {
		warn("%s: made again", k->healing);
		healed(k);
	} else if (status == EXIT_LATER) {
		if (!k->later)
			warn("%s: made again when the command that works now has ended", k->healing);
		k->later = true;
		k->look_at += LOOK_EVERY;
	} else {
		k->broken = true;
		retry_later(&k->retry, clock_ms());
	}
	publish(k);
	return status == EXIT_DONE;
}

bool keeper_heals(const struct keeper *k)
{
	return k->jobs.pid;
}

int64_t keeper_due(const struct keeper *k)
{
	return keeper_heals(k) ? INT64_MAX : k->look_at;
}

void keeper_state(struct keeper *k, const char *why)
{
	char text[sizeof(k->faults.text)];

	if (k->blind == !!why)
		return;
	k->blind = why;
	if (why) {
		k->blind_since = time(NULL);
		snprintf(k->why_blind, sizeof(k->why_blind), "%s", why);
		begins(k, why);
	} else {
		/* What was said when it went could not be written where it was gone. */
		snprintf(text, sizeof(text), "the state can be read again, which it could not be since %s",
			 utc_text((char[UTC_TEXT_MAX]){ 0 }, k->blind_since));
		ends(k, text);
	}
	publish(k);
}

static struct open_interface *find_open(struct open_interface *open, size_t n, const char *label)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(open[i].is.label, label))
			return &open[i];
	return NULL;
}

static bool in_doubt(const struct keeper *k, const struct open_interface *one)
{
	int64_t seen = clock_ms() - one->seen;

	return seen < DOUBT || (seen < DOUBT_LOCKED && lock_is_held(k->context->state, STATE_LOCK));
}

static void opens(struct keeper *k, struct open_interface *one)
{
	char text[UNFILTERED_TEXT_MAX];

	one->told = true;
	warn("%s", unfiltered_text(text, &one->is));
	begins(k, text);
}

static void closes(struct keeper *k, const struct open_interface *one)
{
	char since[UTC_TEXT_MAX], text[UNFILTERED_TEXT_MAX];

	snprintf(text, sizeof(text), "%s %s, and was not filtered since %s", one->is.label,
		 attach_is_filtered(k->context, one->is.label) ? "is filtered again"
							       : "is gone, or is not to be filtered any more",
		 utc_text(since, one->since));
	warn("%s", text);
	ends(k, text);
}

void keeper_unfiltered(struct keeper *k, const struct unfiltered *list, size_t n)
{
	struct open_interface *open = calloc(n + 1, sizeof(*open)), *before = k->open;
	size_t before_n = k->open_n;

	if (!open)
		return; /* at the next look */
	k->open = open;
	k->open_n = n;
	for (size_t i = 0; i < n; i++) {
		const struct open_interface *same = find_open(before, before_n, list[i].label);

		open[i] = same ? *same : (struct open_interface){ .since = time(NULL), .seen = clock_ms() };
		open[i].is = list[i];
		if (!open[i].told && !in_doubt(k, &open[i]))
			opens(k, &open[i]);
	}
	for (size_t i = 0; i < before_n; i++)
		if (before[i].told && !find_open(open, n, before[i].is.label))
			closes(k, &before[i]);
	free(before);
	if (n || before_n)
		publish(k);
}

int64_t keeper_doubts(const struct keeper *k)
{
	int64_t now = clock_ms(), at = INT64_MAX;

	for (size_t i = 0; i < k->open_n; i++) {
		int64_t sure = k->open[i].seen + DOUBT, again = now < sure ? sure : now + LOOK_EVERY;

		if (!k->open[i].told && again < at)
			at = again;
	}
	return at;
}

const char *keeper_faulty(const struct keeper *k)
{
	return k->faults.now ? k->faults.text : "";
}
