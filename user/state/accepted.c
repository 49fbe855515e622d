// SPDX-License-Identifier: GPL-2.0-only
#include "state/accepted.h"

#include "state/internal.h"

/* What no version of ours wrote counts as not known: then what is in force is the measure. */
static bool read_amounts(sqlite3_stmt *stmt, int column, struct amounts *a)
{
	a->v4 = sqlite3_column_double(stmt, column);
	a->v6 = sqlite3_column_double(stmt, column + 1);
	return a->v4 >= 0 && a->v4 <= 0x1p32 && a->v6 >= 0 && a->v6 <= 0x1p128;
}

int state_accepted_get(struct state *state, const char *list, struct accepted *accepted)
{
	sqlite3_stmt *stmt = state_prepare(state, "SELECT hand4, hand6, day4, day6, wide4, wide6, day_at FROM accepted"
						  " WHERE list = (SELECT id FROM list WHERE name = ?)");
	int code;

	*accepted = (struct accepted){ 0 };
	if (!stmt)
		return because_sqlite(state, "reading");
	state_bind_text(stmt, 1, list);
	code = sqlite3_step(stmt);
	if (code == SQLITE_ROW) {
		accepted->known = read_amounts(stmt, 0, &accepted->hand) && read_amounts(stmt, 2, &accepted->day) &&
				  read_amounts(stmt, 4, &accepted->wide);
		accepted->day_at = sqlite3_column_int64(stmt, 6);
		if (!accepted->known)
			*accepted = (struct accepted){ 0 };
	}
	return state_finish(state, stmt, code);
}

int state_accepted_put(struct state *state, const char *list, const struct accepted *a)
{
	return state_put(state,
			 "INSERT OR REPLACE INTO accepted SELECT id, ?2, ?3, ?4, ?5, ?6, ?7, ?8 FROM list"
			 " WHERE name = ?1",
			 "sffffffI", list, a->hand.v4, a->hand.v6, a->day.v4, a->day.v6, a->wide.v4, a->wide.v6,
			 (sqlite3_int64)a->day_at);
}
