/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of the service, made up: each says a word when it is called, and what a test has it answer. For tests that
 * include service.c behind this.
 */
#ifndef MODEL_SERVICE_H
#define MODEL_SERVICE_H

#include <malloc.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>

#include "base/close_fd.h"
#include "change/agreement.h"
#include "observe/unfiltered.h"
#include "service/internal.h"
#include "service/sd_notify.h"
#include "state/fleet.h"
#include "state/limits.h"
#include "state/settings.h"
#include "state/state.h"
#include "model_jobs.h"

#define NEVER INT64_MAX

enum { FD_SIGNALS = 11, FD_WALL, FD_FILE, FD_LINK, FD_ERRAND, FD_OBSERVER };
enum part { ARRIVALS, RELOAD, KEEPER, JAIL, LEARN, FEEDS, ERRANDS, FOLLOWERS, PARTS };

/* What the parts answer. Names: words with a blank before and behind each. */
static struct {
	const char *yes, *fails; /* who says yes, and who fails, until that changes */
	char once[128];		 /* who says yes once */
	int64_t due[PARTS];
	int observer; /* ms that it waits at most */
	size_t attached, expected;
	const char *faulty;
	double age; /* of the filter, in s; < 0: not known */
	int64_t rate_at;
	bool detects, manager_full, taken; /* taken: a log of JSON has the line */
	uint64_t watchdog;		   /* us */
	int signals[8];
	size_t sent, got;
	struct job *fed; /* a list has been fetched */
} parts;

static const struct context own = CONTEXT_DEFAULT;
static char piece[4]; /* for pointers to what is not looked into */
static struct unfiltered *listed;

#define PIECE(type, n) ((struct type *)(void *)&piece[n])
enum { RELOAD_IS, ARRIVALS_IS, OBSERVER_IS, KEEPER_IS };

static void is(bool right)
{
	if (!right)
		abort();
}

static bool among(const char *words, const char *name)
{
	char whole[64];

	snprintf(whole, sizeof(whole), " %s ", name);
	return words && strstr(words, whole);
}

/* It is asked. */
static bool says_yes(const char *name)
{
	bool once = among(parts.once, name), is_so = once || among(parts.yes, name);

	if (once)
		memset(strstr(parts.once, name), '.', strlen(name));
	word("%s%s", name, is_so ? "!" : "");
	return is_so;
}

/* It is done. */
static int works(const char *name)
{
	bool fails = among(parts.fails, name);

	word("%s%s", name, fails ? "(fails)" : "");
	return fails ? because(-EIO, "%s failed", name) : 0;
}

static void closed(const char *name, const void *at, int n)
{
	is(!at || at == &piece[n]);
	word("%s%s", name, at ? "" : "(none)");
}

/* --- what is opened --- */

static int given_reload_open(struct reload **to)
{
	int err = works("reload_open");

	*to = err ? NULL : PIECE(reload, RELOAD_IS);
	return err;
}

static int given_expiry_open(struct expiry *e)
{
	int err = works("expiry_open");

	is(e->timer == -1);
	e->timer = err ? -1 : FD_WALL;
	return err;
}

static int given_arrivals_open(struct arrivals **to, const struct context *context)
{
	int err = works("arrivals_open");

	is(context == &own);
	*to = err ? NULL : PIECE(arrivals, ARRIVALS_IS);
	return err;
}

static int given_observer_open(const struct context *context, struct observer **to, const struct listen_options *listen)
{
	int err = works("observer_open");

	is(context == &own);
	word("%s", listen->address);
	*to = err ? NULL : PIECE(observer, OBSERVER_IS);
	return err;
}

static int given_keeper_open(struct keeper **to, const struct context *context, struct observer *observer)
{
	int err = works("keeper_open");

	is(context == &own && observer == PIECE(observer, OBSERVER_IS));
	*to = err ? NULL : PIECE(keeper, KEEPER_IS);
	return err;
}

static void given_reload_close(struct reload *reload)
{
	closed("reload_close", reload, RELOAD_IS);
}

static void given_arrivals_close(struct arrivals *arrivals)
{
	closed("arrivals_close", arrivals, ARRIVALS_IS);
}

static void given_observer_close(struct observer *observer)
{
	closed("observer_close", observer, OBSERVER_IS);
}

static void given_keeper_close(struct keeper *keeper)
{
	closed("keeper_close", keeper, KEEPER_IS);
}

static void given_expiry_close(struct expiry *e)
{
	word("expiry_close(%d)", e->timer);
}

static void given_close_fd(int fd)
{
	word("close(%d)", fd);
}

/* --- the state, and who is told what is in it --- */

static int given_live(const struct context *context, struct generation *live)
{
	int err = works("live");

	is(context == &own);
	if (!err)
		*live = (struct generation){ .number = 7 };
	return err;
}

static int given_age(const struct context *context, double *seconds)
{
	is(context == &own);
	if (parts.age < 0)
		return -ENOENT;
	*seconds = parts.age;
	return 0;
}

static int given_state_open(struct state **to, const struct context *context, bool writes)
{
	int err = works("state");

	is(context == &own && !writes);
	*to = err ? NULL : PIECE(state, 0);
	return err;
}

static void given_state_close(struct state *state)
{
	word("state_close%s", state ? "" : "(none)");
}

static bool is_state(const struct state *state)
{
	return state == PIECE(state, 0);
}

static int given_known(const struct context *context, struct state *state, const struct generation *live)
{
	is(context == &own && is_state(state) && live->number == 7);
	return works("agreement");
}

static int given_follow(struct reload *reload, struct state *state, const struct config *config,
			const struct jobs *jobs)
{
	is(reload == PIECE(reload, RELOAD_IS) && is_state(state) && config->path && jobs->context == &own);
	return works("reload_follow");
}

static int given_arrivals_expect(struct arrivals *arrivals, struct state *state)
{
	is(arrivals == PIECE(arrivals, ARRIVALS_IS) && is_state(state));
	return works("arrivals_expect");
}

static int given_feeds_expect(struct feeds *feeds, struct state *state)
{
	is(feeds->n == 1 && is_state(state));
	return works("feeds_expect");
}

static bool given_joined(const struct state *state)
{
	is(is_state(state));
	return among(parts.yes, "joined");
}

static void given_followers_fleet(struct followers *followers, bool joined)
{
	is(followers->context == &own);
	word("followers_fleet(%d)", joined);
}

static enum agreement given_agreement(struct state *state, const struct generation *live)
{
	is(is_state(state) && live->number == 7);
	return among(parts.yes, "behind") ? BEHIND : AGREED;
}

static bool given_expiry_look(struct expiry *e, struct state *state, bool behind)
{
	is(e->timer == FD_WALL && (!state || is_state(state)));
	word("expiry_look%s%s", state ? "" : "(none)", behind ? "(behind)" : "");
	return among(parts.once, "confirmed") && says_yes("confirmed");
}

static struct limits given_limits(struct state *state)
{
	is(is_state(state));
	return (struct limits){ .on = parts.detects, .networks = 5 };
}

static double given_setting(struct state *state, const char *name, double fallback)
{
	is(is_state(state));
	return !parts.detects			    ? fallback
	       : !strcmp(name, SETTING_LEARN_FROM)  ? 100
	       : !strcmp(name, SETTING_LEARN_UNTIL) ? 200
						    : -1;
}

static void given_attacks_expect(struct attacks *attacks, bool on)
{
	is(attacks->context == &own);
	word("attacks_expect(%d)", on);
}

static void given_jail_expect(struct jail_watch *watch, const struct limits *limits)
{
	is(!watch->next);
	word("jail_expect(%d)", limits->on);
}

static void given_learn_expect(struct learn *learn, int64_t from, int64_t until)
{
	is(learn->jobs.context == &own);
	word("learn_expect(%lld,%lld)", (long long)from, (long long)until);
}

static int given_unfiltered(const struct arrivals *arrivals, struct unfiltered **list, size_t *n)
{
	int err = works("unfiltered");

	is(arrivals == PIECE(arrivals, ARRIVALS_IS));
	if (err)
		return err;
	listed = *list = calloc(3, sizeof(**list));
	is(listed);
	*n = 3;
	return 0;
}

static bool is_keeper(const struct keeper *keeper)
{
	return keeper == PIECE(keeper, KEEPER_IS);
}

static void given_keeper_unfiltered(struct keeper *keeper, const struct unfiltered *list, size_t n)
{
	is(is_keeper(keeper) && list == listed);
	word("keeper_unfiltered(%zu)", n);
}

static int64_t given_doubts(const struct keeper *keeper)
{
	is(is_keeper(keeper));
	return among(parts.yes, "doubts") ? now_ms + 1000 : NEVER;
}

static void given_keeper_state(struct keeper *keeper, const char *why)
{
	is(is_keeper(keeper));
	word("keeper_state(%s)", why ?: "");
}

static void given_free(void *list)
{
	is(list == listed);
	word("free");
	free(list);
}

static bool is_observer(const struct observer *observer)
{
	return observer == PIECE(observer, OBSERVER_IS);
}

static void given_observer_state(struct observer *observer, bool readable)
{
	is(is_observer(observer));
	word("observer_state(%d)", readable);
}

static void given_rate_schedule(struct rate_watch *w, const struct context *context, int64_t now)
{
	is(context == &own && now == now_ms);
	word("rate_schedule");
	w->at = parts.rate_at;
}

/* --- each turn --- */

static void given_reload_again(struct reload *reload)
{
	is(reload == PIECE(reload, RELOAD_IS));
	word("reload_again");
}

static void given_looked(struct reload *reload, const struct config *config, struct jobs *jobs, int64_t now)
{
	is(reload && config && jobs->context == &own && now == now_ms);
	word("reload_looked");
}

static bool given_reload_turn(struct reload *reload, const struct config *config, struct jobs *jobs, int64_t now)
{
	is(reload == PIECE(reload, RELOAD_IS) && config->path && jobs->context == &own && now == now_ms);
	return says_yes("reload");
}

static bool given_unseen(struct reload *reload, int64_t now)
{
	is(reload == PIECE(reload, RELOAD_IS) && now == now_ms);
	/* It is asked at each turn. */
	return (among(parts.once, "unseen") || among(parts.yes, "unseen")) && says_yes("unseen");
}

static bool given_came(struct arrivals *arrivals, int64_t now)
{
	is(arrivals == PIECE(arrivals, ARRIVALS_IS) && now == now_ms);
	return says_yes("came");
}

static void given_keeper_look(struct keeper *keeper)
{
	is(is_keeper(keeper));
	word("keeper_look");
}

static bool given_keeper_turn(struct keeper *keeper, int64_t now)
{
	is(is_keeper(keeper) && now == now_ms);
	return says_yes("keeper");
}

static bool given_heals(const struct keeper *keeper)
{
	is(is_keeper(keeper));
	return among(parts.yes, "heals");
}

static bool given_keeper_ended(struct keeper *keeper)
{
	is(is_keeper(keeper));
	return says_yes("keeper_ended");
}

static const char *given_faulty(const struct keeper *keeper)
{
	is(is_keeper(keeper));
	return parts.faulty;
}

static void given_rate_begin(struct rate_watch *w, int64_t now)
{
	is(now == now_ms);
	word("rate_begin");
	w->at = NEVER;
}

static void given_attacks_turn(struct attacks *attacks, int64_t now)
{
	is(attacks->context == &own && now == now_ms);
	word("attacks");
}

static void given_own_turn(struct own_watch *watch, const struct context *context, int64_t now)
{
	is(context == &own && now == now_ms);
	word("own(%u)", watch->limits.networks);
}

static bool given_needs_due(struct needs_watch *watch, const struct context *context, int64_t now)
{
	is(!watch->next && context == &own && now == now_ms);
	/* It is asked at each turn. */
	return (among(parts.once, "needs") || among(parts.yes, "needs")) && says_yes("needs");
}

static bool given_jail_due(struct jail_watch *watch, const struct context *context, int64_t now)
{
	is(!watch->next && context == &own && now == now_ms);
	return says_yes("jail");
}

static void given_limit(struct jobs *jobs, int64_t now)
{
	is(now == now_ms);
	if (jobs->pid)
		word("limit(%d)", (int)jobs->pid);
}

static void given_feeds_turn(struct feeds *feeds, int64_t now)
{
	is(feeds->n == 1 && now == now_ms);
	word("feeds");
}

static void given_learn_turn(struct learn *learn, int64_t now)
{
	is(learn->jobs.context == &own && now == now_ms);
	word("learn");
}

static void given_errands_turn(struct errands *errands, int64_t now)
{
	is(errands->jobs.context == &own && now == now_ms);
	word("errands");
}

static void given_followers_turn(struct followers *followers, int64_t now)
{
	is(followers->context == &own && now == now_ms);
	word("followers");
}

static void given_hook_turn(struct hook *hook)
{
	word("hook(%s)", hook->program ?: "");
}

static size_t given_attached(const struct arrivals *arrivals, size_t *expected)
{
	is(arrivals == PIECE(arrivals, ARRIVALS_IS));
	*expected = parts.expected;
	return parts.attached;
}

static void given_observer_look(struct observer *observer)
{
	is(is_observer(observer));
	word("observer_look");
}

/* --- for how long, and on what, it waits --- */

static int64_t given_arrivals_due(const struct arrivals *arrivals, int64_t now)
{
	is((!arrivals || arrivals == PIECE(arrivals, ARRIVALS_IS)) && now == now_ms);
	return parts.due[ARRIVALS];
}

static int64_t given_reload_due(const struct reload *reload)
{
	is(!reload || reload == PIECE(reload, RELOAD_IS));
	return parts.due[RELOAD];
}

static int64_t given_keeper_due(const struct keeper *keeper)
{
	is(!keeper || is_keeper(keeper));
	return parts.due[KEEPER];
}

static int64_t given_jail_at(const struct jail_watch *watch)
{
	is(!watch->next);
	return parts.due[JAIL];
}

static int64_t given_learn_due(const struct learn *learn)
{
	is(!learn->from);
	return parts.due[LEARN];
}

static int64_t given_feeds_due(const struct feeds *feeds, int64_t now)
{
	is(!feeds->all && now == now_ms);
	return parts.due[FEEDS];
}

static int64_t given_errands_due(const struct errands *errands)
{
	is(!errands->jobs.pid);
	return parts.due[ERRANDS];
}

static int64_t given_followers_due(const struct followers *followers)
{
	is(!followers->first);
	return parts.due[FOLLOWERS];
}

static int given_timeout(struct observer *observer)
{
	is(!observer || is_observer(observer));
	return parts.observer;
}

static int given_reload_fd(const struct reload *reload)
{
	is(reload == PIECE(reload, RELOAD_IS));
	return FD_FILE;
}

static int given_arrivals_fd(const struct arrivals *arrivals, int64_t now)
{
	is(arrivals == PIECE(arrivals, ARRIVALS_IS) && now == now_ms);
	return among(parts.yes, "rests") ? -1 : FD_LINK;
}

static int given_errands_fd(const struct errands *errands)
{
	is(errands->jobs.context == &own);
	return among(parts.yes, "serves") ? -1 : FD_ERRAND;
}

static unsigned int given_observer_fds(struct observer *observer, struct pollfd *fds)
{
	is(is_observer(observer));
	fds[0] = (struct pollfd){ .fd = FD_OBSERVER, .events = POLLIN };
	return 1;
}

/* --- what wakes it --- */

static bool given_expiry_due(struct expiry *e)
{
	is(e->timer == FD_WALL);
	return says_yes("expiry");
}

static bool given_reload_read(struct reload *reload, int64_t now)
{
	is(reload == PIECE(reload, RELOAD_IS) && now == now_ms);
	return says_yes("reload_read");
}

static void given_arrivals_read(struct arrivals *arrivals, int64_t now)
{
	is(arrivals == PIECE(arrivals, ARRIVALS_IS) && now == now_ms);
	word("arrivals_read");
}

static void given_errands_came(struct errands *errands, int64_t now)
{
	is(errands->jobs.context == &own && now == now_ms);
	word("errands_came");
}

static void given_observer_turn(struct observer *observer, bool spares)
{
	is(is_observer(observer));
	word("observer%s", spares ? "(spares)" : "");
}

static ssize_t given_read(int fd, void *to, size_t n)
{
	struct signalfd_siginfo info = { 0 };

	is(fd == FD_SIGNALS && n == sizeof(info));
	if (parts.got == parts.sent)
		return -1;
	info.ssi_signo = (uint32_t)parts.signals[parts.got++];
	memcpy(to, &info, n);
	word("signal(%s)", info.ssi_signo == SIGHUP    ? "HUP"
			   : info.ssi_signo == SIGTERM ? "TERM"
			   : info.ssi_signo == SIGINT  ? "INT"
						       : "CHLD");
	return (ssize_t)n;
}

static bool given_feeds_ended(struct feeds *feeds, struct job **job, int *status)
{
	is(feeds->n == 1);
	if (!parts.fed)
		return false;
	*job = parts.fed;
	*status = 0;
	parts.fed = NULL;
	return true;
}

static void given_followers_ended(struct followers *followers, int64_t now)
{
	is(followers->context == &own && now == now_ms);
	word("followers_ended");
}

static void given_errands_ended(struct errands *errands, int64_t now)
{
	is(errands->jobs.context == &own && now == now_ms);
	word("errands_ended");
}

/* As job_end.c does it, but for what it says. */
static void given_job_ended(struct service *s, struct job *job, int status)
{
	char text[JOB_TEXT_MAX];

	word("%s:%s%s", job_text(text, job), status ? "failed" : "done", job->unwanted ? ",unwanted" : "");
	if (job->kind == JOB_START && status)
		s->status = EXIT_ERROR;
	if (job->kind == JOB_ROTATE && status)
		s->rotate_at = s->rotate_next = now_ms + 4000;
	s->started = true;
	if (job->kind != JOB_LINE || job->unwanted || !status) {
		job_free(job);
		return;
	}
	if (s->retry.at == NEVER)
		retry_later(&s->retry, now_ms);
	jobs_defer(&s->jobs, job);
}

/* --- a config that is read, what begins and ends, and who is told --- */

static bool given_followers_have(const struct config_line *line)
{
	return !strcmp(line->verb->name, "follow");
}

static void given_followers_expect(struct followers *followers, const struct config *config)
{
	is(followers->context == &own);
	word("followers_expect(%zu)", config->n);
}

static void given_observer_asked(const struct observer *observer, const struct listen_options *listen)
{
	is(is_observer(observer));
	word("observer_asked(%s)", listen->address);
}

static void given_config_free(struct config *config)
{
	word("config_free(%s)", config->path);
	config->n = 0;
}

static void given_hook_begin(struct hook *hook, const struct context *context, const char *program)
{
	*hook = (struct hook){ .context = context, .program = program };
	is(context == &own);
	word("hook_begin(%s)", program);
}

static void given_hook_change(struct hook *hook, const char *program)
{
	hook->program = program;
	word("hook_change(%s)", program);
}

static void given_reload_all(struct reload *reload)
{
	is(reload == PIECE(reload, RELOAD_IS));
	word("reload_all");
}

static void given_feeds_begin(struct feeds *feeds, const struct context *context)
{
	is(context == &own);
	feeds->n = 1;
	word("feeds_begin");
}

static void given_errands_begin(struct errands *errands, const struct context *context)
{
	is(context == &own && errands->listener == -1);
	errands->jobs.context = context;
	word("errands_begin");
}

static void given_notify_open(void)
{
	word("notify_open");
}

static uint64_t given_watchdog(void)
{
	return parts.watchdog;
}

__attribute__((format(printf, 1, 2))) static bool given_notify(const char *fmt, ...)
{
	char text[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	for (char *at = text; (at = strchr(at, '\n'));)
		*at = '|';
	line("manager: %s%s", text, parts.manager_full ? " (not taken)" : "");
	return !parts.manager_full;
}

__attribute__((format(printf, 1, 2))) static int given_end(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	begin_line();
	printf("fails: ");
	vprintf(fmt, args);
	putchar('\n');
	va_end(args);
	return EXIT_ERROR;
}

static bool given_told(const struct log_subject *about, const char *text)
{
	is(about);
	if (parts.taken)
		line("log: %s, of %s", text, about->verb ?: "none");
	return parts.taken;
}

static int given_puts(const char *text)
{
	line("says: %s", text);
	return 0;
}

static int given_flush(FILE *file)
{
	is(file == stdout);
	line("that is written");
	return 0;
}

#define PLAIN(name)                            \
	static void given_##name(void *unused) \
	{                                      \
		(void)unused;                  \
		word(#name);                   \
	}
PLAIN(feeds_stop)
PLAIN(followers_stop)
PLAIN(errands_stop)
PLAIN(learn_stop)
PLAIN(attacks_close)
PLAIN(own_end)
PLAIN(hook_end)

#define reload_open	    given_reload_open
#define expiry_open	    given_expiry_open
#define arrivals_open	    given_arrivals_open
#define observer_open	    given_observer_open
#define keeper_open	    given_keeper_open
#define reload_close	    given_reload_close
#define arrivals_close	    given_arrivals_close
#define observer_close	    given_observer_close
#define keeper_close	    given_keeper_close
#define expiry_close	    given_expiry_close
#define close_fd	    given_close_fd
#define kernel_live	    given_live
#define kernel_age	    given_age
#define state_open	    given_state_open
#define state_close	    given_state_close
#define agreement_known	    given_known
#define reload_follow	    given_follow
#define arrivals_expect	    given_arrivals_expect
#define feeds_expect	    given_feeds_expect
#define state_joined	    given_joined
#define followers_fleet	    given_followers_fleet
#define agreement	    given_agreement
#define expiry_look	    given_expiry_look
#define state_limits	    given_limits
#define state_setting	    given_setting
#define attacks_expect	    given_attacks_expect
#define jail_watch_expect   given_jail_expect
#define learn_expect	    given_learn_expect
#define arrivals_unfiltered given_unfiltered
#define keeper_unfiltered   given_keeper_unfiltered
#define keeper_doubts	    given_doubts
#define keeper_state	    given_keeper_state
#define observer_state	    given_observer_state
#define rate_watch_schedule given_rate_schedule
#define reload_again	    given_reload_again
#define reload_turn	    given_reload_turn
#define reload_looked	    given_looked
#define reload_unseen	    given_unseen
#define arrivals_came	    given_came
#define keeper_look	    given_keeper_look
#define keeper_turn	    given_keeper_turn
#define keeper_heals	    given_heals
#define keeper_ended	    given_keeper_ended
#define keeper_faulty	    given_faulty
#define rate_watch_begin    given_rate_begin
#define attacks_turn	    given_attacks_turn
#define own_watch_turn	    given_own_turn
#define jail_watch_due	    given_jail_due
#define needs_watch_due	    given_needs_due
#define jobs_limit	    given_limit
#define feeds_turn	    given_feeds_turn
#define learn_turn	    given_learn_turn
#define errands_turn	    given_errands_turn
#define followers_turn	    given_followers_turn
#define hook_turn	    given_hook_turn
#define arrivals_attached   given_attached
#define observer_look	    given_observer_look
#define arrivals_due	    given_arrivals_due
#define reload_due	    given_reload_due
#define keeper_due	    given_keeper_due
#define jail_watch_at	    given_jail_at
#define learn_due	    given_learn_due
#define feeds_due	    given_feeds_due
#define errands_due	    given_errands_due
#define followers_due	    given_followers_due
#define observer_timeout    given_timeout
#define reload_fd	    given_reload_fd
#define arrivals_fd	    given_arrivals_fd
#define errands_fd	    given_errands_fd
#define observer_fds	    given_observer_fds
#define expiry_due	    given_expiry_due
#define reload_read	    given_reload_read
#define arrivals_read	    given_arrivals_read
#define errands_came	    given_errands_came
#define observer_turn	    given_observer_turn
#define feeds_ended	    given_feeds_ended
#define followers_ended	    given_followers_ended
#define errands_ended	    given_errands_ended
#define service_job_ended   given_job_ended
#define followers_have	    given_followers_have
#define followers_expect    given_followers_expect
#define observer_asked	    given_observer_asked
#define config_free	    given_config_free
#define hook_begin	    given_hook_begin
#define hook_change	    given_hook_change
#define reload_all	    given_reload_all
#define feeds_begin	    given_feeds_begin
#define errands_begin	    given_errands_begin
#define notify_open	    given_notify_open
#define notify_watchdog	    given_watchdog
#define notify		    given_notify
#define fail		    given_end
#define log_told	    given_told
#define feeds_stop	    given_feeds_stop
#define followers_stop	    given_followers_stop
#define errands_stop	    given_errands_stop
#define learn_stop	    given_learn_stop
#define attacks_close	    given_attacks_close
#define own_watch_end	    given_own_end
#define hook_end	    given_hook_end
#define read(fd, to, n)	    given_read(fd, to, n)
#define free(list)	    given_free(list)
#define puts(text)	    given_puts(text)
#define fflush(file)	    given_flush(file)

#endif
