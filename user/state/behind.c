// SPDX-License-Identifier: GPL-2.0-only
#include "state/behind.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "state/bans_internal.h"

/* waits: it is what was behind before a change that waits for confirmation, and comes back with that. */
#define COLUMNS	  "family, length, first, waits, added, expires, reason, due"
#define OF_PREFIX " WHERE family = ? AND length = ? AND first = ?"

static bool has_behind(const struct state *s)
{
	return s->db && s->version >= VERSION_BEHIND;
}

int state_read_behind(const struct state *s, sqlite3_stmt *stmt, void *entry)
{
	struct row row = { .stmt = stmt };
	int err = state_read_ban_at(s, stmt, 4, entry);

	row_number(&row, 3, 0, 1);
	return err
		       ?: row.err
			  ? because(-EUCLEAN, "%s: a ban is damaged; see 'xdp-bloom state recover'", s->directory)
			  : 0;
}

int state_behind_any(struct state *state)
{
	sqlite3_stmt *stmt;
	int code;

	if (state->behind != BEHIND_UNKNOWN || !has_behind(state))
		return state->behind == BEHIND_SOME;
	stmt = state_cached(state, CACHED_BEHIND_ANY, "SELECT 1 FROM behind LIMIT 1");
	code = stmt ? sqlite3_step(stmt) : SQLITE_ERROR;
	if (code != SQLITE_ROW && code != SQLITE_DONE) {
		int err = because_sqlite(state, "reading");

		sqlite3_reset(stmt);
		return err;
	}
	state->behind = code == SQLITE_ROW ? BEHIND_SOME : BEHIND_NONE;
	sqlite3_reset(stmt);
	return state->behind == BEHIND_SOME;
}

int state_behind_get(struct state *state, struct addr first, unsigned int length, struct ban *ban)
{
	sqlite3_stmt *stmt;
	int code, err = state_behind_any(state);

	if (err <= 0)
		return err ?: -ENOENT;
	stmt = state_cached(state, CACHED_BEHIND_GET, "SELECT " COLUMNS " FROM behind" OF_PREFIX " AND waits = 0");
	err = state_bind_prefix(state, stmt, first, length);
	if (err)
		return err;
	code = sqlite3_step(stmt);
	err = code == SQLITE_ROW    ? state_read_behind(state, stmt, ban)
	      : code == SQLITE_DONE ? -ENOENT
				    : because_sqlite(state, "reading");
	sqlite3_reset(stmt);
	return err;
}

int state_behind_put(struct state *state, const struct ban *ban)
{
	int err = ban->due && !state->same_boot ? state_give_due(state) : 0;
	sqlite3_stmt *stmt =
		state_cached(state, CACHED_BEHIND_PUT,
			     "INSERT OR REPLACE INTO behind (" COLUMNS ") VALUES (?, ?, ?, 0, ?, ?, ?, ?)");

	if (err)
		return err;
	state->behind = BEHIND_SOME;
	return state_write_ban(state, stmt, ban);
}

int state_behind_drop(struct state *state, struct addr first, unsigned int length)
{
	sqlite3_stmt *stmt;
	int err = state_behind_any(state);

	if (err <= 0)
		return err;
	stmt = state_cached(state, CACHED_BEHIND_DROP, "DELETE FROM behind" OF_PREFIX " AND waits = 0");
	err = state_bind_prefix(state, stmt, first, length);
	if (err)
		return err;
	err = sqlite3_step(stmt) == SQLITE_DONE ? 0 : because_sqlite(state, "writing");
	sqlite3_reset(stmt);
	return err;
}

int state_behind_check(struct state *state)
{
	struct ban *bans = NULL;
	size_t n;
	int err = has_behind(state) ? state_rows(state, state_prepare(state, "SELECT " COLUMNS " FROM behind"),
						 state_read_behind, sizeof(*bans), &bans, &n)
				    : 0;

	free(bans);
	return err;
}

int state_behind_give_due(struct state *state, int64_t date_most)
{
	int any = state_behind_any(state);

	if (any <= 0)
		return any;
	return state_put(state,
			 "UPDATE behind SET due = min(expires, ?1) * 1000000000 - ?2 WHERE expires NOT NULL"
			 " AND waits = 0 AND (due IS NULL OR NOT ?3)",
			 "IIi", (sqlite3_int64)date_most, (sqlite3_int64)state->date_offset, state->same_boot)
		       ?: state->same_boot ? 0
					   : state_put(state, "UPDATE behind SET due = NULL WHERE waits", "");
}

int state_behind_expire(struct state *state, int64_t boot)
{
	int any = state_behind_any(state);

	return any <= 0 ? any
			: state_put(state, "DELETE FROM behind WHERE expires NOT NULL AND due <= ? AND waits = 0", "I",
				    (sqlite3_int64)boot);
}

int state_behind_clear(struct state *state)
{
	int any = state_behind_any(state);

	return any <= 0 ? any : state_put(state, "DELETE FROM behind WHERE waits = 0", "");
}

/* --- Beside a change that waits ----------------------------------------------------------------------------------- */

/* One that an older version has undone or confirmed may have left some. */
int state_behind_wait(struct state *state)
{
	return state_behind_back_drop(state)
		       ?: state_put(state,
				    "INSERT INTO behind (" COLUMNS ") SELECT family, length, first, 1, added, expires,"
				    " reason, due FROM behind WHERE waits = 0"
				    " AND NOT EXISTS (SELECT 1 FROM setting WHERE name = 'image' AND value)",
				    "");
}

int state_behind_back_drop(struct state *state)
{
	int any = state_behind_any(state);

	return any <= 0 ? any : state_put(state, "DELETE FROM behind WHERE waits", "");
}

#define SAME " WHERE family = o.family AND length = o.length AND first = o.first"
#define ENDS_LAST                                                                                                     \
	" ON CONFLICT (family, length, first, waits) DO UPDATE SET added = excluded.added,"                           \
	" expires = excluded.expires, reason = excluded.reason, due = excluded.due WHERE " ROW_ENDS_LATER("excluded", \
													  "behind")
#define AS_AGENTS " GLOB '" BAN_BY_CROWDSEC "*'"
/* Of one of the two times there is an agent's ban, and of the other this machine's own that ends sooner. */
#define SOONER(own, agents, where)                                                                              \
	"INSERT INTO behind (" COLUMNS ") SELECT family, length, first, 0, o.added, o.expires, o.reason, o.due" \
	" FROM " own " AS o JOIN " agents " AS a USING (family, length, first) WHERE a.reason" AS_AGENTS        \
	" AND o.reason NOT" AS_AGENTS " AND " ROW_ENDS_LATER("a", "o") where ENDS_LAST
#define NOT_SAID   " AND NOT EXISTS (SELECT 1 FROM said" SAME ")"
#define OF_MACHINE " AND o.member = 0 AND a.member = 0"

/* Where there is no agent, nothing is looked for. */
static int any_agents(struct state *state, bool *any)
{
	sqlite3_stmt *stmt = state_prepare(state, "SELECT EXISTS (SELECT 1 FROM ban_before WHERE reason" AS_AGENTS
						  ") OR EXISTS (SELECT 1 FROM ban WHERE reason" AS_AGENTS
						  ") OR EXISTS (SELECT 1 FROM said WHERE reason" AS_AGENTS
						  ") OR EXISTS (SELECT 1 FROM said_before WHERE reason" AS_AGENTS ")");
	int code = stmt ? sqlite3_step(stmt) : SQLITE_ERROR;

	*any = code == SQLITE_ROW && sqlite3_column_int(stmt, 0);
	return stmt ? state_finish(state, stmt, code) : because_sqlite(state, "reading");
}

int state_behind_back(struct state *state)
{
	bool any;
	int err = any_agents(state, &any);

	if (err || !any)
		return err;
	state->behind = BEHIND_UNKNOWN;
	return state_put(state,
			 "INSERT INTO behind (" COLUMNS ") SELECT family, length, first, 0, added, expires, reason, due"
			 " FROM behind WHERE waits" ENDS_LAST, "") ?:
	       state_put(state, SOONER("ban", "ban_before", NOT_SAID), "") ?:
	       state_put(state, SOONER("ban_before", "ban", NOT_SAID), "") ?:
	       state_put(state, SOONER("said", "said_before", OF_MACHINE), "") ?:
	       state_put(state, SOONER("said_before", "said", OF_MACHINE), "");
}

/* --- Beside a ban that waits -------------------------------------------------------------------------------------- */

static int of_prefix(struct state *state, const char *sql, const struct prefix *p)
{
	return state_ban_statement(state, sql, p->first, p->length);
}

int state_behind_ban_forget(struct state *state, const struct prefix *p)
{
	int any = state_behind_any(state);

	return any <= 0 ? any : of_prefix(state, "DELETE FROM behind" OF_PREFIX " AND waits", p);
}

int state_behind_ban_wait(struct state *state, const struct prefix *p)
{
	int any = state_behind_any(state);

	return any <= 0 ? any
			: state_behind_ban_forget(state, p)
				  ?: of_prefix(state,
					       "INSERT INTO behind (" COLUMNS ") SELECT family, length, first, 1, added,"
					       " expires, reason, due FROM behind" OF_PREFIX " AND waits = 0",
					       p);
}

int state_behind_ban_back(struct state *state, const struct prefix *p)
{
	int any = state_behind_any(state);

	return any <= 0 ? any
			: of_prefix(state, "DELETE FROM behind" OF_PREFIX " AND waits = 0", p)
				  ?: of_prefix(state, "UPDATE behind SET waits = 0" OF_PREFIX " AND waits", p);
}

/* What the change goes back to is the agent's ban that ends later, or this one, behind which nothing is. */
int state_behind_ban_stays(struct state *state, const struct ban *ban)
{
	const struct prefix p = { ban->first, ban->length };
	sqlite3_stmt *stmt =
		state_prepare(state,
			      "INSERT INTO behind (" COLUMNS ") SELECT ?1, ?2, ?3, 1, ?4, ?5, ?6, ?7 FROM ban_before"
			      " WHERE family = ?1 AND length = ?2 AND first = ?3 AND reason" AS_AGENTS ENDS_LAST);
	int err = state_write_ban(state, stmt, ban);

	sqlite3_finalize(stmt);
	state->behind = BEHIND_UNKNOWN;
	return err
		       ?: of_prefix(state,
				    "DELETE FROM behind AS o" OF_PREFIX
				    " AND waits AND NOT EXISTS (SELECT 1 FROM ban_before" SAME " AND reason" AS_AGENTS
				    ")",
				    &p);
}
