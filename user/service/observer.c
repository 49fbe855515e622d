// SPDX-License-Identifier: GPL-2.0-only
#include "service/observer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/context.h"
#include "base/log.h"
#include "base/state_path.h"
#include "observe/tallies.h"
#include "observe/history.h"
#include "observe/lines_down.h"
#include "observe/passing.h"
#include "observe/weigh.h"
#include "kernel/attach.h"
#include "kernel/live.h"
#include "kernel/ring.h"
#include "state/kept_image.h"
#include "observe/relay.h"
#include "state/limits.h"
#include "state/reserve.h"
#include "state/settings.h"
#include "state/state.h"

#ifdef WITHOUT_PAGE
#define web_listen(...) because(-ENOSYS, "metrics and the page are " LEFT_OUT)
#endif

#define COUNT_EVERY   RING_REFILL_MS
#define AT_NEXT_START "is taken up at the next start: systemctl restart xdp-bloom"
#define REOPEN_EVERY  5000 /* samples may be turned on or off, or change their rate */
#define LISTEN_EVERY  5000

/*
 * What passes is sampled while page.json is asked for, and so long after: open pages ask more often. Every packet that
 * passes pays for it, so it ends by itself.
 */
#define LOOKED_FOR    10000
#define PASSING_RATE  100
#define PASSING_EVERY 100

struct observer {
	struct history *history;
	struct web_server *server;
	struct metrics_pages pages;
	char *address, *hosts, *token; /* as it was opened; "": none */
	int64_t listen_at;	       /* it cannot now, and tries again then; INT64_MAX: it has no need to */
	bool refused;		       /* that was said */
	struct ring *samples;	       /* NULL: they are off, or nothing is loaded yet */
	struct weigher *weigher;
	struct relay relay;
	double rate;		/* the samples were opened with it */
	bool taken;		/* samples came since the last refill */
	bool counting, no_room; /* for the history: it is in memory */
	bool spares;		/* what room there is others may need */
	int64_t counted, opened;
	uint64_t second; /* of the clock, that is being counted */
	int64_t tried;	 /* to count: also limits how often counters that cannot be read are tried */
	struct counted before, now, between;
	struct live live;
	__u64 tuned;		  /* the generation with this rate */
	__u64 named, named_edits; /* the generation whose lists the history knows */
};

/* A new rate comes with a new generation. While it cannot be read, it is as it was. */
static double rate_wanted(struct observer *o)
{
	struct state *state;
	double rate = o->rate;

	if (!live_look(&o->live) && o->live.g.number == o->tuned)
		return o->rate;
	if (!state_open(&state, o->live.context, false)) {
		rate = state_setting(state, "samples", SETTINGS_DEFAULT.samples);
		o->tuned = o->live.g.number;
	}
	state_close(state);
	return rate;
}

/* If the ring cannot be opened now, the next look tries again. */
static void open_samples(struct observer *o)
{
	double rate = rate_wanted(o);

	if (o->samples && rate == o->rate)
		return;
	ring_close(o->samples);
	o->samples = NULL;
	o->rate = rate;
	if (rate > 0)
		ring_open(o->live.context, &o->samples, rate);
}

static char *copy(const char *text, int *err)
{
	char *its = strdup(text ? text : "");

	*err = its ? *err : -ENOMEM;
	return its;
}

static void warn_changed(const char *option, const char *was, const char *is)
{
	if (strcmp(was, is ? is : "") != 0)
		warn("another --%s " AT_NEXT_START, option);
}

void observer_asked(const struct observer *o, const struct listen_options *listen)
{
	const struct token *known = &o->pages.token;
	struct token token = { 0 };

	warn_changed("listen", o->address, listen->address);
	if (!*o->address)
		return;
	warn_changed("host", o->hosts, listen->hosts);
	warn_changed("listen-token", o->token, listen->token);
	if (listen->token && !strcmp(o->token, listen->token) && !token_read(&token, listen->token) &&
	    !token_is(known, token.text))
		warn("--listen-token: another token in %s " AT_NEXT_START, listen->token);
	explicit_bzero(&token, sizeof(token));
	if (o->pages.shown != listen->page)
		warn("%s --page " AT_NEXT_START, listen->page ? "the new" : "the end of");
}

/* Bans end and interfaces are filtered also where there is no room to keep a history. */
static int open_history(struct observer *o)
{
	int err = history_open(o->live.context, &o->history, true);

	if (!err_is(err, ENOSPC))
		return err;
	warn("%s; the history is not kept until there is room", reason(err));
	o->no_room = true;
	return history_private(&o->history);
}

/* Nor is a name for its socket needed to filter, for which the disk may have no place. */
static int open_relay(struct observer *o)
{
	int err = relay_open(o->live.context, &o->relay);

	if (!err_is(err, ENOSPC))
		return err;
	warn("%s; no other command sees samples until there is room", reason(err));
	return 0;
}

/*
 * Any user may have the port while no service has it, and an address may come later than the service: neither keeps it
 * from filtering.
 */
static int try_to_listen(struct observer *o)
{
	int err = web_listen(&o->server, o->address, *o->hosts ? o->hosts : NULL, metrics_answer, &o->pages);
	bool later = err_is(err, EADDRINUSE) || err_is(err, EADDRNOTAVAIL);

	if (!err)
		o->pages.open = web_is_open(o->server);
	if (later && !o->refused)
		line_down_say(o->live.context, STATE_LISTEN, true,
			      "%s; whoever asks there does not ask this service, which tries again", reason(err));
	if (!err && o->refused)
		line_down_say(o->live.context, STATE_LISTEN, false, "the service listens at %s now", o->address);
	o->refused = err;
	o->listen_at = err ? clock_ms() + LISTEN_EVERY : INT64_MAX;
	return later ? 0 : err;
}

int observer_open(const struct context *context, struct observer **observer, const struct listen_options *listen)
{
	static const struct lines_down none;
	struct observer *o = calloc(1, sizeof(*o));
	int err;

	*observer = NULL;
	if (!o)
		return -ENOMEM;
	o->relay.listener = -1;
	o->listen_at = INT64_MAX;
	o->pages.context = context;
	live_open(&o->live, context);
	o->weigher = weigher_new();
	err = o->weigher ? 0 : -ENOMEM;
	o->address = copy(listen->address, &err);
	o->hosts = copy(listen->hosts, &err);
	o->token = copy(listen->token, &err);
	lines_down_keep(context, STATE_LISTEN, &none);
	err = err ?: open_relay(o);
	if (!err)
		err = open_history(o);
	if (!err && listen->address && listen->token)
		err = token_read(&o->pages.token, listen->token);
	if (!err && listen->address)
		err = try_to_listen(o);
	o->pages.shown = listen->page;
	o->pages.history = o->history;
	/* The unit gives Internet sockets to a config that asks for them. Without metrics, bans still end. */
	if (err_is(err, EAFNOSUPPORT)) {
		warn("%s; with the line 'run --listen %s' in /etc/xdp-bloom.conf, 'systemctl daemon-reload' lets the "
		     "service listen at its next start",
		     reason(err), listen->address);
		o->listen_at = INT64_MAX;
		err = 0;
	}
	if (err) {
		observer_close(o);
		return err;
	}
	*observer = o;
	return 0;
}

void observer_close(struct observer *o)
{
	if (!o)
		return;
	live_close(&o->live);
	ring_close(o->samples);
	passing_free(o->pages.passing.samples);
	web_close(o->server);
	metrics_forget(&o->pages);
	history_close(o->history);
	weigher_free(o->weigher);
	relay_close(&o->relay);
	free(o->address);
	free(o->hosts);
	free(o->token);
	free(o);
}

unsigned int observer_fds(struct observer *o, struct pollfd *fds)
{
	unsigned int n = 0;

	fds[n++] = (struct pollfd){ .fd = relay_fd(&o->relay), .events = POLLIN };
	if (o->samples)
		fds[n++] = (struct pollfd){ .fd = ring_fd(o->samples), .events = POLLIN };
	if (o->server)
		n += web_fds(o->server, fds + n);
	return n;
}

static int until(int64_t then, int64_t now)
{
	return then > now ? (int)(then - now) : 0;
}

int observer_timeout(struct observer *o)
{
	int64_t now = clock_ms();
	int ms = until(o->tried + COUNT_EVERY, now), other = o->server ? web_timeout(o->server) : -1;

	if (other >= 0 && other < ms)
		ms = other;
	return o->pages.passing.samples && ms > PASSING_EVERY ? PASSING_EVERY : ms;
}

static void on_sample(void *arg, const struct sample *sample)
{
	struct observer *o = arg;

	o->taken = true;
	weigh_sample(o->weigher, sample);
	relay_send(&o->relay, sample);
}

static void on_weighed(void *arg, const struct packet *packet, double packets)
{
	struct observer *o = arg;

	history_sample(o->history, o->second, packet, packets);
}

/* The labels of lists may change with the generation. */
static void name_lists(struct observer *o)
{
	struct list_info *lists = NULL;
	struct state *state = NULL;
	const struct generation *live = &o->live.g;
	size_t n = 0;

	if (live_look(&o->live) || (live->number == o->named && live->edits == o->named_edits))
		return;
	if (!state_open(&state, o->live.context, false) && !lists_in_force(state, &lists, &n) &&
	    (!state_limits(state).on || !lists_add_detector(&lists, &n))) {
		history_lists(o->history, lists, n, live_label_is_exact(o->live.context, state));
		weigh_forget(o->weigher);
		o->named = live->number;
		o->named_edits = live->edits;
	}
	state_close(state);
	free(lists);
}

/* What cut it can do so again: it is begun anew, once a second at most. */
static void keep_history(struct observer *o)
{
	bool lost = history_is_lost(o->history);
	struct history *fresh;
	int err;

	if (!lost && (!o->no_room || o->spares || reserve_is_needed(o->live.context->state)))
		return;
	err = history_open(o->live.context, &fresh, true);
	if (lost)
		warn("another process has cut the history%s%s", err ? ": " : "; it begins anew",
		     err ? reason(err) : "");
	else if (err)
		return;
	o->no_room = err_is(err, ENOSPC);
	if (err && history_private(&fresh))
		return;
	history_close(o->history);
	o->history = fresh;
	o->pages.history = fresh;
	o->named = 0;
}

static void follow_passing(struct observer *o)
{
	struct page_passing *p = &o->pages.passing;
	struct attachment *on = NULL;
	size_t n = 0;
	int err = attach_list(o->live.context, &on, &n) ?: passing_follow(p->samples, on, n);

	free(on);
	if (err_is(err, EPERM) || err_is(err, EAFNOSUPPORT))
		snprintf(p->why, sizeof(p->why),
			 "%s; 'run --listen ... --page' in /etc/xdp-bloom.conf gives that to the unit, after "
			 "'systemctl daemon-reload' and 'systemctl restart xdp-bloom'",
			 reason(err));
	else
		snprintf(p->why, sizeof(p->why), "%s",
			 err			    ? reason(err)
			 : passing_sees(p->samples) ? ""
						    : "no interface of this network namespace is filtered");
}

/* It begins at once, and ends by itself. */
static void look_at_passing(struct observer *o, int64_t now)
{
	struct page_passing *p = &o->pages.passing;

	if (!o->pages.looked || now - o->pages.looked >= LOOKED_FOR) {
		passing_free(p->samples);
		*p = (struct page_passing){ 0 };
	} else if (p->samples) {
		passing_read(p->samples);
	} else {
		p->samples = passing_new(PASSING_RATE);
		p->since = now;
		if (p->samples)
			follow_passing(o);
	}
}

static void count(struct observer *o, int64_t now)
{
	double seconds = (double)(now - o->counted) / 1000;
	int64_t until;

	o->tried = now;
	keep_history(o);
	until = clock_ns(CLOCK_MONOTONIC);
	if (kernel_counters(o->live.context, &o->now))
		return;
	/* What was counted has to be weighed with its own samples: a burst is over before they are waited for. */
	if (o->samples)
		ring_read(o->samples, on_sample, o);
	if (o->pages.passing.samples)
		passing_read(o->pages.passing.samples);
	/* Together, so that what is sampled first is the first of what is counted. A full budget is not refilled. */
	if (o->samples && o->taken)
		ring_refill(o->samples);
	o->taken = false;
	name_lists(o);
	if (o->counting) {
		o->second = (uint64_t)time(NULL);
		tallies_since(&o->between, &o->before, &o->now);
		weigh_interval(o->weigher, (uint64_t)until, o->between.list, on_weighed, o);
		history_count(o->history, o->second, seconds, &o->between);
		if (o->pages.passing.samples)
			passing_count(o->pages.passing.samples, o->second, (uint64_t)until, &o->between);
	}
	o->before = o->now;
	o->counting = true;
	o->counted = now;
	if (o->pages.passing.samples)
		follow_passing(o);
}

void observer_look(struct observer *o)
{
	open_samples(o);
	if (o->relay.listener < 0 && !o->spares)
		relay_open(o->live.context, &o->relay);
	o->opened = clock_ms();
}

void observer_faults(struct observer *o, const struct faults *faults)
{
	o->pages.faults = *faults;
}

void observer_state(struct observer *o, bool readable)
{
	o->pages.state_lost = !readable;
}

void observer_turn(struct observer *o, bool spares)
{
	int64_t now = clock_ms();

	o->spares = spares;
	relay_accept(&o->relay);
	if (o->server)
		web_serve(o->server);
	else if (now >= o->listen_at)
		try_to_listen(o);
	look_at_passing(o, now);
	if (!o->opened || now - o->opened >= REOPEN_EVERY)
		observer_look(o);
	if (o->samples)
		ring_read(o->samples, on_sample, o);
	if (!o->tried || now - o->tried >= COUNT_EVERY)
		count(o, now);
}
