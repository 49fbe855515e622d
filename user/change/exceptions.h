/* SPDX-License-Identifier: GPL-2.0-only */
/* Live exceptions: an allow list of their own, which `allow` and `disallow` change. */
#ifndef CHANGE_EXCEPTIONS_H
#define CHANGE_EXCEPTIONS_H

#include "sets/ranges.h"

struct list_info;
struct state;

/* A name that no user's list can have. */
#define EXCEPTIONS "(allow)"

/* All lists are looked at: one whose name is damaged may be this. */
int exceptions_get(struct state *state, struct ranges *set);
int exceptions_put(struct state *state, const struct ranges *set);
/* For good: also where what there is waits for confirmation. */
int exceptions_add(struct state *state, struct addr addr);

/* A list that no file was read for; an empty one is dropped. */
int live_list_put(struct state *state, struct list_info *list, const struct ranges *set);

#endif
