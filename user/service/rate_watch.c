// SPDX-License-Identifier: GPL-2.0-only
#include "service/rate_watch.h"

#include <errno.h>

#include "state/settings.h"
#include "kernel/candidate.h"
#include "kernel/live.h"
#include "base/log.h"
#include "filter/measured_rate.h"
#include "state/kept_image.h"
#include "state/state.h"

/* Only what was built or edited since can have become too full. */
void judging_plan(struct judging *j, int64_t now)
{
	struct generation live;

	if (kernel_live(&live) || (live.number == j->number && live.edits == j->edits))
		return;
	j->number = live.number;
	j->edits = live.edits;
	j->at = now > j->next ? now : j->next;
}

void judging_forget(struct judging *j)
{
	j->number = 0;
}

void judging_begin(struct judging *j, int64_t now)
{
	j->at = INT64_MAX;
	j->began = now;
}

/* 1 where a rotation would help, 0 where not, or -errno with the reason recorded. An image stays as it was saved. */
static int rotation_due(struct state *state)
{
	struct settings settings = settings_read(state);
	struct candidate c;
	struct rate rate;
	int err = image_kept(state) ? -ENOENT : kernel_open_live(&c);

	if (err)
		return err_is(err, ENOENT) ? 0 : err;
	rate_measure(&c.g, &rate);
	kernel_release(&c);
	return rate_passed(&rate, rate_asked(&settings));
}

int judging_run(void)
{
	struct state *state = NULL;
	int due = state_open(&state, false);

	if (!due)
		due = rotation_due(state);
	state_close(state);
	return due < 0 ? fail("%s", reason(due)) : due ? EXIT_PASSES : EXIT_DONE;
}

/* A large filter takes its time: a hundredth of ours. */
void judging_end(struct judging *j, int64_t now, bool due)
{
	j->next = now + (due ? ROTATE_AGAIN : (now - j->began) * 100);
}
