/* SPDX-License-Identifier: GPL-2.0-only */
/* Live bans with a scope: those of each have a list of their own, which `add` and `del` change. */
#ifndef CHANGE_LIVE_SCOPES_H
#define CHANGE_LIVE_SCOPES_H

#include "sets/list.h"
#include "sets/prefixes.h"

struct change;

/* No user's list has such a name: "(tcp-22)". */
static inline bool live_scope_is(const struct list_info *list)
{
	return list->name[0] == '(' && list->scope[0];
}

/* *added: how many of them were not in it, whole; with none of these nothing is to be built. */
int live_scopes_add(struct change *change, const struct scope *scope, const struct prefixes *prefixes, long confirm,
		    size_t *added);
/* Out of that one, or out of all where it is NULL, whole or in part. *from: out of how many of them. */
int live_scopes_del(struct change *change, const struct scope *scope, const struct prefix *prefix, size_t *from);

#endif
