/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files about bans share. */
#ifndef STATE_BANS_INTERNAL_H
#define STATE_BANS_INTERNAL_H

#include "state/bans.h"
#include "state/internal.h"
#include "state/said.h"

/* Version 1 had no such table, and only a change brings a state to this version. */
bool state_has_bans(const struct state *s);

/* Binding copies, and may fail; the statement would then find nothing. */
int state_bind_addr(const struct state *s, sqlite3_stmt *stmt, int at, struct addr addr);
/* A prefix at 1 to 3: family, length, first address. */
int state_bind_prefix(const struct state *s, sqlite3_stmt *stmt, struct addr first, unsigned int length);
/* The same columns of a row, from 0. -EUCLEAN: it is none. */
int state_read_prefix(struct row *row, struct addr *first, unsigned int *length);

/* The rest of a ban stands there from column `at` on: added, expires, reason, due. */
int state_read_ban_at(const struct state *s, sqlite3_stmt *stmt, int at, struct ban *ban);
/* Runs a statement that writes one: its prefix at 1 to 3, then those four. */
int state_write_ban(struct state *state, sqlite3_stmt *stmt, const struct ban *ban);

/* The next length that bans of a family have, beyond this one; -1: none, -2: an error. */
int state_next_length(struct state *s, int family, int length);

/* One look at both clocks holds for all that a command does with the state: before the two that follow. */
void state_look_at_clocks(struct state *s);
/* As clock_boot(). */
int64_t state_boot_now(const struct state *s);
/* That time by the date as it is now. */
int64_t state_date_of(const struct state *s, int64_t due);

/* Gives each ban that ends a due: once after each start of the machine, and for what an older version has added. */
int state_give_due(struct state *state);
/* The same of what members say; and takes out what has run out by then. */
int state_said_give_due(struct state *state, int64_t date_most);
int state_said_expire(struct state *state, int64_t boot);
int state_said_clear(struct state *state);
/* What they say waits beside an image, or comes back; before ban_before does. */
int state_said_wait(struct state *state);
int state_said_back(struct state *state);
int state_said_back_drop(struct state *state);
/* Before the two: where only one of the two times has members' words of a prefix, this machine's own gets a row. */
int state_said_beside(struct state *state);
/* Beside members' words of a prefix, this machine's own is again what ban_before has. */
struct prefix;
int state_said_own_back(struct state *state, const struct prefix *prefix);

/* What is behind an agent's ban (behind.h), the same; between those two. */
int state_behind_give_due(struct state *state, int64_t date_most);
int state_behind_expire(struct state *state, int64_t boot);
int state_behind_clear(struct state *state);
int state_behind_wait(struct state *state);
int state_behind_back(struct state *state);
int state_behind_back_drop(struct state *state);
/* Beside one ban that waits. */
int state_behind_ban_wait(struct state *state, const struct prefix *prefix);
int state_behind_ban_back(struct state *state, const struct prefix *prefix);
int state_behind_ban_forget(struct state *state, const struct prefix *prefix);
int state_behind_ban_stays(struct state *state, const struct ban *ban);

static inline bool ban_covers(const struct ban *ban, struct addr addr)
{
	return addr.family == ban->first.family &&
	       !((addr.num ^ ban->first.num) & ~addr_mask(addr.family, ban->length));
}

/* A condition: one row of bans or what is said ends later than the other. */
#define ROW_ENDS_LATER(a, b)                                                                                        \
	"(" b ".expires NOT NULL AND (" a ".expires IS NULL OR CASE WHEN " a ".due NOT NULL AND " b ".due NOT NULL" \
	" THEN " a ".due > " b ".due ELSE " a ".expires > " b ".expires END))"
/* Does the column of that name decide? Not after a reboot, before some command has changed something. */
bool state_ends_by_due(struct state *state);

#endif
