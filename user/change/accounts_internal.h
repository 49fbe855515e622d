/* SPDX-License-Identifier: GPL-2.0-only */
/* What accounts.c and stepped_back.c share. */
#ifndef CHANGE_ACCOUNTS_INTERNAL_H
#define CHANGE_ACCOUNTS_INTERNAL_H

#include "change/accounts.h"

/* Reads who the members are, once. */
int accounts_know(struct change *change);
/* NULL: it is the state's, and not a member's; or damaged. */
struct account_held *account_of_id(const struct accounts *accounts, int64_t id);
/* What this machine needs of a prefix, once it was asked for: what it has granted itself by --force, too, as that is
 * its own word, and no member's. NULL: nothing. */
const struct own_address *account_need(const struct accounts *accounts, const struct prefix *prefix);
/* The ban's reason names the member. What has no room is cut. */
void account_in_words(struct ban *ban, const struct account_held *by);
/* What is to be in force of a prefix, by all that is said of it, this machine's own word first. `said` is sorted anew.
 * False: nothing. */
bool account_judge_all(struct accounts *accounts, struct said *said, size_t n, int64_t now, struct ban *is);
/* Puts that into the bans. Only where the rows of the prefix have changed: where there are none, nobody says it any
 * more. */
int account_judge(struct change *change, struct addr first, unsigned int length);
/* The same of every prefix, after what was said before an image came back. */
int account_judge_returned(struct change *change);

#endif
