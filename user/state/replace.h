/* SPDX-License-Identifier: GPL-2.0-only */
/* A new state replaces the current one. The caller holds the lock. */
#ifndef STATE_REPLACE_H
#define STATE_REPLACE_H

#include "base/state_path.h"

/* The new one was made in STATE_WORKSHOP, within the state's directory. `kept`: where the old one is afterwards. */
int state_exchange(const char *directory, char kept[STATE_PATH_MAX]);
/* Undoes an exchange that was cut short, ours or a killed command's, and removes the workshop. */
void state_exchange_undo(const char *directory);

#endif
