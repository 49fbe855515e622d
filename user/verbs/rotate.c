// SPDX-License-Identifier: GPL-2.0-only
/* rotate, flush, restore */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "change/apply.h"
#include "kernel/attach.h"
#include "change/change.h"
#include "change/revert_timer.h"
#include "state/kept_image.h"
#include "kernel/root.h"
#include "base/context.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/out.h"
#include "verbs/answer.h"
#include "state/state.h"
#include "state/bans.h"
#include "verbs/verbs.h"

int verb_rotate(const struct call *call)
{
	struct change *change = NULL;
	int err;

	(void)call;
	err = change_begin(&change, call->context);
	if (!err)
		err = change_commit(change, &(struct apply_options){ 0 });
	change_end(change);
	return err ? fail("%s; the generation before is still in force", reason(err)) : out_done();
}

int verb_flush(const struct call *call)
{
	struct list_info *lists = NULL;
	struct change *change = NULL;
	uint64_t image = 0;
	size_t n = 0;
	int err;

	(void)call;
	err = change_begin(&change, call->context);
	if (!err)
		err = state_lists(change->state, &lists, &n);
	for (size_t i = 0; i < n && !err; i++)
		err = state_list_drop(change->state, lists[i].name);
	if (!err) {
		image = image_kept(change->state);
		err = image_leave(change->state);
	}
	if (!err)
		err = state_bans_clear(change->state);
	for (size_t i = 0; i < n && !err; i++)
		change_zero(change, lists[i].label);
	for (unsigned int label = 0; label < LABELS && !err; label++)
		if (image || label == LABEL_LIVE)
			change_zero(change, (uint8_t)label);
	if (!err)
		err = change_commit(change, &(struct apply_options){ .discard_unknown = true });
	free(lists);
	change_end(change);
	return err ? fail("%s; nothing was flushed", reason(err)) : out_done();
}

/* An interface that is not there is no reason to leave the others open. */
static int restore_interfaces(struct state *state, size_t *missing)
{
	struct interface_info *kept;
	size_t n;
	int err = state_interfaces(state, &kept, &n), status;

	for (size_t i = 0; i < n && !err; i++) {
		struct attachment at = { .shared = kept[i].shared };

		snprintf(at.name, sizeof(at.name), "%s", kept[i].name);
		while (at.mode < MODE_SKB && strcmp(attach_mode_names[at.mode], kept[i].mode))
			at.mode++;
		status = attach_one(context_ambient(), &at);
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

int verb_restore(const struct call *call)
{
	struct change *change = NULL;
	size_t missing = 0;
	int err;

	(void)call;
	err = change_begin(&change, call->context);
	if (!err)
		err = kernel_base(call->context);
	/* The filter first, so that no interface is up with an empty one. */
	if (!err)
		err = apply_if_needed(change->state, &change->live);
	/* Whoever watched what waits for confirmation is gone. */
	if (!err)
		err = restore_watch(change);
	if (!err)
		err = restore_interfaces(change->state, &missing);
	change_end(change);
	if (err)
		return fail("%s", reason(err));
	return out_done() ?: missing ? EXIT_MISSING : EXIT_DONE;
}
