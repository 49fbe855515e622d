/* SPDX-License-Identifier: GPL-2.0-only */
/* A damaged state: what is wrong with it, and what can be saved of it. */
#ifndef STATE_RECOVER_H
#define STATE_RECOVER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/state_path.h"
#include "state/state.h"

/* Calls `found` with each fault. 0, or -errno where even that cannot be found out; *faults counts them. */
int state_check(const struct context *context, void (*found)(void *arg, const char *fault), void *arg, size_t *faults);

struct recovered {
	size_t lists, interfaces, bans;
	bool whole; /* nothing was lost, as far as one can see */
	bool texts; /* what lists were read from is there, too */
	struct {
		char name[LIST_NAME_MAX], source[256];
	} lost[255]; /* lists of which a part is gone: they are not kept */
	size_t lost_n;
	char kept[STATE_PATH_MAX]; /* where the damaged file is now */
};

/*
 * Reads what can be read of the file into a new state, which takes the place of the one there is; that stays beside it
 * as state.db.damaged. Until the very end nothing is touched. in_force: says which generation is in force (NULL: none);
 * it is asked under the lock, for another command could put a later one into force until then.
 */
int state_recover(const struct context *context, const char *path,
		  unsigned long long (*in_force)(const struct context *), struct recovered *r);

#endif
