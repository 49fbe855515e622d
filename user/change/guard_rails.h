/* SPDX-License-Identifier: GPL-2.0-only */
/* Guard rails: what no list should ban, and no new version of it should do. --force overrides them. */
#ifndef CHANGE_GUARD_RAILS_H
#define CHANGE_GUARD_RAILS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/log.h"
#include "sets/ranges.h"

struct live;

enum bogons { BOGONS_LEAVE_OUT, BOGONS_KEEP, BOGONS_REFUSE };

/* Ranges that no packet from outside should have as its source, and whose ban would lock out the local network. */
struct bogon {
	const char *prefix, *what;
};
extern const struct bogon guard_bogons[];
extern const size_t guard_bogons_n;

/* found has room for guard_bogons_n flags: which of them the set touched. 0, -GUARD_REFUSED or -ENOMEM. */
int guard_apply_bogons(struct ranges *set, enum bogons choice, bool *found);

/* A prefix from the command line: refused if it includes one of those ranges and more, or is wider than any owner's. */
int guard_prefix(struct addr first, unsigned int length);

/* Refused if the set bans an address of this machine, a gateway or name server in use, or the peer of the SSH session,
 * unless that was banned already. */
int guard_own(const struct ranges *set, const struct live *live);

/* The same without a set: covering() is like ranges_covering(), who is the subject of the message. */
typedef int guard_covering_fn(const void *arg, struct addr addr);
int guard_own_by(guard_covering_fn *covering, const void *arg, const char *who, const struct live *live);

/* All guard rails refuse with this error, and the reason recorded. */
#define GUARD_REFUSED	   EKEYREJECTED
#define guard_because(...) because(-GUARD_REFUSED, __VA_ARGS__)

/*
 * Like guard_prefix(), for a list, even if its prefixes are split up; and the list must leave most of the internet.
 * Bogons, reserved ranges, and what the version before banned do not count.
 */
int guard_wide(const char *name, const struct ranges *before, const struct ranges *after);

/* Refused if more than half of the addresses came or went, or many came of a family of which it had none. */
int guard_change(const char *name, const struct ranges *before, const struct ranges *after);

#endif
