// SPDX-License-Identifier: GPL-2.0-only
#include "state/members.h"

#include <errno.h>
#include <string.h>

#include "base/clean_text.h"
#include "base/clock.h"
#include "base/log.h"
#include "state/internal.h"
#include "state/said.h"

#define COLUMNS                                                                                                    \
	"id, name, rule, entries, ttl, wide4, wide6, rate, shadow, quorum, heard, free_at, taken, ended, refused," \
	" why"

bool member_name_is_sound(const char *name, bool or_any)
{
	return fleet_name_is_sound(name) || (or_any && !strcmp(name, MEMBER_ANY));
}

/* Some number within these bounds, whole or not. */
static double row_real(struct row *row, int column, double least, double most)
{
	double value = sqlite3_column_double(row->stmt, column);
	int type = sqlite3_column_type(row->stmt, column);

	if ((type == SQLITE_FLOAT || type == SQLITE_INTEGER) && value >= least && value <= most)
		return value;
	if (!row->err)
		row->err = -EUCLEAN;
	return least;
}

int state_read_member(const struct state *s, sqlite3_stmt *stmt, void *entry)
{
	struct row row = { .stmt = stmt };
	struct member *m = entry;

	m->id = row_number(&row, 0, 1, INT64_MAX);
	row_text(&row, 1, m->name, sizeof(m->name));
	m->rule = (enum member_rule)row_number(&row, 2, MEMBER_BY_ANY, MEMBER_RULES - 1);
	m->limits.entries = row_number(&row, 3, 0, MEMBER_ENTRIES_MOST);
	m->limits.ttl = row_number(&row, 4, 1, MEMBER_TTL_MOST);
	m->limits.wide[0] = (unsigned int)row_number(&row, 5, 0, 32);
	m->limits.wide[1] = (unsigned int)row_number(&row, 6, 0, 128);
	m->limits.rate = row_real(&row, 7, 0.001, MEMBER_RATE_MOST);
	m->limits.shadow = row_number(&row, 8, 0, 1);
	m->limits.quorum = (unsigned int)row_number(&row, 9, 1, MEMBER_QUORUM_MOST);
	m->heard = row_time(&row, 10);
	m->free_at = row_number(&row, 11, 0, INT64_MAX / 2);
	m->taken = row_number(&row, 12, 0, INT64_MAX);
	m->ended = row_number(&row, 13, 0, INT64_MAX);
	m->refused = row_number(&row, 14, 0, INT64_MAX);
	row_text(&row, 15, m->why, sizeof(m->why));
	clean_text(m->why);
	if (!row.err && member_name_is_sound(m->name, true))
		return 0;
	return err_is(row.err, ENOMEM)
		       ? row.err
		       : because(-EUCLEAN, "%s: what is known of a member is damaged; see 'xdp-bloom state recover'",
				 s->directory);
}

int state_members(struct state *state, struct member **members, size_t *n)
{
	*members = NULL;
	*n = 0;
	if (!state_has_fleet(state))
		return 0;
	return state_rows(state, state_prepare(state, "SELECT " COLUMNS " FROM member ORDER BY name"),
			  state_read_member, sizeof(**members), members, n);
}

int state_member_get(struct state *state, const char *name, struct member *member)
{
	sqlite3_stmt *stmt;
	int code, err = 0;

	*member = (struct member){ 0 };
	if (!state_has_fleet(state))
		return -ENOENT;
	stmt = state_prepare(state, "SELECT " COLUMNS " FROM member WHERE name = ?");
	if (!stmt)
		return because_sqlite(state, "reading");
	state_bind_text(stmt, 1, name);
	code = sqlite3_step(stmt);
	if (code == SQLITE_ROW)
		err = state_read_member(state, stmt, member);
	if (!err)
		return state_finish(state, stmt, code) ?: code == SQLITE_ROW ? 0 : -ENOENT;
	sqlite3_finalize(stmt);
	return err;
}

int state_member_put(struct state *state, struct member *m)
{
	int err = state_put(state,
			    "INSERT OR REPLACE INTO member (" COLUMNS ") VALUES"
			    " (nullif(?, 0), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			    "IsiIIiifiiIIIIIs", (sqlite3_int64)m->id, m->name, (int)m->rule,
			    (sqlite3_int64)m->limits.entries, (sqlite3_int64)m->limits.ttl, (int)m->limits.wide[0],
			    (int)m->limits.wide[1], m->limits.rate, (int)m->limits.shadow, (int)m->limits.quorum,
			    (sqlite3_int64)m->heard, (sqlite3_int64)m->free_at, (sqlite3_int64)m->taken,
			    (sqlite3_int64)m->ended, (sqlite3_int64)m->refused, m->why);
	if (!err && !m->id)
		m->id = sqlite3_last_insert_rowid(state->db);
	return err;
}

int state_member_drop(struct state *state, int64_t id)
{
	return state_put(state, "DELETE FROM said WHERE member = ?", "I", (sqlite3_int64)id)
		       ?: state_said_no_more(state, NULL, id)
		       ?: state_put(state, "DELETE FROM member WHERE id = ?", "I", (sqlite3_int64)id);
}
