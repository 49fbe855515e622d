/* SPDX-License-Identifier: GPL-2.0-only */
/* A damaged state: what is wrong with it, and what can be saved of it. */
#ifndef STATE_RECOVER_H
#define STATE_RECOVER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/state_path.h"
#include "state/state.h"

/* Calls `found` with each fault; *faults counts them. -errno if the state cannot be checked at all. */
int state_check(const struct context *context, void (*found)(void *arg, const char *fault), void *arg, size_t *faults);

struct recovered {
	size_t lists, interfaces, bans;
	bool whole; /* nothing was lost, as far as can be seen */
	bool texts; /* the text of each list's file was kept, too */
	struct {
		char name[LIST_NAME_MAX], source[256];
	} lost[255]; /* lists that were not kept, as a part of them is gone */
	size_t lost_n;
	char kept[STATE_PATH_MAX]; /* where the damaged file is now */
};

/*
 * Reads what can be read of the file into a new state, which replaces the current one at the very end; the old file
 * stays as state.db.damaged. in_force returns the generation in force (NULL: none). It is called under the lock, as
 * another command could put a later one into force before that.
 */
int state_recover(const struct context *context, const char *path,
		  unsigned long long (*in_force)(const struct context *), struct recovered *r);

#endif
