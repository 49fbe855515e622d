// SPDX-License-Identifier: GPL-2.0-only
#include "change/agreement.h"

#include <errno.h>

#include "base/log.h"
#include "change/revert_timer.h"
#include "state/settings.h"

struct committed committed(struct state *state)
{
	double number = state_setting(state, SETTING_GENERATION, 0);
	__u64 until;

	if (number <= 0 || trial_until(state, &until))
		return (struct committed){ 0 };
	return (struct committed){ (__u64)number, until };
}

/* The state is committed before the kernel's part is written: it may be ahead of the kernel, never behind. */
enum agreement agreement(struct state *state, const struct generation *live)
{
	double number = state_setting(state, SETTING_GENERATION, 0), edits = state_setting(state, SETTING_EDITS, 0);

	if (!live->number)
		return NOTHING_LIVE;
	if ((double)live->number != number)
		return (double)live->number > number ? UNKNOWN : BEHIND;
	return (double)live->edits > edits ? UNKNOWN : (double)live->edits < edits ? BEHIND : AGREED;
}

bool live_is_gone(struct state *state, const struct live *live)
{
	return !live->on_trial && !live_before(live) && state_setting(state, SETTING_GENERATION, 0) > 0;
}

int agreement_known(const struct context *context, struct state *state, const struct generation *live)
{
	if (agreement(state, live) != UNKNOWN)
		return 0;
	return because(-ENODATA,
		       "%s does not know the filter that is in force: the wrong directory, or lost?"
		       " 'xdp-bloom flush' begins again",
		       context->state);
}
