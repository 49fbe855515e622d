// SPDX-License-Identifier: GPL-2.0-only
#include "service/feeds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/log.h"
#include "state/feeds.h"

/* Where the command could not say when it is due again: its server is spared. */
#define SPARED (FEED_EVERY_LEAST * 1000LL)
/* A machine that slept wakes to what has become due meanwhile. */
#define LOOK_MOST 60000

static int64_t boot_ms(void)
{
	return clock_ns(CLOCK_BOOTTIME) / 1000000;
}

void feeds_begin(struct feeds *f, const struct context *context)
{
	*f = (struct feeds){ 0 };
	for (int i = 0; i < FEEDS_AT_ONCE; i++)
		f->running[i].context = context;
}

static const struct feed_due *find(const struct feeds *f, const char *list)
{
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->all[i].list, list))
			return &f->all[i];
	return NULL;
}

static bool is_running(const struct feeds *f, const char *list)
{
	for (int i = 0; i < FEEDS_AT_ONCE; i++)
		if (f->running[i].first && !strcmp(f->running[i].first->list, list))
			return true;
	return false;
}

struct expecting {
	const struct feeds *before;
	struct feed_due *all;
	size_t n;
	int64_t date, boot;
};

static int expect(void *arg, const struct feed *feed)
{
	struct expecting *e = arg;
	const struct feed_due *before = find(e->before, feed->list);
	struct feed_due *d;

	if (!GROW(e->all, e->n))
		return -ENOMEM;
	d = &e->all[e->n++];
	*d = (struct feed_due){ .tried = feed->tried, .next = feed->next };
	memcpy(d->list, feed->list, sizeof(d->list));
	feed_host(d->host, feed->url);
	/* Read once: the date may be another by now. */
	if (before && before->tried == d->tried && before->next == d->next)
		d->due = before->due;
	else
		d->due = e->boot + feed_left(feed, e->date) * 1000;
	return 0;
}

int feeds_expect(struct feeds *f, struct state *state)
{
	struct expecting e = { .before = f, .date = time(NULL), .boot = boot_ms() };
	int err = state_feeds_each(state, expect, &e);

	if (err) {
		free(e.all);
		return err;
	}
	free(f->all);
	f->all = e.all;
	f->n = e.n;
	return 0;
}

static int idle(const struct feeds *f)
{
	for (int i = 0; i < FEEDS_AT_ONCE; i++)
		if (!f->running[i].first)
			return i;
	return -1;
}

static bool is_asked(const struct feeds *f, const char *host)
{
	for (int i = 0; i < FEEDS_AT_ONCE; i++)
		if (f->running[i].first && !strcmp(f->hosts[i], host))
			return true;
	return false;
}

/* That can be asked for first, of those whose host nobody asks now. */
static struct feed_due *first(const struct feeds *f)
{
	struct feed_due *first = NULL;

	for (size_t i = 0; i < f->n && idle(f) >= 0; i++)
		if ((!first || f->all[i].due < first->due) && !is_asked(f, f->all[i].host) &&
		    !is_running(f, f->all[i].list))
			first = &f->all[i];
	return first;
}

void feeds_turn(struct feeds *f, int64_t now)
{
	struct feed_due *d;
	int64_t boot = boot_ms();

	for (int i = 0; i < FEEDS_AT_ONCE; i++)
		jobs_limit(&f->running[i], now);
	while ((d = first(f)) && d->due <= boot) {
		char *words[] = { (char *)(uintptr_t) "load", d->list };
		struct job job = { .kind = JOB_FEED };
		int slot = idle(f), err;

		d->due = boot + SPARED;
		memcpy(job.list, d->list, sizeof(job.list));
		err = jobs_add(&f->running[slot], &job, NULL, words, 2) ?: jobs_start(&f->running[slot]);
		if (err) {
			warn("list '%s': %s", d->list, reason(err));
			jobs_stop(&f->running[slot]);
		} else {
			memcpy(f->hosts[slot], d->host, sizeof(d->host));
		}
	}
}

int64_t feeds_due(const struct feeds *f, int64_t now)
{
	const struct feed_due *d = first(f);
	int64_t left = d ? d->due - boot_ms() : 0;

	return !d ? INT64_MAX : left <= 0 ? now : now + (left < LOOK_MOST ? left : LOOK_MOST);
}

bool feeds_ended(struct feeds *f, struct job **job, int *status)
{
	for (int i = 0; i < FEEDS_AT_ONCE; i++)
		if (jobs_ended(&f->running[i], job, status))
			return true;
	return false;
}

void feeds_stop(struct feeds *f)
{
	for (int i = 0; i < FEEDS_AT_ONCE; i++)
		jobs_stop(&f->running[i]);
	free(f->all);
	f->all = NULL;
	f->n = 0;
}
