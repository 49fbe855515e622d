// SPDX-License-Identifier: GPL-2.0-only
#include "feeds/announce.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/close_fd.h"
#include "base/context.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/stop.h"
#include "change/guard_rails.h"
#include "feeds/route_writer.h"
#include "feeds/state_watch.h"
#include "sets/bogons.h"
#include "sets/ranges.h"
#include "state/bans.h"
#include "state/events.h"
#include "state/members.h"
#include "state/said.h"
#include "state/state.h"

/* What comes together goes together: so long after the first. */
#define TOGETHER_MS 20
/* Others may have changed the table. */
#define LOOK_MS	    60000
#define OVER_MS	    1000
#define AGAIN_FIRST 1000
#define AGAIN_MOST  30000

struct announcer {
	struct context *context;
	const struct announce_options *options;
	struct route_writer writer;
	int watch, lock;
	struct prefix *wanted;
	size_t n;
	struct left_out {
		size_t n, said;
	} allowed, unfit, too_many, taken;
	int64_t look_at, end_at, next; /* ms; end_at: when a ban ends */
	int64_t again;		       /* how long the last wait after a failure was, 0: none */
	bool todo, begun;
};

/* --- What there is to say --- */

/* Members of a fleet announce their own. */
static bool is_own(struct state *state, const struct ban *ban, int64_t now)
{
	struct said *said = NULL;
	size_t n = 0;
	int err = state_said_of(state, ban->first, ban->length, &said, &n);
	bool own = !err && (!n || (said[0].member == MEMBER_OWN && ban_in_force(&said[0].ban, now)));

	free(said);
	return own;
}

static bool is_wanted(struct announcer *a, struct state *state, const struct ban *ban, const struct ranges *allowed,
		      bool fleet, int64_t now)
{
	if (!ban_in_force(ban, now) || (a->options->family && a->options->family != ban->first.family) ||
	    (fleet && !is_own(state, ban, now)))
		return false;
	/* What was forced here is forced here alone; and private addresses are others' elsewhere. */
	if (guard_prefix(ban->first, ban->length) || bogon_of(ban->first, ban->length)) {
		a->unfit.n++;
		return false;
	}
	/* A route says nothing of what is to pass within it. */
	if (!ranges_touch(allowed, ban->first, ban->length))
		return true;
	a->allowed.n++;
	return false;
}

static bool is_there(const struct announcer *a, const struct prefix *p)
{
	return a->writer.n && bsearch(p, a->writer.at, a->writer.n, sizeof(*p), route_order);
}

/* Where there are too many, those stay that are there. */
static void limit(struct announcer *a)
{
	size_t most = a->options->most, fresh = 0, n = 0, there = 0;

	a->too_many.n = a->n > most ? a->n - most : 0;
	if (!a->too_many.n)
		return;
	for (size_t i = 0; i < a->n; i++)
		there += is_there(a, &a->wanted[i]);
	fresh = there < most ? most - there : 0;
	for (size_t i = 0; i < a->n && n < most; i++) {
		bool is = is_there(a, &a->wanted[i]);

		if (!is && !fresh)
			continue;
		fresh -= !is;
		a->wanted[n++] = a->wanted[i];
	}
	a->n = n;
}

static int collect(struct announcer *a, int64_t *next_end)
{
	struct ranges allowed = RANGES_EMPTY;
	struct state *state = NULL;
	struct ban *bans = NULL;
	int64_t now = time(NULL), left;
	size_t n = 0;
	int err = state_open(&state, a->context, false) ?: state_bans(state, &bans, &n) ?: state_allowed(state, &allowed);
	int fleet = err ? err : state_said_any(state);

	free(a->wanted);
	a->wanted = NULL;
	a->n = a->allowed.n = a->unfit.n = 0;
	err = err ?: fleet < 0 ? fleet : 0;
	if (!err) {
		a->wanted = calloc(n + 1, sizeof(*a->wanted));
		err = a->wanted ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < n && !err; i++)
		if (is_wanted(a, state, &bans[i], &allowed, fleet > 0, now))
			a->wanted[a->n++] = (struct prefix){ bans[i].first, bans[i].length };
	/* One that is over is a row until the service, or the next change, takes it out. */
	*next_end = err || !state_bans_next_left(state, &left) ? INT64_MAX
							       : clock_ms() + (left > 0 ? left / 1000000 + 1 : OVER_MS);
	state_close(state);
	free(bans);
	ranges_free(&allowed);
	if (!err)
		qsort(a->wanted, a->n, sizeof(*a->wanted), route_order);
	return err;
}

static void say(struct announcer *a, struct left_out *left, const char *why)
{
	if (left->n != left->said && left->n)
		warn("table %u: %zu %s %s", a->options->table, left->n, left->n == 1 ? "ban is" : "bans are", why);
	left->said = left->n;
}

static void failed(struct announcer *a, int err)
{
	if (!a->again)
		warn("%s; it is tried again", reason(err));
	a->again = !a->again ? AGAIN_FIRST : 2 * a->again < AGAIN_MOST ? 2 * a->again : AGAIN_MOST;
	a->next = clock_ms() + a->again;
	a->look_at = 0; /* some of it may have been done */
}

static void make(struct announcer *a)
{
	int64_t began = clock_ms(), next_end = INT64_MAX, end;
	bool looks = began >= a->look_at;
	int err = (looks ? route_writer_read(&a->writer) : 0) ?: collect(a, &next_end);

	limit(a);
	err = err ?: route_writer_make(&a->writer, a->wanted, a->n);
	if (err) {
		failed(a, err);
		return;
	}
	if (a->again)
		warn("table %u: it works again", a->options->table);
	a->again = 0;
	if (!a->begun)
		event(a->context, (struct event){ EVENT_DONE, .verb = "announce" },
		      "table %u: %zu routes, from now on as bans come and go", a->options->table, a->writer.n);
	a->begun = true;
	a->taken.n = a->writer.taken;
	say(a, &a->allowed, "not announced: they hold addresses that are allowed here");
	say(a, &a->unfit, "not announced: too wide, or of no public address");
	say(a, &a->too_many, "not announced: there are too many (--max-entries)");
	say(a, &a->taken, "not announced: somebody else has a route of that prefix there, and it stays");
	end = clock_ms();
	note("table %u: %zu routes, %zu came and %zu went; %.1f ms", a->options->table, a->writer.n, a->writer.came,
	     a->writer.went, (double)(end - began));
	if (looks)
		a->look_at = end + LOOK_MS;
	a->todo = false;
	/* As much of the time for others as it took. */
	a->next = end + (end - began);
	a->end_at = next_end;
}

/* --- When the state changes --- */

static void wait_until(const struct announcer *a, int64_t at)
{
	struct pollfd told = { .fd = a->watch, .events = POLLIN };
	int64_t left = at - clock_ms();
	struct timespec time = { left > 0 ? left / 1000 : 0, left > 0 ? left % 1000 * 1000000 : 0 };

	stop_poll(&told, 1, &time);
}

static void keep_up(struct announcer *a)
{
	a->todo = true;
	while (!stop_asked) {
		bool was = a->todo;
		int64_t now;

		a->todo = state_watch_ended(a->watch, a->context->state) || a->todo;
		now = clock_ms();
		a->todo = a->todo || now >= a->look_at || now >= a->end_at;
		if (a->todo && !was && a->next < now + TOGETHER_MS)
			a->next = now + TOGETHER_MS;
		if (a->todo && now >= a->next)
			make(a);
		else
			wait_until(a, a->todo ? a->next : a->look_at < a->end_at ? a->look_at : a->end_at);
	}
}

static int clean(struct route_writer *w)
{
	return route_writer_read(w) ?: route_writer_make(w, NULL, 0);
}

void announced_find(struct announced *announced, const struct context *context)
{
	DIR *dir = opendir(context->state);
	struct dirent *entry;
	unsigned int table;
	char end;

	announced->n = 0;
	while (dir && announced->n < ANNOUNCED_MOST && (entry = readdir(dir)))
		if (sscanf(entry->d_name, STATE_ANNOUNCES_LOCK "%u%c", &table, &end) == 1)
			announced->table[announced->n++] = table;
	if (dir)
		closedir(dir);
}

void announced_clean(const struct announced *announced)
{
	for (size_t i = 0; i < announced->n; i++) {
		struct route_writer w;
		int err = route_writer_open(&w, announced->table[i], 0) ?: clean(&w);

		if (err)
			warn("table %u: what was announced stays: %s", announced->table[i], reason(err));
		route_writer_close(&w);
	}
}

/* Two would each take for theirs what the other does. */
static int be_alone(struct announcer *a)
{
	char path[STATE_PATH_MAX], name[64];
	int err = state_make_directory(a->context->state);

	if (err)
		return err;
	snprintf(name, sizeof(name), STATE_ANNOUNCES_LOCK "%u", a->options->table);
	a->lock = lock_take(state_path(path, a->context->state, name), 0);
	return a->lock < 0 ? a->lock : 0;
}

int announce(struct context *context, const struct announce_options *options)
{
	struct announcer a = { .context = context, .options = options, .watch = -1, .lock = -1 };
	int err = be_alone(&a);

	if (!err) {
		a.watch = state_watch_open(context->state);
		err = a.watch < 0 ? a.watch : route_writer_open(&a.writer, options->table, options->family);
	}
	stop_on(SIGINT);
	stop_on(SIGTERM);
	stop_on(STOP_FOR_GOOD);
	if (!err)
		keep_up(&a);
	if (!err && (options->clean || stop_asked == STOP_FOR_GOOD)) {
		err = clean(&a.writer);
		if (!err)
			event(context, (struct event){ EVENT_DONE, .verb = "announce" },
			      "table %u: its %zu routes are taken out", options->table, a.writer.went);
	}
	route_writer_close(&a.writer);
	free(a.wanted);
	close_fd(a.watch);
	close_fd(a.lock);
	return err;
}
