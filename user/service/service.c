// SPDX-License-Identifier: GPL-2.0-only
#include "service/service.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "service/arrivals.h"
#include "change/live_bans.h"
#include "base/clock.h"
#include "service/expiry.h"
#include "service/hook.h"
#include "service/jobs.h"
#include "service/rate_watch.h"
#include "kernel/live.h"
#include "base/log.h"
#include "service/sd_notify.h"
#include "service/observer.h"
#include "service/reload.h"
#include "state/state.h"

/* Many commands in a row: one look at what they did. */
#define LOOK_MS	 50
#define AGAIN_MS 5000 /* what failed is tried again */
/* The file may be damaged, which time does not mend, or the disk full: so often at first, then ever more rarely. */
#define LIST_AGAIN     60000
#define LIST_AGAIN_MAX 3600000

enum { ON_SIGNAL, ON_WALL, ON_FILE, ON_LINK, OWN_FDS };

struct service {
	struct service_options *options;
	struct config *config;
	struct jobs jobs;
	struct jobs urgent; /* what ends, and interfaces that came: a list may take its time */
	struct reload *reload;
	struct arrivals *arrivals;
	struct observer *observer;
	struct hook hook;
	struct endings endings;
	struct judging judging;
	int signals;
	int64_t look_at, rotate_at, notify_at; /* ms of CLOCK_MONOTONIC; INT64_MAX: not at all */
	int64_t glance_at;		       /* for what cannot wait until the jobs are done */
	int64_t rotate_next;		       /* not before */
	int64_t again_at, again_ms;	       /* when to try again what failed, and how long that is; 0: nothing did */
	bool started;			       /* the first job is done */
	bool ready, stop;
	bool blind; /* the state could not be looked at, and that has been said */
	int status;
};

/* What the service does goes to the journal, with what its commands say. */
PRINTF(1, 2) static void say(const char *fmt, ...)
{
	va_list args;

	if (opt_quiet)
		return;
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

static void plan_rotation(struct service *s, int64_t now)
{
	double age;

	s->rotate_at = INT64_MAX;
	if (s->options->rotate_every && !kernel_age(&age))
		s->rotate_at = now + (int64_t)(((double)s->options->rotate_every - age) * 1e3);
	if (s->rotate_at < s->rotate_next)
		s->rotate_at = s->rotate_next;
}

/* The state may be another than we know. */
static void look(struct service *s, int64_t now)
{
	struct state *state = NULL;
	struct generation live;
	/* Before the state: a command that is at work writes the state first. */
	bool filters = !kernel_live(&live);
	int err = state_open(&state, false);

	s->look_at = s->glance_at = INT64_MAX;
	if (!err && filters)
		err = bans_known(state, &live);
	if (!err)
		err = reload_follow(s->reload, state, s->config, &s->jobs);
	if (!err)
		err = arrivals_expect(s->arrivals, state);
	endings_look(&s->endings, err ? NULL : state);
	state_close(state);
	observer_state(s->observer, !err);
	if (err && !s->blind)
		warn("%s; what was known of it stays in force", reason(err));
	if (err)
		s->look_at = now + AGAIN_MS;
	s->blind = err;
	plan_rotation(s, now);
	judging_plan(&s->judging, now);
}

static void look_soon(struct service *s, int64_t at)
{
	if (at < s->look_at)
		s->look_at = at;
	if (at < s->glance_at)
		s->glance_at = at;
}

/* A list may take minutes: what others do meanwhile ends in time, and interfaces that they name are waited for. */
static void glance(struct service *s, int64_t now)
{
	struct state *state = NULL;
	int err = state_open(&state, false);

	if (!err)
		err = arrivals_expect(s->arrivals, state);
	endings_look(&s->endings, err ? NULL : state);
	state_close(state);
	s->glance_at = INT64_MAX;
	if (err)
		look_soon(s, now + AGAIN_MS);
}

/* Every line of the config file as a command; what is so already, it leaves alone. */
static void queue_config(struct service *s)
{
	for (size_t i = 0; i < s->config->n; i++) {
		const struct words *w = &s->config->lines[i].words;
		const char *option = !strcmp(w->words[0], "attach") ? "--if-needed"
				     : !strcmp(w->words[0], "load") ? "--if-changed"
								    : NULL;
		char about[JOB_LINE_MAX];

		job_line(about, s->config->lines[i].number);
		if (strcmp(w->words[0], "run") != 0)
			jobs_command(&s->jobs, about, w->words[0], option, w->words + 1, (size_t)w->n - 1);
	}
}

static void reload_config(struct service *s)
{
	const char *listen = s->options->listen ? s->options->listen : "";
	struct config fresh;

	notify("RELOADING=1\nMONOTONIC_USEC=%lld000", (long long)clock_ms());
	s->ready = false; /* it is said again when all is done */
	if (!s->options->configure(s->options, &fresh, false)) {
		if (strcmp(listen, s->options->listen ? s->options->listen : ""))
			warn("another --listen is taken up at the next start");
		jobs_forget(&s->jobs, JOB_LINE);
		config_free(s->config);
		*s->config = fresh;
		hook_change(&s->hook, s->options->hook);
		queue_config(s);
		say("%s read again: %zu commands", fresh.path, fresh.n);
	}
	reload_all(s->reload);
	jobs_command(&s->jobs, "restore", "restore", NULL, NULL, 0);
}

/* Does the filter say yes more often than was asked for? */
static void judged(struct service *s, bool due)
{
	judging_end(&s->judging, clock_ms(), due);
	if (!due)
		return;
	say("the filter says yes to more than was asked for: it is built anew, larger");
	jobs_command(&s->jobs, "rotate", "rotate", NULL, NULL, 0);
}

/* Measured again, too, if that was why. */
static void rotate_later(struct service *s)
{
	s->rotate_at = s->rotate_next = clock_ms() + ROTATE_AGAIN;
	judging_forget(&s->judging);
}

/* A line of the config file, or a list: true where the job is kept. */
static bool again_later(struct service *s, struct job *job)
{
	bool line = job_is_line(job);

	if (job->forgotten || (!line && strncmp(job->about, "load ", 5)))
		return false;
	if (s->again_at == INT64_MAX) {
		s->again_ms = !s->again_ms ? LIST_AGAIN : 2 * s->again_ms;
		if (s->again_ms > LIST_AGAIN_MAX)
			s->again_ms = LIST_AGAIN_MAX;
		s->again_at = clock_ms() + s->again_ms;
	}
	if (!line)
		return false;
	jobs_keep(&s->jobs, job);
	/* Its file is one to follow. */
	look_soon(s, clock_ms());
	return true;
}

static void again(struct service *s)
{
	s->again_at = INT64_MAX;
	jobs_again(&s->jobs);
	reload_again(s->reload);
}

/* The command itself has said what was wrong. */
static void finish(struct service *s, struct job *job, int status)
{
	bool done = WIFEXITED(status) && WEXITSTATUS(status) != EXIT_ERROR;

	/* One that is not there is waited for: what could be done is. */
	if (!strcmp(job->about, "restore") && arrivals_left_open(s->arrivals, clock_ms()) && done)
		done = WEXITSTATUS(status) == EXIT_DONE;

	if (WIFSIGNALED(status))
		warn("%s: ended by signal %d", job->about, WTERMSIG(status));
	if (!done && !strcmp(job->about, "start"))
		s->status = EXIT_ERROR;
	else if (!done && !strcmp(job->about, "rotate"))
		rotate_later(s);
	else if (job->run == judging_run)
		judged(s, done && WEXITSTATUS(status) == EXIT_PASSES);
	else if (done && strcmp(job->about, "start") != 0 && (job->again || !job_is_line(job)))
		say("%s: done", job->about);
	if (job->run == endings_run) {
		endings_ran(&s->endings, done);
		look_soon(s, clock_ms());
	}
	s->started = true;
	if (done || !again_later(s, job))
		job_free(job);
}

static void on_signal(struct service *s)
{
	struct signalfd_siginfo info;
	struct job *job;
	int status;

	while (read(s->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGHUP)
			reload_config(s);
		else if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT)
			s->stop = true;
		while (jobs_ended(&s->jobs, &job, &status) || jobs_ended(&s->urgent, &job, &status))
			finish(s, job, status);
	}
}

static void say_ready(struct service *s)
{
	observer_look(s->observer);
	/* Else at the next turn: whoever waits for it may wait for ever. */
	s->ready = notify("READY=1\nSTATUS=%zu of %zu interfaces attached", arrivals_attached(s->arrivals),
			  arrivals_expected(s->arrivals));
	if (s->ready)
		say("ready");
}

static bool busy(const struct service *s)
{
	return s->jobs.first || s->urgent.first;
}

static int64_t look_due(const struct service *s)
{
	return !busy(s) ? s->look_at : s->started ? s->glance_at : INT64_MAX;
}

static void run_jobs(struct jobs *jobs, int64_t now)
{
	int err;

	jobs_limit(jobs, now);
	err = jobs_start(jobs);
	if (err)
		warn("%s", reason(err));
}

static void turn(struct service *s, int64_t now)
{
	/* While commands of ours run there is more to come. */
	if (now >= look_due(s) && busy(s))
		glance(s, now);
	else if (now >= look_due(s))
		look(s, now);
	if (!s->jobs.first && s->again_at == INT64_MAX)
		s->again_ms = 0;
	if (now >= s->again_at)
		again(s);
	if (reload_turn(s->reload, s->config, &s->jobs, now)) {
		s->again_ms = 0; /* it is not the same as before */
		again(s);
	}
	if (arrivals_came(s->arrivals, now))
		jobs_command(&s->urgent, "restore", "restore", NULL, NULL, 0);
	if (now >= s->rotate_at) {
		s->rotate_at = INT64_MAX;
		jobs_command(&s->jobs, "rotate", "rotate", NULL, NULL, 0);
	}
	if (now >= s->judging.at && !s->jobs.first) {
		judging_begin(&s->judging, now);
		jobs_function(&s->jobs, "the filter's rate", judging_run);
	}
	run_jobs(&s->jobs, now);
	run_jobs(&s->urgent, now);
	if (!busy(s) && !s->ready && s->look_at == INT64_MAX && !reload_waits(s->reload))
		say_ready(s);
	hook_turn(&s->hook); /* the observer wakes us every second */
	if (now >= s->notify_at) {
		notify("WATCHDOG=1");
		s->notify_at = now + (int64_t)(notify_watchdog() / 2000);
	}
}

static int wait_ms(struct service *s, int64_t now)
{
	int64_t due[] = { look_due(s),		s->jobs.first ? INT64_MAX : s->judging.at,
			  s->rotate_at,		s->notify_at,
			  s->again_at,		arrivals_due(s->arrivals),
			  reload_due(s->reload) };
	int64_t ms = s->observer ? observer_timeout(s->observer) : INT32_MAX;

	for (size_t i = 0; i < sizeof(due) / sizeof(due[0]); i++)
		if (due[i] - now < ms)
			ms = due[i] < now ? 0 : due[i] - now;
	return (int)ms;
}

static void loop(struct service *s)
{
	struct pollfd fds[OWN_FDS + OBSERVER_FDS] = {
		[ON_SIGNAL] = { .fd = s->signals, .events = POLLIN },
		[ON_WALL] = { .fd = s->endings.timer, .events = POLLIN },
		[ON_FILE] = { .fd = reload_fd(s->reload), .events = POLLIN },
		[ON_LINK] = { .fd = arrivals_fd(s->arrivals), .events = POLLIN },
	};

	while (!s->stop && !s->status) {
		int64_t now = clock_ms();
		nfds_t n = OWN_FDS;

		turn(s, now);
		if (s->observer)
			n += observer_fds(s->observer, fds + OWN_FDS);
		if (poll(fds, n, wait_ms(s, now)) < 0 && errno != EINTR)
			break;
		if (fds[ON_SIGNAL].revents)
			on_signal(s);
		if (fds[ON_WALL].revents && endings_due(&s->endings)) {
			jobs_function(&s->urgent, "what ran out of time", endings_run);
			jobs_hurry(&s->urgent, "what ran out of time");
		}
		if (fds[ON_FILE].revents && reload_read(s->reload, clock_ms()))
			look_soon(s, clock_ms() + LOOK_MS);
		if (fds[ON_LINK].revents)
			arrivals_read(s->arrivals);
		if (s->observer)
			observer_turn(s->observer);
	}
}

static int open_all(struct service *s)
{
	sigset_t set;
	int err = reload_open(&s->reload);

	if (!err)
		err = endings_open(&s->endings);
	if (!err)
		err = arrivals_open(&s->arrivals);
	if (!err)
		err = observer_open(&s->observer, s->options->listen);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	s->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (!err && s->signals < 0)
		err = because(-errno, "%s", strerror(errno));
	return err;
}

int service_run(struct service_options *options, struct config *config)
{
	struct service s = { .options = options, .config = config, .signals = -1, .endings.timer = -1 };
	int err;

	notify_open();
	s.rotate_at = s.judging.at = s.again_at = INT64_MAX;
	s.notify_at = notify_watchdog() ? 0 : INT64_MAX;
	err = open_all(&s);
	if (err) {
		s.status = fail("%s", reason(err));
	} else {
		notify("STATUS=restoring");
		hook_begin(&s.hook, options->hook);
		jobs_command(&s.jobs, "start", "restore", NULL, NULL, 0);
		queue_config(&s);
		loop(&s);
		notify("STOPPING=1");
	}
	jobs_stop(&s.jobs);
	jobs_stop(&s.urgent);
	hook_end(&s.hook);
	observer_close(s.observer);
	arrivals_close(s.arrivals);
	endings_close(&s.endings);
	reload_close(s.reload);
	if (s.signals >= 0)
		close(s.signals);
	return s.status;
}
