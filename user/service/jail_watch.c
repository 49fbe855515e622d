// SPDX-License-Identifier: GPL-2.0-only
#include "service/jail_watch.h"

#include "base/context.h"
#include "base/log.h"
#include "change/change.h"
#include "kernel/detect.h"

/* The other half of the second is for the job. */
#define EVERY_MS 500
#define AGAIN_MS 5000 /* after a failure */

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

	if (now < jail_watch_at(watch))
		return false;
	watch->next = now + EVERY_MS;
	if (kernel_seen(context, &seen))
		return false;
	watch->runs = seen_banned_n(&seen);
	seen_free(&seen);
	return watch->runs;
}

int jail_watch_run(const struct context *context, void *unused)
{
	struct context own = *context;
	struct change *change;
	int err = change_begin(&change, &own);

	(void)unused;
	err = err ?: jail_move(change) ?: change_commit(change, NULL);
	change_end(change);
	return err ? fail("whom the detector bans: %s", reason(err)) : EXIT_DONE;
}

void jail_watch_ran(struct jail_watch *watch, int64_t now, bool done)
{
	watch->runs = false;
	watch->next = now + (done ? EVERY_MS : AGAIN_MS);
}
