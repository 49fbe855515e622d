// SPDX-License-Identifier: GPL-2.0-only
/* Live bans, one row each. The key has the length before the address: one look a length in use finds what covers a
 * prefix. */
#include "state/bans_internal.h"

#include <errno.h>
#include <string.h>

#include "base/clean_text.h"
#include "base/clock.h"
#include "base/log.h"
#include "state/fleet.h"

#define BAN_COLUMNS "family, length, first, added, expires, reason, due"

bool state_has_bans(const struct state *s)
{
	return s->db && s->version >= 2;
}

int state_bind_addr(const struct state *s, sqlite3_stmt *stmt, int at, struct addr addr)
{
	unsigned char bytes[16];
	int n = addr.family == 4 ? 4 : 16;

	for (int i = 0; i < n; i++)
		bytes[i] = (unsigned char)(addr.num >> 8 * (n - 1 - i));
	return sqlite3_bind_blob(stmt, at, bytes, n, SQLITE_TRANSIENT) == SQLITE_OK ? 0 : because_sqlite(s, "a ban");
}

int state_bind_prefix(const struct state *s, sqlite3_stmt *stmt, struct addr first, unsigned int length)
{
	if (!stmt)
		return because_sqlite(s, "a ban");
	sqlite3_bind_int(stmt, 1, first.family);
	sqlite3_bind_int(stmt, 2, (int)length);
	return state_bind_addr(s, stmt, 3, first);
}

static void read_due(const struct state *s, struct ban *ban, int64_t due)
{
	if (!due)
		return;
	state_look_at_clocks((struct state *)s);
	if (!s->same_boot)
		return;
	ban->due = due;
	ban->over = due <= state_boot_now(s);
	ban->expires = state_date_of(s, due);
}

int state_read_prefix(struct row *row, struct addr *first, unsigned int *length)
{
	const unsigned char *bytes = sqlite3_column_blob(row->stmt, 2);
	int n = sqlite3_column_bytes(row->stmt, 2);

	*first = (struct addr){ .family = (int)row_number(row, 0, 4, 6) };
	*length = (unsigned int)row_number(row, 1, 0, addr_width(first->family == 6 ? 6 : 4));
	for (int i = 0; i < n && i < 16 && bytes; i++)
		first->num = first->num << 8 | bytes[i];
	return row->err || first->family == 5 || sqlite3_column_type(row->stmt, 2) != SQLITE_BLOB ||
			       n != (first->family == 4 ? 4 : 16) || first->num & addr_mask(first->family, *length)
		       ? -EUCLEAN
		       : 0;
}

int state_read_ban_at(const struct state *s, sqlite3_stmt *stmt, int at, struct ban *ban)
{
	struct row row = { .stmt = stmt };
	int err;

	memset(ban, 0, sizeof(*ban));
	err = state_read_prefix(&row, &ban->first, &ban->length);
	ban->added = row_time(&row, at);
	/* A ban without an end has NULL. */
	if (sqlite3_column_type(stmt, at + 1) != SQLITE_NULL)
		ban->expires = row_number(&row, at + 1, 1, TIME_MOST);
	if (ban->expires && sqlite3_column_count(stmt) > at + 3)
		read_due(s, ban, row_number_or_none(&row, at + 3, -INT64_MAX, INT64_MAX));
	row_text(&row, at + 2, ban->reason, sizeof(ban->reason));
	clean_text(ban->reason);
	if (err_is(row.err, ENOMEM))
		return row.err;
	if (err || row.err)
		return because(-EUCLEAN, "%s: a ban is damaged; see 'xdp-bloom state recover'", s->directory);
	return 0;
}

int state_read_ban(const struct state *s, sqlite3_stmt *stmt, void *entry)
{
	return state_read_ban_at(s, stmt, 3, entry);
}

int state_ban_get(struct state *state, struct addr first, unsigned int length, struct ban *ban)
{
	sqlite3_stmt *stmt;
	int code, err;

	if (!state_has_bans(state))
		return -ENOENT;
	stmt = state_cached(state, CACHED_BAN_GET, "SELECT * FROM ban WHERE family = ? AND length = ? AND first = ?");
	err = state_bind_prefix(state, stmt, first, length);
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

int state_write_ban(struct state *state, sqlite3_stmt *stmt, const struct ban *ban)
{
	int err = state_bind_prefix(state, stmt, ban->first, ban->length);

	if (err)
		return err;
	sqlite3_bind_int64(stmt, 4, ban->added);
	sqlite3_bind_null(stmt, 5);
	if (ban->expires)
		sqlite3_bind_int64(stmt, 5, ban->expires);
	state_bind_text(stmt, 6, ban->reason);
	sqlite3_bind_null(stmt, 7);
	if (ban->due)
		sqlite3_bind_int64(stmt, 7, ban->due);
	err = sqlite3_step(stmt) == SQLITE_DONE ? 0 : because_sqlite(state, "writing");
	sqlite3_reset(stmt);
	return err;
}

/* Most bans are new: one statement is enough for them. */
int state_ban_new(struct state *state, const struct ban *ban, bool *added)
{
	int err = ban->due && !state->same_boot ? state_give_due(state) : 0;

	*added = false;
	err = err
		      ?: state_write_ban(state,
					 state_cached(state, CACHED_BAN_NEW,
						      "INSERT OR IGNORE INTO ban (" BAN_COLUMNS
						      ") VALUES (?, ?, ?, ?, ?, ?, ?)"),
					 ban);

	*added = !err && sqlite3_changes(state->db);
	state_bans_more(state, *added);
	return err;
}

int state_ban_put(struct state *state, const struct ban *ban, bool *renewed)
{
	bool added;
	int err = state_ban_new(state, ban, &added);

	*renewed = !err && !added;
	if (err || !*renewed)
		return err;
	return state_write_ban(state,
			       state_cached(state, CACHED_BAN_PUT,
					    "INSERT OR REPLACE INTO ban (" BAN_COLUMNS
					    ") VALUES (?, ?, ?, ?, ?, ?, ?)"),
			       ban);
}

int state_ban_statement(struct state *s, const char *sql, struct addr first, unsigned int length)
{
	sqlite3_stmt *stmt = state_prepare(s, sql);
	int err = state_bind_prefix(s, stmt, first, length);

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
	int err = state_bind_prefix(state, stmt, first, length);

	if (err)
		return err;
	err = sqlite3_step(stmt) == SQLITE_DONE ? 0 : because_sqlite(state, "writing");
	sqlite3_reset(stmt);
	if (err || !sqlite3_changes(state->db))
		return err ?: -ENOENT;
	state_bans_more(state, -1);
	return 0;
}

int state_next_length(struct state *s, int family, int length)
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

	while (state_has_bans(state) && (at = state_next_length(state, first.family, at)) >= 0 &&
	       (unsigned int)at < length) {
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
	if (!state_has_bans(state))
		return 0;
	return state_rows(state, state_prepare(state, "SELECT * FROM ban ORDER BY family, first, length"),
			  state_read_ban, sizeof(**bans), bans, n);
}

int state_bans_page(struct state *state, const struct ban *behind, unsigned int most, struct ban **bans, size_t *n)
{
	sqlite3_stmt *stmt;
	int err = 0;

	*bans = NULL;
	*n = 0;
	if (!state_has_bans(state))
		return 0;
	stmt = state_prepare(state, behind->first.family ? "SELECT * FROM ban WHERE (family, length, first) > (?, ?, ?)"
							   " ORDER BY family, length, first LIMIT ?4"
							 : "SELECT * FROM ban ORDER BY family, length, first LIMIT ?4");
	if (stmt && behind->first.family)
		err = state_bind_prefix(state, stmt, behind->first, behind->length);
	if (stmt)
		sqlite3_bind_int64(stmt, 4, most);
	if (!err)
		return state_rows(state, stmt, state_read_ban, sizeof(**bans), bans, n);
	sqlite3_finalize(stmt);
	return err;
}

int state_bans_clear(struct state *state)
{
	state_bans_more(state, -state->bans);
	if (!state_has_bans(state))
		return 0;
	return state_put(state, "DELETE FROM ban", "")
		       ?: state_said_clear(state)
		       ?: state_behind_clear(state)
		       ?: state_joined(state) ? state_fleet_say_all(state)
					      : 0;
}

bool state_bans_any(struct state *state)
{
	return state_has_bans(state) && (state_next_length(state, 4, -1) >= 0 || state_next_length(state, 6, -1) >= 0);
}
