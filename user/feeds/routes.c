// SPDX-License-Identifier: GPL-2.0-only
#include "feeds/routes.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/log.h"
#include "base/span.h"
#include "base/stop.h"
#include "change/change.h"
#include "change/followed.h"
#include "change/guard_rails.h"
#include "change/own_addresses.h"
#include "state/events.h"
#include "state/failed.h"

/* What comes together goes together: so long after the first. */
#define TOGETHER_MS 20
/* What this machine needs may be another then, and somebody may have changed the list. */
#define LOOK_MS	    60000
#define AGAIN_FIRST 1000
#define AGAIN_MOST  30000
/* An address that was spared is said once; beyond so many, only how many there are. */
#define SAID_MOST 256

struct follower {
	struct context *context;
	const struct routes_options *options;
	struct followed list;
	char name[LIST_NAME_MAX], from[64];
	struct route_source *source;
	struct addr *said; /* addresses that were spared */
	size_t said_n;
	struct left_out {
		size_t n, said;
		char why[256];
	} bad, much; /* each for itself, and all of them together */
	/* Where all of them are too much: those of a family that are wider than that are left out, but for what is in
	 * force already. */
	unsigned int least4, least6;
	struct ranges kept;
	int only;     /* one family; 0: both */
	int64_t next; /* not before; ms */
	int64_t look_at;
	int64_t again; /* how long the last wait after a failure was; 0: none */
	bool todo;
	char held[512]; /* what is said of routes that are gone, and stay; "": none are */
	unsigned int readings;
	bool other_said;
};

static void tell(const struct follower *f, enum event_kind kind, const char *text)
{
	event(f->context, (struct event){ kind, .verb = "follow" }, "%s", text);
}

/* --- What is in force of it --- */

static bool is_kept(const struct follower *f, struct addr first, unsigned int length)
{
	int covering = ranges_covering(&f->kept, first);

	return covering >= 0 && covering <= (int)length;
}

/* Nothing that is refused by itself is so narrow, but sources that are several's, and what is around one of them. */
static bool is_sound(struct addr first, unsigned int length)
{
	return !source_is_shared(first) &&
	       (first.family == 4 ? length >= 25 && first.num >> 8 != 0xffffff : length >= 65 && first.num >> 64);
}

static bool leave_out(void *arg, struct addr first, unsigned int length)
{
	struct follower *f = arg;
	bool narrow = length >= (first.family == 4 ? f->least4 : f->least6);
	int err;

	if (f->only && f->only != first.family)
		return true;
	if (narrow && is_sound(first, length))
		return false;
	err = guard_told(first, length);
	if (err && !f->bad.n++)
		snprintf(f->bad.why, sizeof(f->bad.why), "%s", reason(err));
	if (err)
		return true;
	if (narrow || is_kept(f, first, length))
		return false;
	f->much.n++;
	return true;
}

static void say_left_out(struct follower *f, struct left_out *left)
{
	char text[512];

	if (left->n == left->said)
		return;
	left->said = left->n;
	if (!left->n)
		return;
	snprintf(text, sizeof(text), "%s: %zu of its routes %s left out: %s", f->from, left->n,
		 left->n == 1 ? "is" : "are", left->why);
	warn("%s", text);
	tell(f, EVENT_GUARD, text);
}

static bool was_said(struct follower *f, struct addr addr)
{
	for (size_t i = 0; i < f->said_n; i++)
		if (f->said[i].num == addr.num && f->said[i].family == addr.family)
			return true;
	if (f->said_n == SAID_MOST || !GROW(f->said, f->said_n))
		return true;
	f->said[f->said_n++] = addr;
	return false;
}

static void say_spared(struct follower *f, const struct followed_put *put)
{
	char host[PREFIX_TEXT_MAX], what[OWN_TEXT_MAX], text[512];

	for (size_t i = 0; i < put->spared_n; i++) {
		if (was_said(f, put->spared[i].addr))
			continue;
		snprintf(text, sizeof(text), "%s: %s is not banned: it is %s", f->from,
			 prefix_text(host, put->spared[i].addr, -1), own_text(what, &put->spared[i]));
		warn("%s", text);
		tell(f, EVENT_GUARD, text);
	}
}

static void say_done(struct follower *f, const struct followed_put *put)
{
	char came[NUMBER_TEXT_MAX], went[NUMBER_TEXT_MAX];

	say_left_out(f, &f->bad);
	say_left_out(f, &f->much);
	say_spared(f, put);
	if (!put->changed)
		return;
	event(f->context, (struct event){ EVENT_DONE, .verb = "follow", .generation = put->generation },
	      "list '%s': %s addresses came and %s went; %llu prefixes from %s", f->name, number_text(came, put->came),
	      number_text(went, put->went), (unsigned long long)put->prefixes, f->from);
}

/* A failure is said once, and tried again; at the latest when what is in its way is over. waits: ns; 0: not known. */
static void failed(struct follower *f, int err, int64_t waits)
{
	int64_t over = waits ? waits / 1000000 + 1 : AGAIN_MOST;

	if (!f->again) {
		warn("%s: %s; what was in force stays, and it is tried again", f->from, reason(err));
		if (err_is(err, GUARD_REFUSED))
			tell(f, EVENT_GUARD, reason(err));
	}
	list_failed(f->context, f->name, reason(err));
	f->again = !f->again ? AGAIN_FIRST : 2 * f->again < AGAIN_MOST ? 2 * f->again : AGAIN_MOST;
	f->next = clock_ms() + (over < f->again ? over : f->again);
}

static void succeeded(struct follower *f)
{
	if (f->again) {
		warn("%s: it works again", f->from);
		if (*f->held)
			list_failed(f->context, f->name, f->held);
		else
			list_succeeded(f->context, f->name);
	}
	f->again = 0;
}

static int collect(struct follower *f, struct ranges *set, size_t *here, int64_t *came)
{
	struct route_table *table;
	uint64_t elsewhere;
	int err = 0;

	ranges_free(set);
	*set = RANGES_EMPTY;
	table = route_source_take(f->source, &err);
	if (!table)
		return err;
	*here = table->here;
	*came = table->came;
	f->bad.n = f->much.n = 0;
	elsewhere = route_source_elsewhere(f->source);
	/* What a link that goes down takes with it, the kernel does not tell. */
	own_routes_are(elsewhere ? elsewhere << 32 | (uint64_t)(clock_ms() / LOOK_MS) : 0);
	err = routes_to_be(table, set, leave_out, f);
	route_source_give(f->source);
	return err ?: ranges_finish(set);
}

/* The least length of a family with which they are not too much. */
static int find_least(struct follower *f, int family, unsigned int *least)
{
	struct ranges set = RANGES_EMPTY;
	unsigned int lo = 0, hi = addr_width(family) + 1;
	int err = 0;

	f->only = family;
	while (lo < hi && !err) {
		int64_t came;
		size_t here;

		*least = (lo + hi) / 2;
		err = collect(f, &set, &here, &came);
		if (err)
			break;
		err = guard_much(f->name, &f->kept, &set);
		if (err_is(err, GUARD_REFUSED)) {
			snprintf(f->much.why, sizeof(f->much.why), "%s", reason(err));
			lo = *least + 1;
			err = 0;
		} else {
			hi = *least;
		}
	}
	*least = lo;
	f->only = 0;
	ranges_free(&set);
	return err;
}

/* All of them are too much: what is in force stays, and of what is new the narrow ones are taken. */
static int put_less(struct follower *f, struct ranges *set, struct followed_put *done)
{
	int64_t came;
	size_t here;
	int err;

	followed_put_free(done);
	err = followed_get(f->context, &f->list, &f->kept) ?:
	      find_least(f, 4, &f->least4) ?:
	      find_least(f, 6, &f->least6) ?:
	      collect(f, set, &here, &came) ?: followed_put(f->context, &f->list, set, done);
	f->least4 = f->least6 = 0;
	ranges_free(&f->kept);
	f->kept = RANGES_EMPTY;
	return err;
}

/* As much of the time for others as it took. */
static void put(struct follower *f)
{
	struct ranges set = RANGES_EMPTY;
	struct followed_put done = { 0 };
	int64_t began = clock_ms(), end, came = 0;
	size_t here = 0;
	int err;

	err = collect(f, &set, &here, &came) ?: followed_put(f->context, &f->list, &set, &done);
	if (err && done.too_much)
		err = put_less(f, &set, &done);
	end = clock_ms();
	f->next = end + (end - began);
	f->look_at = end + LOOK_MS;
	if (err) {
		failed(f, err, done.waits);
	} else {
		f->todo = false;
		succeeded(f);
		say_done(f, &done);
		note("%s: %zu routes; %.1f ms, %.1f ms behind the last that had come", f->from, here,
		     (double)(end - began), (double)(end - came));
	}
	followed_put_free(&done);
	ranges_free(&set);
}

/* --- When most of it goes --- */

static void say_held(struct follower *f, const struct route_table *table)
{
	size_t most = routes_most(table), lost = most - table->here;
	char until[UTC_TEXT_MAX], grace[SPAN_TEXT_MAX], which[64] = "they";

	/* Others have ended before so many had gone. */
	if (table->gone < lost)
		snprintf(which, sizeof(which), "the %zu that went last", table->gone);
	utc_text(until, time(NULL) + f->options->grace / 1000);
	span_text(grace, f->options->grace / 1000);
	snprintf(f->held, sizeof(f->held),
		 "%s has lost %zu of %zu routes: %s stay in force until %s (--grace %s), unless they come back before",
		 f->from, lost, most, which, until, grace);
	warn("%s", f->held);
	tell(f, EVENT_GUARD, f->held);
	list_failed(f->context, f->name, f->held);
}

static void say_held_over(struct follower *f, bool back)
{
	char text[512];

	*f->held = '\0';
	snprintf(text, sizeof(text), "%s: %s", f->from,
		 back ? "its routes are there again" : "its routes have not come back in time, and end");
	warn("%s", text);
	tell(f, back ? EVENT_HEALED : EVENT_GUARD, text);
	list_succeeded(f->context, f->name);
}

/* In a table of their own all are meant to ban; the main one has the machine's routes. */
static void say_other(struct follower *f, const struct route *other)
{
	char prefix[PREFIX_TEXT_MAX], text[512];

	if (!other || f->other_said || f->options->wish.table == RT_TABLE_MAIN)
		return;
	f->other_said = true;
	snprintf(text, sizeof(text),
		 "%s: %s is there by a route of another type, which bans nobody; others are not named", f->from,
		 prefix_text(prefix, (struct addr){ other->first, other->family }, (int)other->length));
	warn("%s", text);
	tell(f, EVENT_GUARD, text);
}

/* Returns when there is something to do next. */
static int settle(struct follower *f, int64_t *due)
{
	struct route_table *table;
	enum routes_news news;
	int err = 0;

	table = route_source_take(f->source, &err);
	if (!table)
		return err;
	if (route_source_readings(f->source) > f->readings)
		note("%s: something was missed: it was read whole again", f->from);
	f->readings = route_source_readings(f->source);
	news = routes_settle(table, clock_ms());
	if (news == ROUTES_HELD)
		say_held(f, table);
	else if (news != ROUTES_NO_NEWS)
		say_held_over(f, news == ROUTES_BACK);
	say_other(f, route_source_other(f->source));
	f->todo = f->todo || table->changed;
	*due = routes_due(table);
	route_source_give(f->source);
	return 0;
}

/* --- From its beginning to its end --- */

/* What was in force, from before the machine or the daemon was started again, is not given up for an empty table. */
static int remember(struct follower *f)
{
	struct ranges before, now = RANGES_EMPTY, gone = RANGES_EMPTY;
	struct route_table *table;
	int err = followed_get(f->context, &f->list, &before);

	if (err)
		return err;
	table = route_source_take(f->source, &err);
	if (table) {
		err = routes_to_be(table, &now, leave_out, f) ?: ranges_finish(&now) ?: ranges_subtract(&gone, &before, &now);
		for (size_t i = 0; i < gone.n4 && !err; i++) {
			struct cut4 cut = { .lo = gone.v4[i].lo, .hi = gone.v4[i].hi };

			while (!err && range4_next_prefix(&cut))
				err = routes_were(table, (struct addr){ cut.first, 4 }, cut.length, clock_ms());
		}
		for (size_t i = 0; i < gone.n6 && !err; i++) {
			struct cut6 cut = { .lo = gone.v6[i].lo, .hi = gone.v6[i].hi };

			while (!err && range6_next_prefix(&cut))
				err = routes_were(table, (struct addr){ cut.first, 6 }, cut.length, clock_ms());
		}
		table->changed = true;
		route_source_give(f->source);
	}
	ranges_free(&before);
	ranges_free(&now);
	ranges_free(&gone);
	return err;
}

static void wait_until(const struct follower *f, int64_t at)
{
	struct pollfd told = { .fd = route_source_fd(f->source), .events = POLLIN };
	int64_t left = at - clock_ms();
	struct timespec time = { left > 0 ? left / 1000 : 0, left > 0 ? left % 1000 * 1000000 : 0 };

	stop_poll(&told, 1, &time);
}

static int follow(struct follower *f)
{
	int err = 0;

	while (!stop_asked && !err) {
		int64_t due = INT64_MAX, now;
		bool was = f->todo;

		err = settle(f, &due);
		now = clock_ms();
		if (f->todo && !was && f->next < now + TOGETHER_MS)
			f->next = now + TOGETHER_MS;
		if (!err && now >= f->look_at)
			f->todo = true;
		if (!err && f->todo && now >= f->next) {
			put(f);
			continue;
		}
		if (f->todo && f->next < due)
			due = f->next;
		if (f->look_at < due)
			due = f->look_at;
		if (!err)
			wait_until(f, due);
	}
	return err;
}

static void name(struct follower *f, const struct routes_options *o)
{
	const char *family = o->wish.family == 4 ? "-4" : o->wish.family == 6 ? "-6" : "";

	snprintf(f->from, sizeof(f->from), "route table %u%s", o->wish.table,
		 o->wish.family == 4   ? ", IPv4"
		 : o->wish.family == 6 ? ", IPv6"
				       : "");
	if (o->list)
		snprintf(f->name, sizeof(f->name), "%s", o->list);
	else
		snprintf(f->name, sizeof(f->name), "routes-%u%s", o->wish.table, family);
	f->list = (struct followed){ f->name, f->from, o->shadow, o->wide };
}

/* Whatever is wrong from the start is said before anything is done. */
static int try_once(struct context *context)
{
	struct change *change = NULL;
	int err = change_begin(&change, context);

	change_end(change);
	return err_is(err, EBUSY) || err_is(err, ENOSPC) ? 0 : err;
}

int follow_routes(struct context *context, const struct routes_options *options)
{
	struct follower f = { .context = context, .options = options, .readings = 1 };
	int err;

	name(&f, options);
	f.look_at = clock_ms() + LOOK_MS;
	stop_on(SIGINT);
	stop_on(SIGTERM);
	err = try_once(context) ?: followed_alone(context, &f.list) ?: route_source_open(&f.source, &options->wish, options->grace) ?: remember(&f) ?: follow(&f);
	route_source_close(f.source);
	free(f.said);
	return err;
}
