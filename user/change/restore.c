// SPDX-License-Identifier: GPL-2.0-only
#include "change/restore.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "base/log.h"
#include "change/change.h"
#include "change/revert_timer.h"
#include "kernel/attach.h"
#include "kernel/root.h"

/* An interface that is not there is no reason to leave the others open. */
static int restore_interfaces(struct change *change, size_t *missing)
{
	struct interface_info *kept;
	size_t n;
	int err = state_interfaces(change->state, &kept, &n), status;

	for (size_t i = 0; i < n && !err; i++) {
		struct attachment at = { .shared = kept[i].shared };

		snprintf(at.name, sizeof(at.name), "%s", kept[i].name);
		while (at.mode < MODE_SKB && strcmp(attach_mode_names[at.mode], kept[i].mode))
			at.mode++;
		status = attach_one(change->context, &at);
		if (!status || err_is(status, EEXIST))
			continue;
		*missing += 1;
		fail("%s; the rest is restored", reason(status));
	}
	free(kept);
	return err;
}

static int restore_watch(const struct change *change)
{
	struct pending *pending;
	size_t n;
	int err = state_pending(change->state, &pending, &n);

	/* A service sees to it, and may restore again and again. */
	if (!err && n && !lock_is_held(change->context->state, LOCK_SERVICE))
		err = revert_timer_start(change->context, 1);
	free(pending);
	return err;
}

int restore(struct context *context, size_t *missing)
{
	struct change *change = NULL;
	int err = change_begin(&change, context);

	if (!err)
		err = kernel_base(context);
	/* The filter first, so that no interface is up with an empty one. */
	if (!err)
		err = apply_if_needed(change->state, &change->live);
	/* Whoever watched what waits for confirmation is gone. */
	if (!err)
		err = restore_watch(change);
	if (!err)
		err = restore_interfaces(change, missing);
	change_end(change);
	return err;
}
