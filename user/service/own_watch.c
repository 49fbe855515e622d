// SPDX-License-Identifier: GPL-2.0-only
#include "service/own_watch.h"

#include "base/log.h"

/* What is for an address that is not known yet counts as asked for, and what is for one that has gone does, too:
   another machine may have it now, behind a bridge. */
#define EVERY_MS 2000

void own_watch_turn(struct own_watch *watch, const struct context *context, int64_t now)
{
	int err;

	if (now < watch->next)
		return;
	watch->next = now + EVERY_MS;
	err = detector_follow(context, &watch->limits, &watch->told);
	if (err)
		note("the detector does not know this machine's addresses: %s", reason(err));
}

void own_watch_end(struct own_watch *watch)
{
	own_told_free(&watch->told);
}
