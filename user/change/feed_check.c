// SPDX-License-Identifier: GPL-2.0-only
#include "change/feed_check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "state/state.h"

/* No list is called so by anybody who loads one. */
#define CHECKED_LIST "feeds.check"

/* Takes away what the ban lists hold that are in force. */
static int leave_new(struct state *state, struct ranges *left)
{
	struct list_info *lists = NULL;
	size_t n;
	int err = state_lists(state, &lists, &n);

	for (size_t i = 0; i < n && !err; i++) {
		struct ranges held = RANGES_EMPTY, rest = RANGES_EMPTY;

		if (lists[i].kind != LIST_BAN)
			continue;
		err = state_list_set(state, lists[i].name, &held) ?: ranges_subtract(&rest, left, &held);
		if (!err) {
			ranges_free(left);
			*left = rest;
		}
		ranges_free(&held);
	}
	free(lists);
	return err;
}

static int compare(const struct context *context, struct feed_checked *c)
{
	struct ranges nothing = RANGES_EMPTY, left = RANGES_EMPTY;
	struct state *state = NULL;
	int err = ranges_union(&left, &c->loaded.set, &nothing) ?: state_open(&state, context, false);

	err = err ?: leave_new(state, &left);
	c->in_force = !err;
	c->new4 = ranges_count4(&left);
	c->new6 = ranges_count6(&left);
	ranges_free(&left);
	state_close(state);
	return err;
}

int feed_check(struct context *context, const struct load_options *options, const char *from,
	       struct feed_checked *checked)
{
	struct load_options dry = *options;
	int err;

	*checked = (struct feed_checked){ 0 };
	if (*from != '@' && !feed_is_url(from))
		return because(-EINVAL, "'%.100s': a URL, or @FEED", from);
	dry.dry_run = true;
	err = load_list(context, &dry, CHECKED_LIST, from, &checked->loaded);
	/* The reason of the check stays the one that is recorded last. */
	if (checked->loaded.set.n4 || checked->loaded.set.n6) {
		char why[512];

		snprintf(why, sizeof(why), "%s", err ? reason(err) : "");
		compare(context, checked);
		if (err)
			err = because(err, "%s", why);
	}
	return err;
}
