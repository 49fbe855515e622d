// SPDX-License-Identifier: GPL-2.0-only
#include "change/detector.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "change/ends.h"
#include "kernel/detect.h"
#include "state/limits.h"
#include "state/proven.h"
#include "sets/writer.h"
#include "state/kept_image.h"
#include "state/state.h"

struct trusting {
	struct detector *detector;
	int err;
};

static void trust(struct addr first, unsigned int length, void *arg)
{
	struct trusting *t = arg;
	struct detector *d = t->detector;

	if (t->err || !GROW(d->trusted, d->trusted_n)) {
		t->err = -ENOMEM;
		return;
	}
	d->trusted[d->trusted_n++] = (struct trusted){ end_key_of(first, length), 0 };
	if (first.family == 6 && length > 64)
		d->trusts_hosts = true;
}

static int prove(struct detector *detector, struct state *state)
{
	struct proven *proven;
	size_t n;
	int err = state_proven(state, &proven, &n);

	for (size_t i = 0; i < n && !err; i++) {
		unsigned int index = if_nametoindex(proven[i].name);

		if (!index)
			continue; /* the service notices when it comes */
		if (GROW(detector->proven, detector->proven_n))
			detector->proven[detector->proven_n++] = index;
		else
			err = -ENOMEM;
	}
	free(proven);
	return err;
}

static int jail(struct detector *detector, struct state *state)
{
	unsigned int ladder[LADDER_STEPS];
	size_t n;
	int err = state_ladder(state, ladder, &n);

	detector->jail_ns = err ? 0 : ladder[0] * 1000000000ULL;
	return err;
}

static int trusts(struct detector *detector, struct state *state)
{
	struct trusting t = { .detector = detector };
	struct ranges allowed = RANGES_EMPTY;
	struct list_info *lists = NULL;
	size_t n = 0;
	int err = lists_in_force(state, &lists, &n) ?: state_allowed(state, &allowed);

	detector->account = true;
	for (size_t i = 0; i < n && !err; i++)
		if (lists[i].kind != LIST_ALLOW && lists[i].label == LABEL_DETECTOR)
			detector->account = false;
	if (!err) {
		writer_prefixes(&allowed, trust, &t);
		err = t.err;
	}
	ranges_free(&allowed);
	free(lists);
	return err;
}

int detector_fill(struct detector *detector, struct state *state)
{
	detector->limits = state_limits(state);
	return !detector->limits.on ? 0 : trusts(detector, state) ?: prove(detector, state) ?: jail(detector, state);
}

void detector_free(struct detector *detector)
{
	free(detector->trusted);
	free(detector->proven);
}
