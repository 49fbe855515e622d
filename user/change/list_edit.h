/* SPDX-License-Identifier: GPL-2.0-only */
/* Small changes of a list that bans, put into force by editing arrays in place where that is exact. */
#ifndef CHANGE_LIST_EDIT_H
#define CHANGE_LIST_EDIT_H

#include <stdbool.h>

struct change;
struct list_info;
struct ranges;

/*
 * After state_list_put(), with what has come and gone by it; nothing that came is what this machine needs. 0: it is
 * committed and in force. -EAGAIN: it takes a new generation, and nothing was done; *full: because there is no room for
 * so many keys. Other errors: likewise nothing.
 */
int list_edit(struct change *change, const struct list_info *list, const struct ranges *came, const struct ranges *gone,
	      bool *full);

#endif
