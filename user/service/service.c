// SPDX-License-Identifier: GPL-2.0-only
#include "service/internal.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/close_fd.h"
#include "base/log.h"
#include "change/agreement.h"
#include "kernel/live.h"
#include "kernel/pins.h"
#include "observe/unfiltered.h"
#include "service/sd_notify.h"
#include "state/fleet.h"
#include "state/limits.h"
#include "state/settings.h"
#include "state/state.h"

/* After several commands in a row the state is read once. */
#define LOOK_MS	 50
#define AGAIN_MS 5000 /* after a failure */
/* The file may be damaged, which retrying does not fix, or the disk full: retry at this interval, then back off. */
#define LIST_AGAIN     60000
#define LIST_AGAIN_MAX 3600000

enum { ON_SIGNAL, ON_WALL, ON_FILE, ON_LINK, ON_ERRAND, OWN_FDS };

void service_say(const char *fmt, ...)
{
	char line[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	service_say_about(&log_subject, line);
}

void service_say_about(const struct log_subject *about, const char *line)
{
	if (log_settings.quiet)
		return;
	if (!log_told(about, line))
		puts(line);
	fflush(stdout);
}

static void schedule_rotation(struct service *s, int64_t now)
{
	double age;

	s->rotate_at = INT64_MAX;
	if (s->options->rotate_every && !kernel_age(s->context, &age))
		s->rotate_at = now + (int64_t)(((double)s->options->rotate_every - age) * 1e3);
	if (s->rotate_at < s->rotate_next)
		s->rotate_at = s->rotate_next;
}

void service_look_soon(struct service *s, int64_t at)
{
	if (at < s->look_at)
		s->look_at = at;
	if (at < s->glance_at)
		s->glance_at = at;
}

void service_see(struct service *s)
{
	struct unfiltered *list = NULL;
	size_t n = 0;

	if (arrivals_unfiltered(s->arrivals, &list, &n))
		return;
	keeper_unfiltered(s->keeper, list, n);
	free(list);
	service_look_soon(s, keeper_doubts(s->keeper));
}

static void again(struct service *s)
{
	s->retry.at = INT64_MAX;
	jobs_again(&s->jobs);
	reload_again(s->reload);
}

/*
 * The state may have changed. `glance`: our jobs still run, which may take minutes; look only at what cannot wait: the
 * bans and interfaces of other commands.
 */
static void look(struct service *s, int64_t now, bool glance)
{
	struct state *state = NULL;
	struct generation live;
	/* Before the state: a running command writes the state first. */
	bool filters = !glance && !kernel_live(s->context, &live);
	int err = state_open(&state, s->context, false);

	s->glance_at = INT64_MAX;
	if (!glance)
		s->look_at = INT64_MAX;
	if (!err && filters)
		err = agreement_known(s->context, state, &live);
	if (!err && !glance)
		err = reload_follow(s->reload, state, s->config, &s->jobs);
	if (!err)
		err = arrivals_expect(s->arrivals, state) ?: feeds_expect(&s->feeds, state);
	if (!err)
		service_see(s);
	if (!err)
		followers_fleet(&s->followers, state_joined(state));
	/* It may have stood in the way of a line, also of the one that runs. */
	if (expiry_look(&s->expiry, err ? NULL : state, !err && filters && agreement(state, &live) == BEHIND)) {
		again(s);
		jobs_overtake(&s->jobs);
		jobs_overtake(&s->slow);
	}
	if (!err) {
		struct limits limits = state_limits(state);

		attacks_expect(&s->attacks, limits.on);
		jail_watch_expect(&s->jail, &limits);
		s->own.limits = limits;
		learn_expect(&s->learn, (int64_t)state_setting(state, SETTING_LEARN_FROM, 0),
			     (int64_t)state_setting(state, SETTING_LEARN_UNTIL, 0));
	}
	state_close(state);
	if (err)
		service_look_soon(s, now + AGAIN_MS);
	if (glance)
		return;
	observer_state(s->observer, !err);
	if (err && !s->blind)
		warn("%s; what was known of it stays in force", reason(err));
	s->blind = err;
	keeper_state(s->keeper, err ? reason(err) : NULL);
	schedule_rotation(s, now);
	rate_watch_schedule(&s->rate, s->context, now);
}

/* Every line of the config file is a command; lines that already hold have no effect. */
static void queue_config(struct service *s)
{
	for (size_t i = 0; i < s->config->n; i++) {
		const struct config_line *line = &s->config->lines[i];
		struct job job = { .kind = JOB_LINE, .line = line->number };

		if (!strcmp(line->verb->name, "run") || followers_have(line))
			continue;
		snprintf(job.list, sizeof(job.list), "%s", verb_list(line->verb, &line->words) ?: "");
		jobs_add(&s->jobs, &job, line->verb->if_news, line->words.words, (size_t)line->words.n);
	}
	followers_expect(&s->followers, s->config);
}

static void reload_config(struct service *s)
{
	struct config fresh;

	notify("RELOADING=1\nMONOTONIC_USEC=%lld000", (long long)clock_ms());
	s->ready = false; /* until all is done */
	if (!s->options->configure(s->options, &fresh, false)) {
		observer_asked(s->observer, &s->options->listen);
		jobs_drop_lines(&s->jobs);
		jobs_drop_lines(&s->slow);
		config_free(s->config);
		*s->config = fresh;
		hook_change(&s->hook, s->options->hook);
		queue_config(s);
		service_say("%s read again: %zu commands", fresh.path, fresh.n);
	}
	reload_all(s->reload);
	s->needs.next = 0;
	keeper_look(s->keeper);
	jobs_restore(&s->jobs, JOB_RESTORE);
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
		while (jobs_ended(&s->jobs, &job, &status) || jobs_ended(&s->slow, &job, &status) ||
		       jobs_ended(&s->urgent, &job, &status) || jobs_ended(&s->coming, &job, &status) ||
		       feeds_ended(&s->feeds, &job, &status))
			service_job_ended(s, job, status);
		reload_looked(s->reload, s->config, &s->jobs, clock_ms());
		followers_ended(&s->followers, clock_ms());
		errands_ended(&s->errands, clock_ms());
		if (keeper_ended(s->keeper))
			service_look_soon(s, clock_ms() + LOOK_MS);
	}
}

/* For the service manager; false: it could not be told now. */
static bool notify_status(struct service *s, const char *before)
{
	size_t expected, attached = arrivals_attached(s->arrivals, &expected);
	const char *faulty = keeper_faulty(s->keeper);
	bool told = notify("%sSTATUS=%zu of %zu interfaces attached%s%s", before, attached, expected,
			   *faulty ? "; " : "", faulty);

	if (told)
		snprintf(s->faulty, sizeof(s->faulty), "%s", faulty);
	return told;
}

static void say_ready(struct service *s)
{
	observer_look(s->observer);
	/* If it was not delivered, retry next turn: the service manager would wait forever. */
	s->ready = notify_status(s, "READY=1\n");
	if (s->ready)
		service_say("ready%s%s", s->faulty[0] ? ", but " : "", s->faulty);
}

static bool busy(const struct service *s)
{
	return s->jobs.first || s->urgent.first || s->coming.first;
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

static void set_aside(struct service *s, int64_t now)
{
	char text[JOB_TEXT_MAX];

	if (jobs_set_aside(&s->jobs, &s->slow, now))
		service_say("%s: takes long; others do not wait for it", job_text(text, s->slow.first));
}

static void turn(struct service *s, int64_t now)
{
	set_aside(s, now);
	if (reload_unseen(s->reload, now))
		service_look_soon(s, now);
	if (now >= look_due(s))
		look(s, now, busy(s));
	if (!s->jobs.first && !s->slow.first && s->retry.at == INT64_MAX)
		s->retry.wait = 0;
	if (now >= s->retry.at)
		again(s);
	if (reload_turn(s->reload, s->config, &s->jobs, now)) {
		s->retry.wait = 0; /* another version: do not back off */
		again(s);
	}
	if (arrivals_came(s->arrivals, now)) {
		jobs_restore(&s->coming, JOB_RESTORE);
		keeper_look(s->keeper);
	}
	if (now >= s->rotate_at) {
		s->rotate_at = INT64_MAX;
		jobs_verb(&s->jobs, JOB_ROTATE, "rotate");
	}
	if (now >= s->rate.at && !s->jobs.first) {
		rate_watch_begin(&s->rate, now);
		jobs_add(&s->jobs, &(struct job){ .kind = JOB_MEASURE, .run = rate_watch_run }, NULL, NULL, 0);
	}
	if (s->ready && !s->jobs.first && needs_watch_due(&s->needs, s->context, now))
		jobs_add(&s->jobs, &(struct job){ .kind = JOB_NEEDS, .run = needs_watch_run }, NULL, NULL, 0);
	if (s->started && keeper_turn(s->keeper, clock_ms()))
		service_look_soon(s, now);
	attacks_turn(&s->attacks, now);
	own_watch_turn(&s->own, s->context, now);
	if (s->started && jail_watch_due(&s->jail, s->context, now))
		jobs_add(&s->urgent, &(struct job){ .kind = JOB_JAIL, .run = jail_watch_run }, NULL, NULL, 0);
	/* What was filtered, and is not any more, others would put back without a word. */
	if (!keeper_heals(s->keeper)) {
		run_jobs(&s->jobs, now);
		run_jobs(&s->slow, now);
		run_jobs(&s->urgent, now);
		run_jobs(&s->coming, now);
	}
	if (s->started)
		feeds_turn(&s->feeds, now);
	if (s->started)
		learn_turn(&s->learn, now);
	if (s->started)
		errands_turn(&s->errands, now);
	if (s->ready)
		followers_turn(&s->followers, now);
	if (!busy(s) && !s->ready && s->look_at == INT64_MAX)
		say_ready(s);
	if (s->ready && strcmp(s->faulty, keeper_faulty(s->keeper)) != 0)
		notify_status(s, "");
	hook_turn(&s->hook); /* the observer wakes us every second */
	if (now >= s->notify_at) {
		notify("WATCHDOG=1");
		s->notify_at = now + (int64_t)(notify_watchdog() / 2000);
	}
}

static int wait_ms(struct service *s, int64_t now)
{
	int64_t due[] = { look_due(s),
			  s->jobs.first ? INT64_MAX : s->rate.at,
			  s->rotate_at,
			  s->notify_at,
			  s->retry.at,
			  arrivals_due(s->arrivals, now),
			  reload_due(s->reload),
			  s->started ? keeper_due(s->keeper) : INT64_MAX,
			  s->started ? jail_watch_at(&s->jail) : INT64_MAX,
			  s->started ? learn_due(&s->learn) : INT64_MAX,
			  s->started ? feeds_due(&s->feeds, now) : INT64_MAX,
			  s->started ? errands_due(&s->errands) : INT64_MAX,
			  s->ready ? followers_due(&s->followers) : INT64_MAX };
	int64_t ms = observer_timeout(s->observer);

	for (size_t i = 0; i < sizeof(due) / sizeof(due[0]); i++)
		if (due[i] - now < ms)
			ms = due[i] < now ? 0 : due[i] - now;
	return (int)ms;
}

static void loop(struct service *s)
{
	struct pollfd fds[OWN_FDS + OBSERVER_FDS] = {
		[ON_SIGNAL] = { .fd = s->signals, .events = POLLIN },
		[ON_WALL] = { .fd = s->expiry.timer, .events = POLLIN },
	};

	while (!s->stop && !s->status) {
		int64_t now = clock_ms();
		nfds_t n = OWN_FDS;

		turn(s, now);
		fds[ON_FILE] = (struct pollfd){ .fd = reload_fd(s->reload), .events = POLLIN };
		fds[ON_LINK] = (struct pollfd){ .fd = arrivals_fd(s->arrivals, now), .events = POLLIN };
		fds[ON_ERRAND] = (struct pollfd){ .fd = errands_fd(&s->errands), .events = POLLIN };
		n += observer_fds(s->observer, fds + OWN_FDS);
		if (poll(fds, n, wait_ms(s, now)) < 0 && errno != EINTR) {
			s->status = fail("the service cannot wait: %s", strerror(errno));
			break;
		}
		if (fds[ON_SIGNAL].revents)
			on_signal(s);
		if (fds[ON_WALL].revents && expiry_due(&s->expiry)) {
			jobs_add(&s->urgent, &(struct job){ .kind = JOB_EXPIRE, .run = expiry_run }, NULL, NULL, 0);
			jobs_hurry(&s->urgent, JOB_EXPIRE);
		}
		if (fds[ON_FILE].revents && reload_read(s->reload, clock_ms())) {
			service_look_soon(s, clock_ms() + LOOK_MS);
			keeper_look(s->keeper);
		}
		if (fds[ON_LINK].revents) {
			arrivals_read(s->arrivals, clock_ms());
			service_see(s);
		}
		if (fds[ON_ERRAND].revents)
			errands_came(&s->errands, clock_ms());
		observer_turn(s->observer, busy(s));
	}
}

static int open_all(struct service *s)
{
	sigset_t set;
	int err = reload_open(&s->reload);

	if (!err)
		err = expiry_open(&s->expiry);
	if (!err)
		err = arrivals_open(&s->arrivals, s->context);
	if (!err)
		err = observer_open(s->context, &s->observer, &s->options->listen);
	if (!err)
		err = keeper_open(&s->keeper, s->context, s->observer);
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

/*
 * What it needs for a moment, as to read the state, goes back: else the C library learns to keep as much as was ever
 * wanted, and what the service takes goes up and down by a fifth.
 */
#define KEPT_MOST (128 << 10)

static void keep_little(void)
{
#ifdef M_MMAP_THRESHOLD /* one of another C library keeps nothing of what is large */
	mallopt(M_MMAP_THRESHOLD, KEPT_MOST);
	mallopt(M_TRIM_THRESHOLD, KEPT_MOST);
#endif
}

/* It holds a descriptor of each part of the filter, and of each interface, and looks with as many. */
static void more_files(void)
{
	struct rlimit may;

	if (getrlimit(RLIMIT_NOFILE, &may))
		return;
	may.rlim_cur = may.rlim_max;
	setrlimit(RLIMIT_NOFILE, &may);
}

int service_run(const struct context *context, struct service_options *options, struct config *config)
{
	struct service s = {
		.context = context,
		.options = options,
		.config = config,
		.jobs.context = context,
		.slow.context = context,
		.urgent.context = context,
		.coming.context = context,
		.attacks.context = context,
		.learn.jobs.context = context,
		.retry = { .first = LIST_AGAIN, .most = LIST_AGAIN_MAX, .at = INT64_MAX },
		.signals = -1,
		.expiry.timer = -1,
		.errands.listener = -1,
	};
	bool mounts;
	int err;

	keep_little();
	notify_open();
	s.rotate_at = s.rate.at = INT64_MAX;
	s.notify_at = notify_watchdog() ? 0 : INT64_MAX;
	err = pins_may(context, &mounts);
	/* What else is in the way each command says, until it is mended; what this one mounted they would not see. */
	err = err_is(err, EXDEV) ? err : open_all(&s);
	/* What is unmounted later it has to mount again, wherever it runs. */
	pins_stay();
	if (err) {
		s.status = fail("%s", reason(err));
	} else {
		notify("STATUS=restoring");
		feeds_begin(&s.feeds, context);
		s.followers.context = context;
		s.followers.others = &s.jobs;
		errands_begin(&s.errands, context);
		hook_begin(&s.hook, context, options->hook);
		more_files();
		jobs_restore(&s.jobs, JOB_START);
		queue_config(&s);
		loop(&s);
		notify("STOPPING=1");
	}
	jobs_stop(&s.jobs);
	jobs_stop(&s.slow);
	jobs_stop(&s.urgent);
	jobs_stop(&s.coming);
	feeds_stop(&s.feeds);
	followers_stop(&s.followers);
	errands_stop(&s.errands);
	learn_stop(&s.learn);
	attacks_close(&s.attacks);
	own_watch_end(&s.own);
	hook_end(&s.hook);
	keeper_close(s.keeper);
	observer_close(s.observer);
	arrivals_close(s.arrivals);
	expiry_close(&s.expiry);
	reload_close(s.reload);
	close_fd(s.signals);
	return s.status;
}
