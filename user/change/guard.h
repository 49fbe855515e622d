/* SPDX-License-Identifier: GPL-2.0-only */
/* Guard rails: what no list should ban, and no new version should do. They refuse; the verb offers --force. */
#ifndef CHANGE_GUARD_H
#define CHANGE_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/log.h"
#include "sets/ranges.h"

struct live;

enum bogons { BOGONS_LEAVE_OUT, BOGONS_KEEP, BOGONS_REFUSE };

/* Ranges that no packet from outside should carry as its source, and whose ban shuts out one's own. */
struct bogon {
	const char *prefix, *what;
};
extern const struct bogon guard_bogons[];
extern const size_t guard_bogons_n;

/*
 * Applies the choice to the set. found has room for guard_bogons_n flags: which of them the set touched. Returns 0, or
 * -GUARD_REFUSED with the reason recorded (refuse), or -ENOMEM.
 */
int guard_apply_bogons(struct ranges *set, enum bogons choice, bool *found);

/*
 * One prefix that somebody named: -GUARD_REFUSED with the reason recorded when it is so wide that it takes in addresses
 * of those ranges without being one of them, or more of the internet than any attacker has.
 */
int guard_prefix(struct addr first, unsigned int length);

/*
 * -GUARD_REFUSED with the reason recorded when the set bans an address of this machine, a gateway or name server in
 * use, or the peer of the SSH session, and it was not banned already.
 */
int guard_own(const struct ranges *set, const struct live *live);

/* Likewise for what is no set: covering is ranges_covering() for it, and who is what the reason calls it. */
typedef int guard_covering_fn(const void *arg, struct addr addr);
int guard_own_by(guard_covering_fn *covering, const void *arg, const char *who, const struct live *live);

/* How they all refuse; no other error is of this kind. */
#define GUARD_REFUSED	   EKEYREJECTED
#define guard_because(...) because(-GUARD_REFUSED, __VA_ARGS__)

/*
 * What guard_prefix() says of one prefix, of a list, however it is cut up; and all of it together must leave most of
 * the internet. Bogons and what is reserved do not count, nor what it banned in the version before.
 */
int guard_wide(const char *name, const struct ranges *before, const struct ranges *after);

/* -GUARD_REFUSED with the reason recorded when more than half of the addresses came or went, or many of a family of
 * which it had none. */
int guard_change(const char *name, const struct ranges *before, const struct ranges *after);

#endif
