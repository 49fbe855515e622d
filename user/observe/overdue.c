// SPDX-License-Identifier: GPL-2.0-only
#include "observe/overdue.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "state/state.h"

/* So long the largest sets take. An interface takes no time, and lets everything pass until it has gone back. */
#define TAKES ((int64_t)10000000000)

static int64_t late(const struct pending *one)
{
	if (one->rebooted)
		return INT64_MAX;
	return one->undated ? clock_boot() - one->due : (time(NULL) - one->deadline) * 1000000000;
}

int overdue_trouble(struct state *state, char text[OVERDUE_TEXT_MAX])
{
	struct pending *waiting;
	size_t n;
	int err = state_pending(state, &waiting, &n);

	*text = 0;
	for (size_t i = 0; i < n && !err && !*text; i++)
		if (waiting[i].deadline != PENDING_IN_PROGRESS && !pending_left(&waiting[i], 0) &&
		    (waiting[i].kind == PENDING_INTERFACE || late(&waiting[i]) > TAKES))
			snprintf(text, OVERDUE_TEXT_MAX,
				 "%s was not confirmed in time, and has not gone back: 'xdp-bloom rotate' says why",
				 waiting[i].name);
	free(waiting);
	return err;
}
