/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is wrong is kept in small files of the state for whoever asks, and whoever fills its disk keeps them from being
 * there. That one could not be written is noted where it takes no room: by mode and date of the lock's file.
 */
#ifndef STATE_UNSHOWN_H
#define STATE_UNSHOWN_H

#include <stdbool.h>
#include <stdint.h>

void unshown_note(const char *directory);
/* When it was so last; 0: not for so long that whatever is still wrong would have been written again. */
int64_t unshown_at(const char *directory, int64_t now);

/* False: there is nothing to say. */
#define UNSHOWN_TEXT_MAX 160
bool unshown_trouble(const char *directory, int64_t now, char text[UNSHOWN_TEXT_MAX]);

#endif
