/* SPDX-License-Identifier: GPL-2.0-only */
/* Out again: nothing of ours is left behind in the kernel and in the state directory. */
#ifndef CHANGE_PURGE_H
#define CHANGE_PURGE_H

#include <stdbool.h>

struct context;

/*
 * Takes the filter off all interfaces, and away what is pinned and kept: lists, bans, events, settings. The units of
 * this state are disabled and stopped first; -EBUSY where another service runs, and nothing was changed but that.
 * *stopped: filtering has stopped. What others have put among it stays, and is named in a warning.
 */
int purge(const struct context *context, bool *stopped);

#endif
