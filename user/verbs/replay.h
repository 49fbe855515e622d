/* SPDX-License-Identifier: GPL-2.0-only */
/* What replay found, to be printed. */
#ifndef VERBS_REPLAY_H
#define VERBS_REPLAY_H

#include "observe/replay_entries.h"

struct replayed {
	const char *file, *against; /* against: "lists", "image" or "in force" */
	const struct replay *replay;
	const struct explanation *e; /* the lists and their names */
	const struct replay_entry *entries;
	const struct replay_source *const *dropped, *const *passed; /* the busiest */
	size_t entries_n, dropped_n, passed_n;
	unsigned int top; /* so many of each */
	bool cut, traced; /* traced: entries are known */
};

/* A list by its label; NULL where none is known. */
const char *replayed_list(const struct explanation *e, unsigned int label);

/* Both return the exit status. */
int replayed_text(const struct context *context, const struct replayed *r);
int replayed_json(const struct context *context, const struct replayed *r);

#endif
