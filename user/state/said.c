// SPDX-License-Identifier: GPL-2.0-only
#include "state/said.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/log.h"
#include "state/bans_internal.h"
#include "state/members.h"

#define COLUMNS "family, length, first, member, added, expires, reason, due"

bool state_has_fleet(const struct state *s)
{
	return s->db && s->version >= VERSION_FLEET;
}

int state_read_said(const struct state *s, sqlite3_stmt *stmt, void *entry)
{
	struct row row = { .stmt = stmt };
	struct said *said = entry;
	int err = state_read_ban_at(s, stmt, 4, &said->ban);

	said->member = row_number(&row, 3, MEMBER_OWN, INT64_MAX);
	return err
		       ?: row.err ? because(-EUCLEAN, "%s: a member's ban is damaged; see 'xdp-bloom state recover'",
					    s->directory)
				  : 0;
}

int state_said_any(struct state *state)
{
	sqlite3_stmt *stmt;
	int code;

	if (state->said != SAID_UNKNOWN || !state_has_fleet(state))
		return state->said == SAID_SOME;
	stmt = state_cached(state, CACHED_SAID_ANY, "SELECT 1 FROM said LIMIT 1");
	code = stmt ? sqlite3_step(stmt) : SQLITE_ERROR;
	if (code != SQLITE_ROW && code != SQLITE_DONE) {
		int err = because_sqlite(state, "reading");

		sqlite3_reset(stmt);
		return err;
	}
	state->said = code == SQLITE_ROW ? SAID_SOME : SAID_NONE;
	sqlite3_reset(stmt);
	return state->said == SAID_SOME;
}

int state_said_of(struct state *state, struct addr first, unsigned int length, struct said **said, size_t *n)
{
	sqlite3_stmt *stmt;
	int code = SQLITE_DONE, err;

	*said = NULL;
	*n = 0;
	if (!state_has_fleet(state))
		return 0;
	stmt = state_cached(state, CACHED_SAID_OF,
			    "SELECT " COLUMNS
			    " FROM said WHERE family = ? AND length = ? AND first = ? ORDER BY member");
	err = state_bind_prefix(state, stmt, first, length);
	while (!err && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct said *grown = grow(*said, *n, sizeof(**said));

		err = grown ? state_read_said(state, stmt, &grown[*n]) : -ENOMEM;
		*said = grown ?: *said;
		*n += !err;
	}
	if (!err && code != SQLITE_DONE)
		err = because_sqlite(state, "reading");
	sqlite3_reset(stmt);
	if (err) {
		free(*said);
		*said = NULL;
		*n = 0;
	}
	return err;
}

static int rows(struct state *state, sqlite3_stmt *stmt, struct said **said, size_t *n)
{
	return state_rows(state, stmt, state_read_said, sizeof(**said), said, n);
}

int state_said_by(struct state *state, int64_t member, struct said **said, size_t *n)
{
	sqlite3_stmt *stmt;

	*said = NULL;
	*n = 0;
	if (!state_has_fleet(state))
		return 0;
	stmt = state_prepare(state, "SELECT " COLUMNS " FROM said WHERE member = ? ORDER BY family, first, length");
	if (stmt)
		sqlite3_bind_int64(stmt, 1, member);
	return rows(state, stmt, said, n);
}

static int of_all(struct state *state, const char *sql, struct said **said, size_t *n)
{
	*said = NULL;
	*n = 0;
	return state_has_fleet(state) ? rows(state, state_prepare(state, sql), said, n) : 0;
}

#define IN_ORDER " ORDER BY family, first, length, member"

int state_said(struct state *state, struct said **said, size_t *n)
{
	return of_all(state, "SELECT " COLUMNS " FROM said" IN_ORDER, said, n);
}

int state_said_waiting(struct state *state, struct said **said, size_t *n)
{
	return of_all(state, "SELECT " COLUMNS " FROM said WHERE member AND added = 0" IN_ORDER, said, n);
}

static int read_count(const struct state *s, sqlite3_stmt *stmt, void *entry)
{
	struct row row = { .stmt = stmt };
	struct said_count *count = entry;

	count->member = row_number(&row, 0, MEMBER_OWN, INT64_MAX);
	count->n = row_number(&row, 1, 0, INT64_MAX);
	return row.err ? because(-EUCLEAN, "%s: a member's ban is damaged; see 'xdp-bloom state recover'", s->directory)
		       : 0;
}

int state_said_counts(struct state *state, struct said_count **counts, size_t *n)
{
	*counts = NULL;
	*n = 0;
	return state_has_fleet(state)
		       ? state_rows(state, state_prepare(state, "SELECT member, count(*) FROM said GROUP BY member"),
				    read_count, sizeof(**counts), counts, n)
		       : 0;
}

int state_said_count(struct state *state, int64_t member, int64_t *n)
{
	sqlite3_stmt *stmt;
	int code;

	*n = 0;
	if (!state_has_fleet(state))
		return 0;
	stmt = state_prepare(state, "SELECT count(*) FROM said WHERE member = ?");
	if (!stmt)
		return because_sqlite(state, "reading");
	sqlite3_bind_int64(stmt, 1, member);
	code = sqlite3_step(stmt);
	*n = sqlite3_column_int64(stmt, 0);
	return state_finish(state, stmt, code);
}

static int write_said(struct state *state, sqlite3_stmt *stmt, const struct said *said)
{
	const struct ban *ban = &said->ban;
	int err = state_bind_prefix(state, stmt, ban->first, ban->length);

	if (err)
		return err;
	sqlite3_bind_int64(stmt, 4, said->member);
	sqlite3_bind_int64(stmt, 5, ban->added);
	sqlite3_bind_null(stmt, 6);
	if (ban->expires)
		sqlite3_bind_int64(stmt, 6, ban->expires);
	state_bind_text(stmt, 7, ban->reason);
	sqlite3_bind_null(stmt, 8);
	if (ban->due)
		sqlite3_bind_int64(stmt, 8, ban->due);
	err = sqlite3_step(stmt) == SQLITE_DONE ? 0 : because_sqlite(state, "writing");
	sqlite3_reset(stmt);
	return err;
}

int state_said_put(struct state *state, const struct said *said, bool *fresh)
{
	int err = said->ban.due && !state->same_boot ? state_give_due(state) : 0;

	state->said = SAID_SOME;
	err = err
		      ?: write_said(state,
				    state_cached(state, CACHED_SAID_NEW,
						 "INSERT OR IGNORE INTO said (" COLUMNS
						 ") VALUES (?, ?, ?, ?, ?, ?, ?, ?)"),
				    said);
	*fresh = !err && sqlite3_changes(state->db);
	if (err || *fresh)
		return err;
	return write_said(state,
			  state_cached(state, CACHED_SAID_PUT,
				       "INSERT OR REPLACE INTO said (" COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?)"),
			  said);
}

int state_said_drop(struct state *state, struct addr first, unsigned int length, int64_t member)
{
	sqlite3_stmt *stmt =
		state_cached(state, CACHED_SAID_DROP,
			     "DELETE FROM said WHERE family = ? AND length = ? AND first = ? AND member = ?");
	int err = state_bind_prefix(state, stmt, first, length);

	if (err)
		return err;
	sqlite3_bind_int64(stmt, 4, member);
	err = sqlite3_step(stmt) == SQLITE_DONE ? 0 : because_sqlite(state, "writing");
	sqlite3_reset(stmt);
	return err ?: sqlite3_changes(state->db) ? 0 : -ENOENT;
}

int state_said_check(struct state *state)
{
	struct said *said = NULL;
	size_t n;
	int err = state_said(state, &said, &n);

	free(said);
	if (err || !state->db || state->version < VERSION_SAID_BEFORE)
		return err;
	err = rows(state, state_prepare(state, "SELECT " COLUMNS " FROM said_before"), &said, &n);
	free(said);
	return err;
}

int state_said_give_due(struct state *state, int64_t date_most)
{
	int any = state_said_any(state);

	if (any <= 0)
		return any;
	return state_put(state,
			 state->same_boot ? "UPDATE said SET due = min(expires, ?1) * 1000000000 - ?2"
					    " WHERE expires NOT NULL AND due IS NULL"
					  : "UPDATE said SET due = min(expires, ?1) * 1000000000 - ?2"
					    " WHERE expires NOT NULL",
			 "II", (sqlite3_int64)date_most, (sqlite3_int64)state->date_offset);
}

int state_said_expire(struct state *state, int64_t boot)
{
	return state_has_fleet(state) ? state_put(state, "DELETE FROM said WHERE expires NOT NULL AND due <= ?", "I",
						  (sqlite3_int64)boot)
				      : 0;
}

int state_said_clear(struct state *state)
{
	return state_has_fleet(state) ? state_put(state, "DELETE FROM said", "") : 0;
}

/* --- Beside an image that waits ----------------------------------------------------------------------------------- */

/* One that an older version has undone or confirmed may have left some. Beside another image all of it stays. */
int state_said_wait(struct state *state)
{
	return state_said_back_drop(state)
		       ?: state_put(state,
				    "INSERT INTO said_before (" COLUMNS ") SELECT " COLUMNS " FROM said"
				    " WHERE NOT EXISTS (SELECT 1 FROM setting WHERE name = 'image' AND value)",
				    "");
}

int state_said_back_drop(struct state *state)
{
	return state_put(state, "DELETE FROM said_before", "");
}

#define OF_B	 " WHERE family = b.family AND length = b.length AND first = b.first"
#define OWN_OF_B "family, length, first, 0, added, expires, reason, due"

int state_said_beside(struct state *state)
{
	return state_put(state,
			 "INSERT INTO said_before (" COLUMNS ") SELECT " OWN_OF_B " FROM ban_before AS b"
			 " WHERE EXISTS (SELECT 1 FROM said" OF_B ")"
			 " AND NOT EXISTS (SELECT 1 FROM said_before" OF_B ")",
			 "")
		       ?: state_put(state,
				    "INSERT INTO said (" COLUMNS ") SELECT " OWN_OF_B " FROM ban AS b"
				    " WHERE EXISTS (SELECT 1 FROM said_before" OF_B ")"
				    " AND NOT EXISTS (SELECT 1 FROM said" OF_B ")",
				    "");
}

/* Of members the last word counts; of this machine the ban that ends later. */
int state_said_back(struct state *state)
{
	state->said = SAID_UNKNOWN;
	state->said_back = true;
	return state_put(state,
			 "INSERT INTO said (" COLUMNS ") SELECT " COLUMNS " FROM said_before WHERE true"
			 " ON CONFLICT (family, length, first, member) DO UPDATE SET added = excluded.added,"
			 " expires = excluded.expires, reason = excluded.reason, due = excluded.due"
			 " WHERE member = 0 AND " ROW_ENDS_LATER("excluded", "said"),
			 "");
}

int state_said_own_back(struct state *state, const struct prefix *p)
{
	int any = state_said_any(state), err;

	if (any <= 0)
		return any;
	err = state_ban_statement(state,
				  "DELETE FROM said WHERE family = ? AND length = ? AND first = ? AND member = 0",
				  p->first, p->length)
		      ?: state_ban_statement(state,
					     "INSERT INTO said (" COLUMNS ") SELECT " OWN_OF_B " FROM ban_before AS b"
					     " WHERE family = ? AND length = ? AND first = ?"
					     " AND EXISTS (SELECT 1 FROM said" OF_B ")",
					     p->first, p->length);
	state->said = SAID_UNKNOWN;
	state->said_back = true;
	return err;
}

bool state_said_came_back(const struct state *state)
{
	return state->said_back;
}

void state_said_is_judged(struct state *state)
{
	state->said_back = false;
}

/* A statement about a member's words, or about those of one prefix. */
static int of_member(struct state *state, const char *sql, const struct prefix *p, int64_t member)
{
	sqlite3_stmt *stmt = state_prepare(state, sql);
	int err = !stmt ? because_sqlite(state, "writing")
		  : p	? state_bind_prefix(state, stmt, p->first, p->length)
			: 0;

	if (err) {
		sqlite3_finalize(stmt);
		return err;
	}
	sqlite3_bind_int64(stmt, 4, member);
	return state_finish(state, stmt, sqlite3_step(stmt));
}

#define OF_P " WHERE (?1 IS NULL OR (family, length, first) = (?1, ?2, ?3))"

/* A ban that nobody else said ends with it: alone it would be this machine's own. */
int state_said_no_more(struct state *state, const struct prefix *p, int64_t member)
{
	int waits = state_pending_any(state, PENDING_IMAGE);

	if (waits <= 0)
		return waits;
	return of_member(state,
			 "DELETE FROM ban_before AS b" OF_P " AND EXISTS (SELECT 1 FROM said_before" OF_B
			 " AND member = ?4)"
			 " AND NOT EXISTS (SELECT 1 FROM said_before" OF_B " AND member <> ?4)",
			 p, member)
		       ?: of_member(state, "DELETE FROM said_before" OF_P " AND member = ?4", p, member);
}
