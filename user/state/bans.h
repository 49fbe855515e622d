/* SPDX-License-Identifier: GPL-2.0-only */
/* Live bans in the state: single prefixes, each with its time and its reason. */
#ifndef STATE_BANS_H
#define STATE_BANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sets/ranges.h"

/* The name of live bans where lists have one; no list is loaded under it. */
#define LIVE_LIST      "live"
#define BAN_REASON_MAX 128
/* How the reasons of those begin that nobody has typed. */
#define BAN_BY_DETECTOR "detector: "
#define BAN_BY_CROWDSEC "crowdsec "

struct state;

struct ban {
	struct addr first;
	unsigned int length;
	int64_t added, expires; /* seconds since the epoch; expires 0: never */
	int64_t due;		/* its end by clock_boot(), which decides; 0: never, or only the date is known */
	bool over;		/* due has passed */
	char reason[BAN_REASON_MAX];
};

static inline bool ban_in_force(const struct ban *ban, int64_t now)
{
	return ban->due && now ? !ban->over : !ban->expires || ban->expires > now;
}

/* An agent's: it ends when the agent takes its word back. */
static inline bool ban_is_agents(const struct ban *ban)
{
	return !strncmp(ban->reason, BAN_BY_CROWDSEC, sizeof(BAN_BY_CROWDSEC) - 1);
}

static inline bool ban_is_detectors(const struct ban *ban)
{
	return !strncmp(ban->reason, BAN_BY_DETECTOR, sizeof(BAN_BY_DETECTOR) - 1);
}

/* By the clock that decides, where both have it. */
static inline bool ban_ends_later(const struct ban *a, const struct ban *b)
{
	if (!a->expires || !b->expires)
		return !a->expires && b->expires;
	return a->due && b->due ? a->due > b->due : a->expires > b->expires;
}

/* Adds it, unless there is one of that prefix: *added says which. */
int state_ban_new(struct state *state, const struct ban *ban, bool *added);
/* Adds it, or renews its time and reason: *renewed says which. */
int state_ban_put(struct state *state, const struct ban *ban, bool *renewed);
/* The ban of exactly this prefix; -ENOENT where there is none. */
int state_ban_get(struct state *state, struct addr first, unsigned int length, struct ban *ban);
int state_ban_drop(struct state *state, struct addr first, unsigned int length);
/* Where a change of the ban of that prefix waits for confirmation, this one stays whatever becomes of it. */
int state_ban_stays(struct state *state, const struct ban *ban);
/* The widest ban in force that holds this prefix whole and is wider; -ENOENT where there is none. */
int state_ban_around(struct state *state, struct addr first, unsigned int length, int64_t now, struct ban *ban);
/*
 * Do others hold that prefix until this ban's end at least, whatever becomes of what waits? So does one of exactly this
 * prefix that the detector has made, whatever its end. 1, 0 or -errno.
 */
int state_ban_held(struct state *state, const struct ban *ban, int64_t now);

/* All that are kept, IPv4 first, the widest first; free() the array. Expired ones are still among them. */
int state_bans(struct state *state, struct ban **bans, size_t *n);
/* The next ones behind that prefix, by family, length and address, at most so many; free() the array. */
int state_bans_page(struct state *state, const struct ban *behind, unsigned int most, struct ban **bans, size_t *n);
/* The addresses banned at that time; with `within`, at least those of bans that touch it. */
int state_bans_set(struct state *state, int64_t now, const struct ranges *within, struct ranges *set);

/* The same, apart: those that go on, and those that end. */
int state_bans_sets(struct state *state, int64_t now, const struct ranges *within, struct ranges *lasting,
		    struct ranges *ending);
/* The addresses of those of a family that are wider than that. */
int state_bans_wider(struct state *state, int64_t now, int family, unsigned int length, struct ranges *set);
/* Bans in force that end, in the order of state_bans(); with `within`, at least those that touch it. */
int state_bans_ending(struct state *state, int64_t now, const struct ranges *within, struct ban **bans, size_t *n);
/* Are any kept? */
bool state_bans_ending_any(struct state *state);
/* Are at most so many kept? Not one is counted where there are no more bans. */
bool state_bans_ending_fit(struct state *state, size_t most);

/* Takes out the bans that have run out, and returns them; free() the array in any case. After a reboot it gives all
 * others a due.
 */
int state_bans_expire(struct state *state, int64_t now, struct ban **bans, size_t *n);
/* How many are in force. */
int state_bans_count(struct state *state, int64_t now, uint64_t *n);
/*
 * Has a version that knows no fleet changed something since the last of ours did? Then what members say may not be what
 * is in force. state_bans_agree() says that it is again; before that no commit does.
 */
bool state_stepped_back(const struct state *state);
void state_bans_agree(struct state *state);
/* When the next one runs out, by the date as it is now; or 0. */
int64_t state_bans_next(struct state *state);
/* At most `most` in force: the next to end first, behind them those without an end. free() the array. */
int state_bans_first(struct state *state, int64_t now, unsigned int most, struct ban **bans, size_t *n);
/* False where there is none; otherwise how long it has, ns. */
bool state_bans_next_left(struct state *state, int64_t *left);
int state_bans_clear(struct state *state);
bool state_bans_any(struct state *state);

#endif
