/* SPDX-License-Identifier: GPL-2.0-only */
/* A new state takes the place of the one there is. The caller has the lock. */
#ifndef STATE_REPLACE_H
#define STATE_REPLACE_H

#include "base/state_path.h"

/* The new one was made in STATE_WORKSHOP, within the state's directory. `kept`: where the one before is then. */
int state_exchange(const char *directory, char kept[STATE_PATH_MAX]);
/* Undoes what was begun and not done, by us or by a command that was killed; the workshop goes in any case. */
void state_exchange_undo(const char *directory);

#endif
