/* SPDX-License-Identifier: GPL-2.0-only */
/* A state that was made anew takes the place of the one there is, for who has the lock. */
#ifndef STATE_REPLACE_H
#define STATE_REPLACE_H

#include <stddef.h>

/* It is made in a directory of its own, within the state's. */
#define STATE_WORKSHOP "recovering"

/* `kept`: where the one before is then. */
int state_exchange(char *kept, size_t size);
/* What was begun and not done, by us or by somebody who was killed, is undone: the workshop goes in any case. */
void state_exchange_undo(void);

#endif
