/* SPDX-License-Identifier: GPL-2.0-only */
/* What members of a fleet say, and waits until this machine needs it no more (change/accounts.h). */
#ifndef CHANGE_WAITING_H
#define CHANGE_WAITING_H

#include "change/own_addresses.h"
#include "sets/prefixes.h"
#include "state/members.h"

struct waiting {
	struct prefix prefix;
	char member[MEMBER_NAME_MAX];
	char need[2 * PREFIX_TEXT_MAX + OWN_TEXT_MAX]; /* "45.9.9.0/24 bans 45.9.9.9, ..."; "": it is needed no more */
};

/* free() the array. 0 or -errno with the reason recorded. */
int waiting_read(struct state *state, struct waiting **waiting, size_t *n);

#endif
