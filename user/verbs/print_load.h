/* SPDX-License-Identifier: GPL-2.0-only */
/* What the load verb prints. */
#ifndef VERBS_PRINT_LOAD_H
#define VERBS_PRINT_LOAD_H

#include "sets/ranges.h"
#include "sets/reader.h"
#include "state/state.h"

/* What a load came to. */
struct loaded {
	struct list_info list;
	struct ranges set;
	struct reader_report read;
	bool *bogons_found; /* of each in guard_bogons, whether it was in the list */
	bool dry_run;
	long confirm_seconds; /* 0: it stays */
	/* Beside the list of that name before. */
	bool replaces;
	uint64_t added4, removed4, kept4;
	ip6 added6, removed6, kept6;
};

/* Both return the exit status. */
int loaded_text(const struct loaded *l);
int loaded_json(const struct loaded *l);

#endif
