// SPDX-License-Identifier: GPL-2.0-only
/* Numbers by name. */
#include "state_room.h"

double state_setting(struct state *state, const char *name, double fallback)
{
	sqlite3_stmt *stmt = state_kept(state, KEPT_SETTING, "SELECT value FROM setting WHERE name = ?");
	int code = SQLITE_DONE;

	if (stmt) {
		state_bind_text(stmt, 1, name);
		code = sqlite3_step(stmt);
	}
	if (code == SQLITE_ROW)
		fallback = sqlite3_column_double(stmt, 0);
	else if (code != SQLITE_DONE || (!stmt && state->db))
		state->broken = because_sqlite(state, "reading a setting");
	sqlite3_reset(stmt);
	return fallback;
}

int state_set(struct state *state, const char *name, double value)
{
	sqlite3_stmt *stmt = state_prepare(state, "INSERT OR REPLACE INTO setting VALUES (?, ?)");

	if (!stmt)
		return because_sqlite(state, "writing");
	state_bind_text(stmt, 1, name);
	sqlite3_bind_double(stmt, 2, value);
	return state_finish(state, stmt, sqlite3_step(stmt));
}
