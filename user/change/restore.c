// SPDX-License-Identifier: GPL-2.0-only
#include "change/restore.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "base/log.h"
#include "change/revert_timer.h"
#include "kernel/attach.h"
#include "kernel/root.h"

/* A missing interface is no reason to leave the others unfiltered. */
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

	/* The service has its own timer. */
	if (!err && n && !lock_is_held(change->context->state, STATE_SERVICE_LOCK))
		err = revert_timer_start(change->context, 1);
	free(pending);
	return err;
}

int restore(struct context *context, size_t *missing)
{
	struct change *change = NULL;
	/* The filter before the interfaces, so that none runs with an empty one. */
	int err = change_begin(&change, context) ?:
		  kernel_base(context) ?:
		  apply_if_needed(change->state, &change->live) ?:
		  restore_watch(change) ?:
		  restore_interfaces(change, missing);

	change_end(change);
	return err;
}
