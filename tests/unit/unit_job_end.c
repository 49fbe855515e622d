// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the service does when a command of it has ended: of every kind, however it ended; who is told, what is tried
 * again and when, word for word.
 */
#include <stdlib.h>
#include <sys/wait.h>

#include "service/internal.h"
#include "kernel/live.h"
#include "state/events.h"
#include "state/failed.h"
#include "model_clock.h"
#include "shown.h"

static const struct shown known[] = {
#include "unit_job_end.txt"
};

static struct shows shows = { .file = "tests/unit/unit_job_end.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define EXITS(status) ((status) << 8)
#define LATER	      500 /* ms: each command ends so long after the one before */
#define NEVER	      INT64_MAX

static const struct context context = CONTEXT_DEFAULT;
static struct service service;
static bool left_open; /* an interface is there that the filter is not on */
static int keeper;

__attribute__((format(printf, 1, 2))) static void given_say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	printf("       says: ");
	vprintf(fmt, args);
	putchar('\n');
	va_end(args);
}

static void given_say_about(const struct log_subject *about, const char *text)
{
	printf("       says: %s; of %s, list %s, %g s\n", text, about->verb, about->list ?: "none", about->since);
}

static void given_soon(struct service *its, int64_t at)
{
	if (its != &service || at != now_ms)
		abort();
	line("it looks at the state soon");
}

static bool given_left_open(struct arrivals *arrivals, int64_t now)
{
	(void)arrivals;
	if (now != now_ms)
		abort();
	line("is an interface left? %s", left_open ? "yes" : "no");
	return left_open;
}

static bool is_full;

static bool given_full(const char *directory)
{
	(void)directory;
	return is_full;
}

static void given_rate_end(struct rate_watch *watch, int64_t now, bool due)
{
	if (watch != &service.rate || now != now_ms)
		abort();
	line("the rate is measured: %s", due ? "rotate" : "as it should be");
}

static void given_expired(struct expiry *expiry, bool done)
{
	if (expiry != &service.expiry)
		abort();
	line("what ran out has ended: %s", done ? "yes" : "no");
}

static bool trial; /* an interface waits for confirmation */

static bool given_waits(const struct expiry *expiry, const struct context *its)
{
	if (expiry != &service.expiry || its != &context)
		abort();
	line("does anything wait? %s", trial ? "yes" : "no");
	return trial;
}

static void given_jailed(struct jail_watch *watch, int64_t now, bool done)
{
	if (watch != &service.jail || now != now_ms)
		abort();
	line("whom the detector bans has bans: %s", done ? "yes" : "no");
}

static void given_keeper(struct keeper *its)
{
	if (its != (struct keeper *)&keeper)
		abort();
	line("the keeper looks%s", service.started ? "" : " before the first job is over");
}

static void given_see(struct service *its)
{
	if (its != &service)
		abort();
	line("which interfaces are not filtered?");
}

static void given_tell(const struct followers *its)
{
	if (its != &service.followers)
		abort();
	line("it is told which lines fail");
}

static void given_free(struct job *job)
{
	line("it is freed");
	job_free(job);
}

static void given_failed(const struct context *its, const char *list, const char *why)
{
	if (its != &context)
		abort();
	line("list '%s' was refused: %s", list, why);
}

static void given_reloaded(struct reload *its, const char *list, int64_t now)
{
	if (its != (struct reload *)&keeper || now != now_ms)
		abort();
	line("the file of '%s' rests", list);
}

static void given_lost(struct reload *its, const char *list)
{
	if (its != (struct reload *)&keeper)
		abort();
	line("is list '%s' in force? its file is looked at", list);
}

__attribute__((format(printf, 3, 4))) static void given_event(const struct context *its, struct event e,
							      const char *fmt, ...)
{
	va_list args;

	if (its != &context || e.kind != EVENT_REFUSED || e.generation != 7)
		abort();
	va_start(args, fmt);
	begin_line();
	printf("event: refused: ");
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
}

/* It keeps what it says in its context, and so has one of its own. */
static void given_feed_lost(struct context *own, const char *list, const char *why)
{
	if (own == &context || own->state != context.state || own->wait != context.wait)
		abort();
	line("the feed of '%s' has failed: %s", list, why);
}

#define feed_lost		  given_feed_lost
#define list_failed		  given_failed
#define reload_lost		  given_lost
#define reload_ended		  given_reloaded
#define event(...)		  given_event(__VA_ARGS__)
#define kernel_live_generation(c) ((c) == &context ? 7 : 0)
#define clock_ms		  given_ms
#define warn			  given_warn
#define service_say		  given_say
#define service_say_about	  given_say_about
#define service_look_soon	  given_soon
#define arrivals_left_open	  given_left_open
#define reserve_is_needed	  given_full
#define rate_watch_end		  given_rate_end
#define expiry_ran		  given_expired
#define expiry_waits		  given_waits
#define jail_watch_ran		  given_jailed
#define keeper_look		  given_keeper
#define service_see		  given_see
#define followers_tell		  given_tell
#define job_free		  given_free
#include "service/job_end.c"
#undef job_free

static void print_time(const char *what, int64_t at)
{
	if (at == NEVER)
		return;
	printf(", %s ", what);
	if (at)
		printf("in %lld", (long long)(at - now_ms));
	else
		printf("at once");
}

static void print_jobs(const char *what, const struct job *job)
{
	char text[JOB_TEXT_MAX];

	for (; job; job = job->next)
		printf(", %s %s%s%s%s", what, job_text(text, job), job->again ? " again" : "",
		       job->failed ? " as it failed" : "",
		       job->args[0] && !strcmp(job->args[1], "rotate") ? " by its verb" : "");
}

static void begin(void)
{
	now_ms = BEGINS;
	left_open = false;
	service = (struct service){ .context = &context,
				    .jobs.context = &context,
				    .urgent.context = &context,
				    .reload = (struct reload *)&keeper,
				    .keeper = (struct keeper *)&keeper,
				    .retry = { .first = 1000, .most = 3000, .at = NEVER },
				    .rate.number = 7,
				    .rotate_at = NEVER,
				    .rotate_next = NEVER };
}

/* Such a command has ended; `words`: a verb and its operand. */
static void ends(struct job job, const char *verb, const char *word, int status)
{
	char *words[] = { (char *)(uintptr_t)verb, (char *)(uintptr_t)word };
	struct jobs made = { .context = &context };
	char text[JOB_TEXT_MAX];
	struct job *its;

	now_ms += LATER;
	if (jobs_add(&made, &job, NULL, words, verb ? 1 + !!word : 0))
		abort();
	its = made.first;
	its->since = 2.5;
	begin_line();
	printf("%s%s%s ", job_text(text, its), job.unwanted ? " that is unwanted" : "",
	       job.again ? " that failed" : "");
	if (WIFEXITED(status))
		printf("exits with %d\n", WEXITSTATUS(status));
	else
		printf("is killed\n");
	service_job_ended(&service, its, status);
	begin_line();
	printf("%s, status %d", service.started ? "started" : "not started", service.status);
	print_time("lines and lists again", service.retry.at);
	print_time("rotates", service.rotate_at);
	print_time("rotates not before", service.rotate_next);
	if (service.rate.number != 7)
		printf(", any rate is measured");
	print_jobs("waits:", service.jobs.first);
	print_jobs("deferred:", service.jobs.deferred);
	print_jobs("at once:", service.urgent.first);
	putchar('\n');
}

static void over(void)
{
	line("the service ends");
	jobs_stop(&service.jobs);
	jobs_stop(&service.urgent);
}

static int nothing(const struct context *its, void *unused)
{
	(void)its;
	(void)unused;
	return EXIT_DONE;
}

/* Each kind, each way, and each time a service that has just begun. What is no command is a function. */
static void each_kind(void)
{
	static const int ways[] = { EXITS(0), EXITS(1), EXITS(2), EXITS(3), SIGKILL };
	static const struct {
		enum job_kind kind;
		const char *verb;
	} kinds[] = { { JOB_START, "restore" },	    { JOB_RESTORE, "restore" }, { JOB_LINE, "allow" },
		      { JOB_LOAD, "load" },	    { JOB_FEED, "load" },	{ JOB_ROTATE, "rotate" },
		      { JOB_EXPIRE, NULL },	    { JOB_MEASURE, NULL },	{ JOB_JAIL, NULL },
		      { JOB_NETWORKS, "networks" }, { JOB_NEEDS, NULL } };

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
			struct job job = { .kind = kinds[k].kind, .run = kinds[k].verb ? NULL : nothing };

			begin();
			if (job.kind == JOB_LOAD || job.kind == JOB_FEED)
				strcpy(job.list, "bad");
			else if (job.kind == JOB_LINE)
				job.line = 3;
			ends(job, kinds[k].verb, NULL, ways[i]);
			jobs_stop(&service.jobs);
			jobs_stop(&service.urgent);
		}
}

/* It is no reason to end: there may be room again. */
static void full_disk(void)
{
	for (int full = 1; full >= 0; full--) {
		is_full = full;
		printf("full %d\n", full);
		begin();
		ends((struct job){ .kind = JOB_START }, "restore", "--spare", EXITS(2));
		over();
	}
}

static void interfaces(void)
{
	const struct job job = { .kind = JOB_RESTORE };

	left_open = true;
	ends(job, "restore", "--spare", EXITS(0));
	ends(job, "restore", "--spare", EXITS(1));
	ends(job, "restore", "--spare", EXITS(2));
	left_open = false;
	ends(job, "restore", "--spare", EXITS(1));
	over();
}

/* A line that attached what goes back has its turn again, at no time of its own. */
static void on_trial(void)
{
	static const int ways[] = { EXITS(0), EXITS(1), EXITS(2), SIGKILL };
	const struct job line3 = { .kind = JOB_LINE, .line = 3 };
	struct job unwanted = line3;

	trial = true;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		begin();
		ends(line3, "attach", "eth0", ways[i]);
		over();
	}
	unwanted.unwanted = true;
	ends(unwanted, "attach", "eth0", EXITS(1));
	over();
	/* Nor is it done the second time. */
	begin();
	ends((struct job){ .kind = JOB_LINE, .line = 3, .again = true, .failed = true }, "attach", "eth0", EXITS(1));
	over();
	trial = false;
	ends(line3, "attach", "eth0", EXITS(1));
	over();
	/* It is over since it began, so that its turn is now. */
	for (size_t i = 1; i < 3; i++) {
		begin();
		ends((struct job){ .kind = JOB_LINE, .line = 3, .overtaken = true }, "attach", "eth0", ways[i]);
		over();
	}
}

/* What fails is tried again together, and only the first says when. */
static void again(void)
{
	const struct job line3 = { .kind = JOB_LINE, .line = 3 },
			 line4 = { .kind = JOB_LINE, .line = 4, .list = "bad" };
	const struct job load = { .kind = JOB_LOAD, .list = "worse" };
	struct job unwanted = line3, before = line4;

	unwanted.unwanted = true;
	before.again = true;
	ends(load, "load", "worse", EXITS(2));
	ends(line3, "allow", "192.0.2.1", EXITS(2));
	ends(line4, "load", "bad", SIGTERM);
	ends(unwanted, "allow", "192.0.2.1", EXITS(2));
	/* They are tried. */
	now_ms = service.retry.at;
	service.retry.at = NEVER;
	jobs_stop(&service.jobs);
	ends(before, "load", "bad", EXITS(0));
	ends(line3, "allow", "192.0.2.1", EXITS(0));
	ends(load, "load", "worse", EXITS(2));
	service.retry.at = NEVER;
	ends(line3, "allow", "192.0.2.1", EXITS(2));
	service.retry.at = NEVER;
	unwanted.again = true;
	ends(unwanted, "allow", "192.0.2.1", EXITS(2));
	ends(unwanted, "allow", "192.0.2.1", EXITS(1));
	unwanted = load;
	unwanted.unwanted = true;
	ends(unwanted, "load", "worse", SIGKILL);
	over();
}

/* A list that is in force in part is tried again as one that was refused. */
static void partly(void)
{
	const struct job load = { .kind = JOB_LOAD, .list = "worse" }, feed = { .kind = JOB_FEED, .list = "bad" };

	ends(load, "load", "worse", EXITS(1));
	ends((struct job){ .kind = JOB_LINE, .line = 4, .list = "bad" }, "load", "bad", EXITS(1));
	now_ms = service.retry.at;
	service.retry.at = NEVER;
	ends(load, "load", "worse", EXITS(1));
	ends(load, "load", "worse", EXITS(0));
	ends(feed, "load", "bad", EXITS(1));
	over();
}

/* What becomes of a feed that a signal ended is written by a process of its own, at once. */
static void feeds(void)
{
	const struct job feed = { .kind = JOB_FEED, .list = "bad" }, load = { .kind = JOB_LOAD, .list = "worse" };

	ends(load, "load", "worse", SIGKILL);
	ends(feed, "load", "bad", EXITS(2));
	ends(feed, "load", "bad", SIGTERM);
	for (struct job *job = service.urgent.first; job; job = job->next)
		line("it ends with %d", job->run(&context, job));
	over();
}

/* A word for the log, as short as it is. */
static void texts(void)
{
	struct job job = { .kind = JOB_LOAD };

	memset(job.list, 'x', sizeof(job.list) - 1);
	ends(job, "load", "path", EXITS(0));
	ends(job, "load", "path", SIGSEGV);
	job.stopped = true;
	ends(job, "load", "path", SIGKILL);
	ends((struct job){ .kind = JOB_NETWORKS }, "networks", "path", EXITS(0));
	over();
}

static void rates(void)
{
	const struct job measure = { .kind = JOB_MEASURE, .run = nothing }, rotate = { .kind = JOB_ROTATE };

	ends(measure, NULL, NULL, EXITS(0));
	ends(measure, NULL, NULL, EXITS(1));
	ends(measure, NULL, NULL, EXITS(1));
	ends(rotate, "rotate", NULL, EXITS(2));
	ends(rotate, "rotate", NULL, EXITS(0));
	over();
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "each kind", each_kind }, { "a full disk", full_disk }, { "interfaces", interfaces },
		{ "again", again },	    { "on trial", on_trial },	  { "feeds", feeds },
		{ "in part", partly },	    { "texts", texts },		  { "rates", rates }
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
