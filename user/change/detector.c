// SPDX-License-Identifier: GPL-2.0-only
#include "change/detector.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "change/ends.h"
#include "kernel/detect.h"
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

int detector_trusts(struct detector *detector, struct state *state)
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
