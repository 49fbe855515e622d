// SPDX-License-Identifier: GPL-2.0-only
/* rotate, flush, restore */
#include "change/apply.h"
#include "change/change.h"
#include "change/feed_row.h"
#include "change/restore.h"
#include "state/bans.h"
#include "state/failed.h"
#include "state/kept_image.h"
#include "state/state.h"
#include "verbs/verbs.h"

const struct option_spec rotate_options[] = {
	FORCE_OPTION(force_options),
	OPTIONS_END(struct force_options),
};

int verb_rotate(const struct call *call)
{
	const struct force_options *o = call->options;
	struct change *change = NULL;
	int err = change_begin(&change, call->context);

	if (!err && o->force)
		err = change_force(change, NULL);
	if (!err)
		err = change_commit(change, &(struct apply_options){ .again = true });
	change_end(change);
	if (!err)
		jail_spare_alone(call->context);
	return err ? fail("%s; the generation before is still in force", reason(err)) : out_done(call->context);
}

int verb_flush(const struct call *call)
{
	struct list_failure *failed = NULL;
	struct list_info *lists = NULL;
	struct change *change = NULL;
	size_t n = 0, failed_n = 0;
	uint64_t image = 0;
	int err = change_begin(&change, call->context);

	if (!err)
		err = state_lists(change->state, &lists, &n);
	list_failures(call->context, &failed, &failed_n);
	for (size_t i = 0; i < n && !err; i++)
		err = state_list_drop(change->state, lists[i].name);
	err = err ?: feed_rows_drop(change, 0);
	if (!err)
		err = state_pending_flush(change->state);
	if (!err) {
		image = image_kept(change->state);
		err = image_leave(change->state);
	}
	if (!err)
		err = state_bans_clear(change->state) ?:
		      jail_let_go(change, (struct addr){ 0, 4 }, 0) ?: jail_let_go(change, (struct addr){ 0, 6 }, 0);
	for (size_t i = 0; i < n && !err; i++)
		change_zero(change, lists[i].label);
	for (unsigned int label = 0; label < LABELS && !err; label++)
		if (image || label == LABEL_LIVE)
			change_zero(change, (uint8_t)label);
	if (!err)
		err = change_commit(change, &(struct apply_options){ .discard_unknown = true });
	free(lists);
	for (size_t i = 0; i < failed_n && !err; i++)
		change_succeeded(change, failed[i].list);
	free(failed);
	change_end(change);
	return err ? fail("%s; nothing was flushed", reason(err)) : out_done(call->context);
}

const struct option_spec restore_options[] = {
	{ "spare", AT(restore_options, spare), .does = "what this machine needs is allowed, not refused" },
	FORCE_OPTION(restore_options),
	OPTIONS_END(struct restore_options),
};

int verb_restore(const struct call *call)
{
	size_t missing = 0;
	int err = restore(call->context, call->options, &missing);

	if (!err)
		jail_spare_alone(call->context);
	return err ? fail("%s", reason(err)) : out_done(call->context) ?: missing ? EXIT_MISSING : EXIT_DONE;
}
