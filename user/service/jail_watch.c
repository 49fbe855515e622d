// SPDX-License-Identifier: GPL-2.0-only
#include "service/jail_watch.h"

#include <errno.h>
#include <stdlib.h>

#include "base/context.h"
#include "base/log.h"
#include "change/change.h"
#include "change/guard_rails.h"
#include "filter/limits.h"
#include "kernel/detect_seen.h"

/* The other half of the second is for the job. */
#define EVERY_MS 500
#define AGAIN_MS 5000 /* after a failure */
/* Who is needed for long may be above a limit for as long. */
#define SPARED_MS 2000

void jail_watch_expect(struct jail_watch *watch, const struct limits *limits)
{
	watch->bans = limits->on && limits_do(limits, THEN_BAN);
}

int64_t jail_watch_at(const struct jail_watch *watch)
{
	return watch->bans && !watch->runs ? watch->next : INT64_MAX;
}

bool jail_watch_due(struct jail_watch *watch, const struct context *context, int64_t now)
{
	struct seen seen;
	bool ends;

	if (now < jail_watch_at(watch))
		return false;
	watch->next = now + EVERY_MS;
	if (kernel_seen(context, &seen))
		return false;
	ends = now >= watch->spared_next && seen_spared(&seen);
	watch->runs = ends || seen_banned_n(&seen);
	if (ends)
		watch->spared_next = now + SPARED_MS;
	seen_free(&seen);
	return watch->runs;
}

static int move(const struct context *context, const struct ranges *only, const struct ranges *needed)
{
	struct context own = *context;
	struct change *change;
	int err = change_begin(&change, &own);

	err = err ?: jail_move(change, only, needed) ?: change_commit(change, NULL);
	change_end(change);
	return err;
}

/* Who can have no ban, as beside an image without a place for it, keeps the detector's own; the others have theirs. */
static int move_some(const struct context *context, const struct prefix *at, size_t n, const struct ranges *needed)
{
	struct ranges only = RANGES_EMPTY;
	int err = 0, behind;

	for (size_t i = 0; i < n && !err; i++)
		err = ranges_add_prefix(&only, at[i].first, at[i].length);
	err = err ?: ranges_finish(&only) ?: move(context, &only, needed);
	ranges_free(&only);
	if (n < 2 || !change_refuses(err))
		return err;
	err = move_some(context, at, n / 2, needed);
	behind = move_some(context, at + n / 2, n - n / 2, needed);
	return err ?: behind;
}

int jail_watch_run(const struct context *context, void *unused)
{
	struct ranges needed;
	int spared = jail_spare(context, &needed), err;
	struct prefix *at;
	size_t n;

	(void)unused;
	err = jail_all(context, &at, &n);
	if (err_is(err, ENOENT))
		err = 0;
	/* Where there was only somebody to look at, nobody else's command is waited for. */
	if (n || needed.n4 || needed.n6)
		err = move(context, NULL, &needed);
	if (change_refuses(err))
		err = move_some(context, at, n, &needed);
	free(at);
	ranges_free(&needed);
	err = err ?: spared;
	return err ? fail("whom the detector bans: %s", reason(err)) : EXIT_DONE;
}

void jail_watch_ran(struct jail_watch *watch, int64_t now, bool done)
{
	watch->runs = false;
	watch->next = now + (done ? EVERY_MS : AGAIN_MS);
}
