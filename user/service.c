// SPDX-License-Identifier: GPL-2.0-only
#include "service.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arrivals.h"
#include "change.h"
#include "clock.h"
#include "hook.h"
#include "jobs.h"
#include "kernel.h"
#include "log.h"
#include "notify.h"
#include "observer.h"
#include "rate.h"
#include "reload.h"
#include "state.h"
#include "state_bans.h"

/* Many commands in a row: one look at what they did. */
#define LOOK_MS	     50
#define AGAIN_MS     5000 /* what failed is tried again */
#define ROTATE_AGAIN 600000
/* The file may be damaged, which time does not mend, or the disk full: so often at first, then ever more rarely. */
#define LIST_AGAIN     60000
#define LIST_AGAIN_MAX 3600000

enum { ON_SIGNAL, ON_WALL, ON_FILE, ON_LINK, OWN_FDS };

struct service {
	struct service_options *options;
	struct config *config;
	struct jobs jobs;
	struct reload *reload;
	struct arrivals *arrivals;
	struct observer *observer;
	struct hook hook;
	int signals, wall;
	int64_t look_at, rotate_at, notify_at; /* ms of CLOCK_MONOTONIC; INT64_MAX: not at all */
	int64_t ends_at; /* when something runs out of time, in seconds since the epoch; 0: nothing */
	int64_t ends_again;
	int64_t again_at, again_ms;   /* when to try again what failed, and how long that is; 0: nothing did */
	int64_t judge_at, judge_next; /* when to measure the filter's rate; not before */
	int64_t judge_began;
	__u64 judged, judged_edits; /* the generation that was measured last */
	bool ready, stop;
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

static int64_t first_end(struct state *state)
{
	struct pending *pending;
	int64_t at = state_bans_next(state);
	size_t n = 0;

	if (!state_pending(state, &pending, &n))
		for (size_t i = 0; i < n; i++)
			if (!at || pending[i].deadline < at)
				at = pending[i].deadline;
	free(pending);
	return at;
}

/* What every command does in passing: bans that ran out, and changes that nobody confirmed. */
static int end_in_time(void)
{
	struct state *state;
	int64_t now = time(NULL), end;
	int err = change_begin(&state);

	end = err ? 0 : first_end(state);
	change_end(state);
	if (err)
		return fail("%s", reason(err));
	/* What could not be ended stops no command, and has been said: but it is not done. */
	return end && end <= now ? EXIT_ERROR : EXIT_DONE;
}

/* Does the filter say yes more often than was asked for? */
static int judge_rate(void)
{
	struct state *state = NULL;
	int due = state_open(&state, false);

	if (!due)
		due = rate_due(state);
	state_close(state);
	return due < 0 ? fail("%s", reason(due)) : due ? EXIT_PASSES : EXIT_DONE;
}

/* On the wall clock, and again when somebody sets it. */
static void set_wall(struct service *s)
{
	int64_t at = s->ends_at > s->ends_again ? s->ends_at : s->ends_at ? s->ends_again : 0;
	struct itimerspec timer = { .it_value.tv_sec = at };

	timerfd_settime(s->wall, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &timer, NULL);
}

static void plan_rotation(struct service *s, int64_t now)
{
	double age;

	s->rotate_at = INT64_MAX;
	if (s->options->rotate_every && !kernel_age(&age))
		s->rotate_at = now + (int64_t)(((double)s->options->rotate_every - age) * 1e3);
}

/* Only what was built or edited since can have become too full. */
static void plan_judging(struct service *s, int64_t now)
{
	struct generation live;

	if (kernel_live(&live) || (live.number == s->judged && live.edits == s->judged_edits))
		return;
	s->judged = live.number;
	s->judged_edits = live.edits;
	s->judge_at = now > s->judge_next ? now : s->judge_next;
}

/* The state may be another than we know. */
static void look(struct service *s, int64_t now)
{
	struct state *state = NULL;
	int err = state_open(&state, false);

	s->look_at = INT64_MAX;
	if (!err)
		err = reload_follow(s->reload, state);
	if (!err)
		err = arrivals_expect(s->arrivals, state);
	if (!err)
		s->ends_at = first_end(state);
	state_close(state);
	observer_state(s->observer, !err);
	if (err) {
		warn("%s; what was known of it stays in force", reason(err));
		s->look_at = now + AGAIN_MS;
	}
	set_wall(s);
	plan_rotation(s, now);
	plan_judging(s, now);
}

/* Every line of the config file as a command; what is so already, it leaves alone. */
static void queue_config(struct service *s)
{
	for (size_t i = 0; i < s->config->n; i++) {
		const struct words *w = &s->config->lines[i].words;
		const char *option = !strcmp(w->words[0], "attach") ? "--if-needed"
				     : !strcmp(w->words[0], "load") ? "--if-changed"
								    : NULL;
		char about[64];

		snprintf(about, sizeof(about), "line %u", s->config->lines[i].number);
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
		jobs_forget(&s->jobs, "line ");
		config_free(s->config);
		*s->config = fresh;
		hook_change(&s->hook, s->options->hook);
		queue_config(s);
		say("%s read again: %zu commands", fresh.path, fresh.n);
	}
	reload_all(s->reload);
	jobs_command(&s->jobs, "restore", "restore", NULL, NULL, 0);
}

/* A large filter takes its time: a hundredth of ours. Where a rotation does not help, it is not done again at once. */
static void judged(struct service *s, bool due)
{
	int64_t now = clock_ms();

	s->judge_next = now + (due ? ROTATE_AGAIN : (now - s->judge_began) * 100);
	if (!due)
		return;
	say("the filter says yes to more than was asked for: it is built anew, larger");
	jobs_command(&s->jobs, "rotate", "rotate", NULL, NULL, 0);
}

/* Measured again, too, if that was why. */
static void rotate_later(struct service *s)
{
	s->rotate_at = clock_ms() + ROTATE_AGAIN;
	s->judged = 0;
}

/* A line of the config file, or a list: true where the job is kept. */
static bool again_later(struct service *s, struct job *job)
{
	bool line = !strncmp(job->about, "line ", 5);

	if (job->forgotten || (!line && strncmp(job->about, "load ", 5)))
		return false;
	if (s->again_at == INT64_MAX) {
		s->again_ms = !s->again_ms ? LIST_AGAIN : 2 * s->again_ms;
		if (s->again_ms > LIST_AGAIN_MAX)
			s->again_ms = LIST_AGAIN_MAX;
		s->again_at = clock_ms() + s->again_ms;
	}
	if (line)
		jobs_keep(&s->jobs, job);
	return line;
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
	else if (!done && !strcmp(job->about, "start"))
		s->status = EXIT_ERROR;
	else if (!done && !strcmp(job->about, "rotate"))
		rotate_later(s);
	else if (job->run == judge_rate)
		judged(s, done && WEXITSTATUS(status) == EXIT_PASSES);
	else if (done && strcmp(job->about, "start") != 0 && strncmp(job->about, "line ", 5) != 0)
		say("%s: done", job->about);
	if (job->run == end_in_time) {
		s->ends_again = done ? 0 : time(NULL) + AGAIN_MS / 1000;
		s->look_at = clock_ms();
	}
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
		while (jobs_ended(&s->jobs, &job, &status))
			finish(s, job, status);
	}
}

/* Due, or the clock was set: then only the timer is wrong. */
static void on_wall(struct service *s)
{
	uint64_t times;

	if (read(s->wall, &times, sizeof(times)) == sizeof(times) && s->ends_at && time(NULL) >= s->ends_at) {
		jobs_function(&s->jobs, "what ran out of time", end_in_time);
		jobs_hurry(&s->jobs, "what ran out of time");
	} else {
		set_wall(s);
	}
}

static void say_ready(struct service *s)
{
	observer_look(s->observer);
	notify("READY=1\nSTATUS=%zu of %zu interfaces attached", arrivals_attached(s->arrivals),
	       arrivals_expected(s->arrivals));
	if (!s->ready)
		say("ready");
	s->ready = true;
}

static void turn(struct service *s, int64_t now)
{
	/* While commands of ours run there is more to come. */
	if (now >= s->look_at && !s->jobs.first)
		look(s, now);
	if (!s->jobs.first && s->again_at == INT64_MAX)
		s->again_ms = 0;
	if (now >= s->again_at)
		again(s);
	reload_turn(s->reload, s->config, &s->jobs, now);
	if (arrivals_came(s->arrivals, now)) {
		jobs_command(&s->jobs, "restore", "restore", NULL, NULL, 0);
		jobs_hurry(&s->jobs, "restore");
	}
	if (now >= s->rotate_at) {
		s->rotate_at = INT64_MAX;
		jobs_command(&s->jobs, "rotate", "rotate", NULL, NULL, 0);
	}
	if (now >= s->judge_at && !s->jobs.first) {
		s->judge_at = INT64_MAX;
		s->judge_began = now;
		jobs_function(&s->jobs, "the filter's rate", judge_rate);
	}
	jobs_limit(&s->jobs, now);
	if (jobs_start(&s->jobs))
		warn("%s", reason(-EAGAIN));
	if (!s->jobs.first && !s->ready && s->look_at == INT64_MAX && reload_due(s->reload) == INT64_MAX)
		say_ready(s);
	hook_turn(&s->hook); /* the observer wakes us every second */
	if (now >= s->notify_at) {
		notify("WATCHDOG=1");
		s->notify_at = now + (int64_t)(notify_watchdog() / 2000);
	}
}

static int wait_ms(struct service *s, int64_t now)
{
	int64_t due[] = { s->jobs.first ? INT64_MAX : s->look_at,
			  s->jobs.first ? INT64_MAX : s->judge_at,
			  s->rotate_at,
			  s->notify_at,
			  s->again_at,
			  arrivals_due(s->arrivals),
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
		[ON_WALL] = { .fd = s->wall, .events = POLLIN },
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
		if (fds[ON_WALL].revents)
			on_wall(s);
		if (fds[ON_FILE].revents && reload_read(s->reload, clock_ms()) && s->look_at == INT64_MAX)
			s->look_at = clock_ms() + LOOK_MS;
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
	s->wall = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
	if (!err && (s->signals < 0 || s->wall < 0))
		err = because(-errno, "%s", strerror(errno));
	return err;
}

int service_run(struct service_options *options, struct config *config)
{
	struct service s = { .options = options, .config = config, .signals = -1, .wall = -1 };
	int err;

	notify_open();
	s.rotate_at = s.judge_at = s.again_at = INT64_MAX;
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
	hook_end(&s.hook);
	observer_close(s.observer);
	arrivals_close(s.arrivals);
	reload_close(s.reload);
	if (s.signals >= 0)
		close(s.signals);
	if (s.wall >= 0)
		close(s.wall);
	return s.status;
}
