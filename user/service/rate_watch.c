// SPDX-License-Identifier: GPL-2.0-only
#include "service/rate_watch.h"

#include <errno.h>

#include "state/settings.h"
#include "kernel/generation.h"
#include "kernel/live.h"
#include "base/log.h"
#include "filter/measured_rate.h"
#include "state/kept_image.h"
#include "state/state.h"

/* Only a filter that was built or edited since can have become too full. */
void rate_watch_schedule(struct rate_watch *w, const struct context *context, int64_t now)
{
	struct generation live;

	if (kernel_live(context, &live) || (live.number == w->number && live.edits == w->edits))
		return;
	w->number = live.number;
	w->edits = live.edits;
	w->at = now > w->next ? now : w->next;
}

void rate_watch_begin(struct rate_watch *w, int64_t now)
{
	w->at = INT64_MAX;
	w->began = now;
}

/* 1 if a rotation would help, 0 if not, or -errno with the reason recorded. An image is never rotated. */
static int rotation_due(const struct context *context, struct state *state)
{
	struct settings settings = settings_read(state);
	struct candidate c;
	struct rate rate;
	double asked;
	int err = image_kept(state) ? -ENOENT : kernel_open_live(context, &c);

	if (err)
		return err_is(err, ENOENT) ? 0 : err;
	rate_measure(&c.g, &rate);
	asked = rate_asked(&settings, &c.g);
	kernel_release(&c);
	return rate_passed(&rate, asked);
}

int rate_watch_run(const struct context *context, void *unused)
{
	struct state *state = NULL;
	int due = state_open(&state, context, false);

	(void)unused;
	if (!due)
		due = rotation_due(context, state);
	state_close(state);
	return due < 0 ? fail("%s", reason(due)) : due ? EXIT_PASSES : EXIT_DONE;
}

/* Measuring a large filter takes long: spend at most a hundredth of the time on it. */
void rate_watch_end(struct rate_watch *w, int64_t now, bool due)
{
	w->next = now + (due ? ROTATE_AGAIN : (now - w->began) * 100);
}
