// SPDX-License-Identifier: GPL-2.0-only
#include "change/no_room.h"

#include <errno.h>
#include <stdlib.h>

#include "base/close_fd.h"
#include "base/context.h"
#include "base/label.h"
#include "base/lock.h"
#include "base/log.h"
#include "change/agreement.h"
#include "change/ahead.h"
#include "change/attachments.h"
#include "change/guard_needs.h"
#include "change/ports.h"
#include "change/restore.h"
#include "kernel/attach.h"
#include "kernel/live.h"
#include "kernel/root.h"
#include "state/state.h"

/* Those of the state, without what waits: who takes that back would have to write. */
static int kept_and_come(struct state *state, struct attachment **list, size_t *n)
{
	struct interface_info *come = NULL;
	struct attachment *kept = NULL;
	size_t kept_n = 0, come_n = 0;
	int err = attachments_kept(state, &kept, &kept_n) ?: ports_come(state, &come, &come_n);

	*n = 0;
	*list = err ? NULL : calloc(kept_n + come_n + 1, sizeof(**list));
	for (size_t i = 0; i < kept_n && *list; i++)
		if (!kept[i].until)
			(*list)[(*n)++] = kept[i];
	for (size_t i = 0; i < come_n && *list; i++)
		(*list)[(*n)++] = attachment_kept(&come[i]);
	free(kept);
	free(come);
	return err ?: *list ? 0 : -ENOMEM;
}

static bool any_begins(const struct ahead *ahead, const struct attachment *list, size_t n)
{
	char label[LABEL_MAX];

	for (size_t i = 0; i < n; i++)
		if (ahead_begins(ahead, label_of(label, list[i].name, list[i].match)))
			return true;
	return false;
}

/* Nobody can be spared by an exception: of whoever would be, it is said. */
static int ask_for_needs(struct state *state, const struct live *live, const struct restore_options *options)
{
	struct guard guard = { .afresh = true, .spare = options->spare, .tells = options->spare };
	int err = options->force ? 0 : guard_in_force(&guard, state, live);

	guard_free(&guard);
	return err;
}

static int attach_all(const struct ahead *ahead, struct state *state, const struct live *live,
		      const struct restore_options *options, size_t *missing)
{
	struct attachment *list = NULL;
	size_t n = 0;
	int err = kept_and_come(state, &list, &n) ?: kernel_ready(ahead->context);

	if (!err && any_begins(ahead, list, n))
		err = ask_for_needs(state, live, options);
	for (size_t i = 0; i < n && !err; i++)
		*missing += !attachment_restore(ahead->context, &list[i]);
	free(list);
	return err;
}

bool attach_without_room(const struct ahead *ahead, const struct restore_options *options, size_t *missing)
{
	const struct context *context = ahead->context;
	struct context soon = *context;
	enum agreement is = NOTHING_LIVE;
	char path[STATE_PATH_MAX];
	struct state *state = NULL;
	struct live live;
	/* Who detaches at the same time has it. */
	int lock = lock_take(state_path(path, context->state, STATE_LOCK), context->wait);
	int err = lock < 0 ? lock : 0;

	/* Who reads at the same time may keep it from that, where SQLite has no room for its index. */
	soon.wait = 1;
	/* With nothing in force it would filter nothing. */
	err = live_open(&live, context) ?: err ?: state_open(&state, &soon, false);
	if (!err)
		is = agreement(state, &live.g);
	if (is == AGREED || is == BEHIND)
		err = attach_all(ahead, state, &live, options, missing);
	if (err)
		note("without room nothing more is attached: %s", reason(err));
	state_close(state);
	live_close(&live);
	close_fd(lock);
	return !err && is == AGREED;
}
