// SPDX-License-Identifier: GPL-2.0-only
/* Live bans, one row each. The key has the length before the address: one look a length in use finds what covers a
 * prefix. */
#include "state/bans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean_text.h"
#include "base/clock.h"
#include "base/log.h"
#include "state/internal.h"

/* For more ranges than that, one pass over all bans is faster. */
#define WITHIN_MAX 256

#define BAN_COLUMNS "family, length, first, added, expires, reason"

/* Version 1 had no such table, and only a change brings a state to this version. */
static bool has_bans(const struct state *s)
{
	return s->db && s->version >= 2;
}

/* Binding copies, and may fail; the statement would then find nothing. */
static int bind_addr(const struct state *s, sqlite3_stmt *stmt, int at, struct addr addr)
{
	unsigned char bytes[16];
	int n = addr.family == 4 ? 4 : 16;

	for (int i = 0; i < n; i++)
		bytes[i] = (unsigned char)(addr.num >> 8 * (n - 1 - i));
	return sqlite3_bind_blob(stmt, at, bytes, n, SQLITE_TRANSIENT) == SQLITE_OK ? 0 : because_sqlite(s, "a ban");
}

static int bind_prefix(const struct state *s, sqlite3_stmt *stmt, struct addr first, unsigned int length)
{
	if (!stmt)
		return because_sqlite(s, "a ban");
	sqlite3_bind_int(stmt, 1, first.family);
	sqlite3_bind_int(stmt, 2, (int)length);
	return bind_addr(s, stmt, 3, first);
}

int state_read_ban(const struct state *s, sqlite3_stmt *stmt, void *entry)
{
	struct row row = { .stmt = stmt };
	const unsigned char *bytes = sqlite3_column_blob(stmt, 2);
	int n = sqlite3_column_bytes(stmt, 2);
	struct ban *ban = entry;

	memset(ban, 0, sizeof(*ban));
	ban->first.family = (int)row_number(&row, 0, 4, 6);
	ban->length = (unsigned int)row_number(&row, 1, 0, addr_width(ban->first.family == 6 ? 6 : 4));
	ban->added = row_time(&row, 3);
	/* A ban without an end has NULL. */
	if (sqlite3_column_type(stmt, 4) != SQLITE_NULL)
		ban->expires = row_number(&row, 4, 1, TIME_MOST);
	row_text(&row, 5, ban->reason, sizeof(ban->reason));
	clean_text(ban->reason);
	if (err_is(row.err, ENOMEM))
		return row.err;
	for (int i = 0; i < n && i < 16 && bytes; i++)
		ban->first.num = ban->first.num << 8 | bytes[i];
	if (row.err || ban->first.family == 5 || sqlite3_column_type(stmt, 2) != SQLITE_BLOB ||
	    n != (ban->first.family == 4 ? 4 : 16) || ban->first.num & addr_mask(ban->first.family, ban->length))
		return because(-EUCLEAN, "%s: a ban is damaged; see 'xdp-bloom state recover'", s->directory);
	return 0;
}

int state_ban_get(struct state *state, struct addr first, unsigned int length, struct ban *ban)
{
	sqlite3_stmt *stmt;
	int code, err;

	if (!has_bans(state))
		return -ENOENT;
	stmt = state_cached(state, CACHED_BAN_GET,
			    "SELECT " BAN_COLUMNS " FROM ban WHERE family = ? AND length = ? AND first = ?");
	err = bind_prefix(state, stmt, first, length);
	if (err)
		return err;
	code = sqlite3_step(stmt);
	if (code == SQLITE_ROW)
		err = state_read_ban(state, stmt, ban);
	else
		err = code == SQLITE_DONE ? -ENOENT : because_sqlite(state, "reading");
	sqlite3_reset(stmt);
	return err;
}

static int write_ban(struct state *state, sqlite3_stmt *stmt, const struct ban *ban)
{
	int err = bind_prefix(state, stmt, ban->first, ban->length);

	if (err)
		return err;
	sqlite3_bind_int64(stmt, 4, ban->added);
	sqlite3_bind_null(stmt, 5);
	if (ban->expires)
		sqlite3_bind_int64(stmt, 5, ban->expires);
	state_bind_text(stmt, 6, ban->reason);
	err = sqlite3_step(stmt) == SQLITE_DONE ? 0 : because_sqlite(state, "writing");
	sqlite3_reset(stmt);
	return err;
}

/* Most bans are new: one statement is enough for them. */
int state_ban_new(struct state *state, const struct ban *ban, bool *added)
{
	int err = write_ban(state,
			    state_cached(state, CACHED_BAN_NEW,
					 "INSERT OR IGNORE INTO ban (" BAN_COLUMNS ") VALUES (?, ?, ?, ?, ?, ?)"),
			    ban);

	*added = !err && sqlite3_changes(state->db);
	return err;
}

int state_ban_put(struct state *state, const struct ban *ban, bool *renewed)
{
	bool added;
	int err = state_ban_new(state, ban, &added);

	*renewed = !err && !added;
	if (err || !*renewed)
		return err;
	return write_ban(state,
			 state_cached(state, CACHED_BAN_PUT,
				      "INSERT OR REPLACE INTO ban (" BAN_COLUMNS ") VALUES (?, ?, ?, ?, ?, ?)"),
			 ban);
}

int state_ban_statement(struct state *s, const char *sql, struct addr first, unsigned int length)
{
	sqlite3_stmt *stmt = state_prepare(s, sql);
	int err = bind_prefix(s, stmt, first, length);

	if (err) {
		sqlite3_finalize(stmt);
		return err;
	}
	return state_finish(s, stmt, sqlite3_step(stmt));
}

int state_ban_drop(struct state *state, struct addr first, unsigned int length)
{
	sqlite3_stmt *stmt =
		state_cached(state, CACHED_BAN_DROP, "DELETE FROM ban WHERE family = ? AND length = ? AND first = ?");
	int err = bind_prefix(state, stmt, first, length);

	if (err)
		return err;
	err = sqlite3_step(stmt) == SQLITE_DONE ? 0 : because_sqlite(state, "writing");
	sqlite3_reset(stmt);
	return err ?: sqlite3_changes(state->db) ? 0 : -ENOENT;
}

/* The next length that bans of a family have, beyond this one; -1: none, -2: an error. */
static int next_length(struct state *s, int family, int length)
{
	sqlite3_stmt *stmt =
		state_cached(s, CACHED_BAN_LENGTH, "SELECT min(length) FROM ban WHERE family = ? AND length > ?");
	int next = -2;

	if (!stmt)
		return next;
	sqlite3_bind_int(stmt, 1, family);
	sqlite3_bind_int(stmt, 2, length);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		next = sqlite3_column_type(stmt, 0) == SQLITE_NULL ? -1 : sqlite3_column_int(stmt, 0);
	sqlite3_reset(stmt);
	return next;
}

int state_ban_around(struct state *state, struct addr first, unsigned int length, int64_t now, struct ban *ban)
{
	int at = -1;

	while (has_bans(state) && (at = next_length(state, first.family, at)) >= 0 && (unsigned int)at < length) {
		struct addr wider = { first.num & ~addr_mask(first.family, (unsigned int)at), first.family };
		int err = state_ban_get(state, wider, (unsigned int)at, ban);

		if (!err && ban_in_force(ban, now))
			return 0;
		if (err && !err_is(err, ENOENT))
			return err;
	}
	return at == -2 ? because_sqlite(state, "reading") : -ENOENT;
}

int state_bans(struct state *state, struct ban **bans, size_t *n)
{
	*bans = NULL;
	*n = 0;
	if (!has_bans(state))
		return 0;
	return state_rows(state, state_prepare(state, "SELECT " BAN_COLUMNS " FROM ban ORDER BY family, first, length"),
			  state_read_ban, sizeof(**bans), bans, n);
}

/* Adds the rows of the statement that are in force. */
static int add_rows(struct state *state, sqlite3_stmt *stmt, int64_t now, struct ranges *set)
{
	int code = SQLITE_DONE, err = 0;
	struct ban ban;

	while (!err && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
		err = state_read_ban(state, stmt, &ban);
		if (!err && ban_in_force(&ban, now))
			err = ranges_add_prefix(set, ban.first, ban.length);
	}
	if (!err && code != SQLITE_DONE)
		err = because_sqlite(state, "reading");
	sqlite3_reset(stmt);
	return err;
}

/* Of each length, the bans that begin between the range's own block and its end. */
static int add_touching(struct state *state, int64_t now, struct addr lo, ip6 hi, struct ranges *set)
{
	int length = -1, err = 0;

	while (!err && (length = next_length(state, lo.family, length)) >= 0) {
		struct addr from = { lo.num & ~addr_mask(lo.family, (unsigned int)length), lo.family };
		sqlite3_stmt *stmt = state_cached(state, CACHED_BAN_TOUCHING,
						  "SELECT " BAN_COLUMNS " FROM ban"
						  " WHERE family = ?1 AND length = ?2 AND first BETWEEN ?3 AND ?4");

		err = bind_prefix(state, stmt, from, (unsigned int)length) ?:
		      bind_addr(state, stmt, 4, (struct addr){ hi, lo.family }) ?:
		      add_rows(state, stmt, now, set);
	}
	return err || length != -2 ? err : because_sqlite(state, "reading");
}

int state_bans_set(struct state *state, int64_t now, const struct ranges *within, struct ranges *set)
{
	sqlite3_stmt *stmt;
	int err = 0;

	*set = RANGES_EMPTY;
	if (!has_bans(state))
		return 0;
	if (!within || within->n4 + within->n6 > WITHIN_MAX) {
		stmt = state_cached(state, CACHED_BAN_ALL, "SELECT " BAN_COLUMNS " FROM ban");
		err = stmt ? add_rows(state, stmt, now, set) : because_sqlite(state, "reading");
	} else {
		for (size_t i = 0; i < within->n4 && !err; i++)
			err = add_touching(state, now, (struct addr){ within->v4[i].lo, 4 }, within->v4[i].hi, set);
		for (size_t i = 0; i < within->n6 && !err; i++)
			err = add_touching(state, now, (struct addr){ within->v6[i].lo, 6 }, within->v6[i].hi, set);
	}
	err = err ?: ranges_finish(set);
	if (err)
		ranges_free(set);
	return err;
}

int state_bans_expire(struct state *state, int64_t now, struct ban **bans, size_t *n)
{
	sqlite3_stmt *stmt;
	int err;

	*bans = NULL;
	*n = 0;
	if (!has_bans(state))
		return 0;
	stmt = state_prepare(state, "SELECT " BAN_COLUMNS " FROM ban WHERE expires <= ?");
	if (stmt)
		sqlite3_bind_int64(stmt, 1, now);
	err = state_rows(state, stmt, state_read_ban, sizeof(**bans), bans, n);
	err = err ?: state_put(state, "DELETE FROM ban WHERE expires <= ?", "I", (sqlite3_int64)now);
	if (err) {
		free(*bans);
		*bans = NULL;
		*n = 0;
	}
	return err;
}

/* All less those whose time is over: the first is counted by whole pages, the others have an index. */
int state_bans_count(struct state *state, int64_t now, uint64_t *n)
{
	sqlite3_stmt *stmt;
	int err;

	*n = 0;
	if (!has_bans(state))
		return 0;
	stmt = state_prepare(state, "SELECT (SELECT count(*) FROM ban) -"
				    " (SELECT count(*) FROM ban WHERE expires NOT NULL AND expires <= ?)");
	if (!stmt)
		return because_sqlite(state, "reading");
	sqlite3_bind_int64(stmt, 1, now);
	/* Of each page only the head is looked at: copying all of it would take four times as long. */
	err = state_run(state, "PRAGMA mmap_size = 1073741824");
	err = err ?: sqlite3_step(stmt) == SQLITE_ROW ? 0 : because_sqlite(state, "reading");
	if (!err)
		*n = (uint64_t)sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return err;
}

int64_t state_bans_next(struct state *state)
{
	/* "NOT NULL" lets SQLite use the index of the bans that end. */
	sqlite3_stmt *stmt =
		has_bans(state) ? state_prepare(state, "SELECT min(expires) FROM ban WHERE expires NOT NULL") : NULL;
	int64_t next = 0;

	if (stmt && sqlite3_step(stmt) == SQLITE_ROW)
		/* One that is damaged is due at once: the command that would end it says so. */
		next = row_number_or_none(&(struct row){ .stmt = stmt }, 0, 1, TIME_MOST);
	sqlite3_finalize(stmt);
	return next;
}

int state_bans_clear(struct state *state)
{
	return has_bans(state) ? state_put(state, "DELETE FROM ban", "") : 0;
}

bool state_bans_any(struct state *state)
{
	return has_bans(state) && (next_length(state, 4, -1) >= 0 || next_length(state, 6, -1) >= 0);
}
