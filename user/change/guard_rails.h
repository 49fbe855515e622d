/* SPDX-License-Identifier: GPL-2.0-only */
/* Guard rails: what no list should ban, or let through, and no new version of it should do. --force overrides them. */
#ifndef CHANGE_GUARD_RAILS_H
#define CHANGE_GUARD_RAILS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/log.h"
#include "sets/bogons.h"
#include "sets/list.h"
#include "sets/ranges.h"
#include "state/accepted.h"

enum bogons { BOGONS_LEAVE_OUT, BOGONS_KEEP, BOGONS_REFUSE };

/* found has room for bogon_table_n flags: which of them the set touched. 0, -GUARD_REFUSED or -ENOMEM. */
int guard_apply_bogons(struct ranges *set, enum bogons choice, bool *found);

/* Refused if it includes one of those ranges and more, or is wider than any owner's. */
int guard_prefix(struct addr first, unsigned int length);
/* From the command line: nor a source that is nobody's. */
int guard_typed(struct addr first, unsigned int length);
/* From a program or another machine: nor one that is several's. */
int guard_told(struct addr first, unsigned int length);
/* The same for an exception: refused where it is as wide, outside of those ranges. */
int guard_exception(struct addr first, unsigned int length);

/* All guard rails refuse with this error, and the reason recorded. */
#define GUARD_REFUSED	   EKEYREJECTED
#define guard_because(...) because(-GUARD_REFUSED, __VA_ARGS__)

/*
 * Like guard_prefix() and guard_exception(), for a list, even if its prefixes are split up; and whatever it does to
 * them, it must leave most of the internet. Bogons and reserved ranges do not count, nor do prefixes that the version
 * before had. Of the rest no more than what was granted (0: what the version before had), and a sixteenth, since lists
 * breathe. Without a name it is an image.
 */
int guard_wide(enum list_kind kind, const char *name, const struct ranges *before, const struct ranges *after,
	       struct amounts granted);
/* The last part alone, of a list that bans. */
int guard_much(const char *name, const struct ranges *before, const struct ranges *after);
/* And that by amounts, and by what it is and does ("the image: it bans"): so much it would, and so much it did. */
int guard_share(const char *what, struct amounts granted, struct amounts after);
/* The same of all live bans together, where others than the operator add to them. */
int guard_live(const struct ranges *after);
/* What is allowed by hand must leave most of the internet to the lists, too. */
int guard_allows(const struct ranges *before, const struct ranges *after);
/* How much a set that needs to be let through has of that; 0: it needs not. */
int guard_share_of(const struct ranges *set, struct amounts *share);

/*
 * Refused if more than half of the addresses came or went, or many came of a family of which it had none. What was left
 * out of the version before was in it, and is none that came.
 */
int guard_change(enum list_kind kind, const char *name, const struct ranges *before, struct amounts left,
		 const struct ranges *after);
/* Refused if it has grown too much since yesterday, or since somebody said that it may: in however small steps. */
int guard_growth(const char *name, const struct accepted *accepted, const struct ranges *after);

#endif
