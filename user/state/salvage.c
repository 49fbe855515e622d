// SPDX-License-Identifier: GPL-2.0-only
/* What can still be read of a damaged state, row by row, into a new one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state/accepted.h"
#include "state/bans.h"
#include "state/feeds.h"
#include "state/fleet.h"
#include "state/internal.h"
#include "state/members.h"
#include "state/ports.h"
#include "state/recover.h"
#include "state/said.h"
#include "state/strikes.h"

struct salvage {
	sqlite3 *from;
	struct state *to;
	const char *table;
	sqlite3_stmt *put;
	bool lost; /* something of the table could not be read */
	int err;   /* of writing */
};

static sqlite3_stmt *ask(sqlite3 *db, const char *fmt, const char *table)
{
	sqlite3_stmt *stmt = NULL;
	char *sql = sqlite3_mprintf(fmt, table);

	if (!sql || sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
		stmt = NULL;
	sqlite3_free(sql);
	return stmt;
}

static bool feed_is_sound(const struct salvage *s, sqlite3_stmt *row)
{
	struct feed *feed = malloc(sizeof(*feed));
	bool sound = feed && !state_read_feed(s->to, row, feed);

	free(feed);
	return sound;
}

static bool is_sound(const struct salvage *s, sqlite3_stmt *row)
{
	struct interface_info interface;
	struct accepted accepted;
	struct list_info list;
	struct fleet_out out;
	struct fleet_at at;
	struct member member;
	struct fleet fleet;
	struct said said;
	struct pending pending;
	struct port_row port;
	struct strike strike;
	struct ban ban;

	if (!strcmp(s->table, "accepted"))
		return !state_read_accepted(s->to, row, &accepted);
	if (!strcmp(s->table, "chosen"))
		return !state_read_chosen(s->to, row, &list);
	if (!strcmp(s->table, "scope"))
		return !state_read_scope(s->to, row, &list);
	if (!strcmp(s->table, "feed"))
		return feed_is_sound(s, row);
	if (!strcmp(s->table, "fleet"))
		return !state_read_fleet(s->to, row, &fleet);
	if (!strcmp(s->table, "fleet_out"))
		return !state_read_fleet_out(s->to, row, &out);
	if (!strcmp(s->table, "fleet_at"))
		return !state_read_fleet_at(s->to, row, &at);
	if (!strcmp(s->table, "interface"))
		return !state_read_interface(s->to, row, &interface);
	if (!strcmp(s->table, "leaving"))
		return !state_read_leaving(s->to, row, &interface);
	if (!strcmp(s->table, "matched"))
		return !state_read_matched(s->to, row, &interface);
	if (!strcmp(s->table, "ports"))
		return !state_read_ports(s->to, row, &interface);
	if (!strcmp(s->table, "port"))
		return !state_read_port(s->to, row, &port);
	if (!strcmp(s->table, "pending"))
		return !state_read_pending(s->to, row, &pending);
	if (!strcmp(s->table, "source"))
		return state_source_is_sound(row);
	if (!strcmp(s->table, "setting"))
		return state_setting_is_sound(row);
	if (!strcmp(s->table, "member"))
		return !state_read_member(s->to, row, &member);
	if (!strncmp(s->table, "said", 4))
		return !state_read_said(s->to, row, &said);
	if (!strcmp(s->table, "behind"))
		return !state_read_behind(s->to, row, &ban);
	if (!strcmp(s->table, "strike"))
		return !state_read_strike(s->to, row, &strike);
	return strncmp(s->table, "ban", 3) != 0 || !state_read_ban(s->to, row, &ban);
}

/* A row that is damaged, or contradicts the new state, such as a piece of a list that is lost, is left out. */
static void keep_row(struct salvage *s, sqlite3_stmt *row)
{
	if (!is_sound(s, row)) {
		s->lost = true;
		/* Without its scope a list would be another: it is not kept, and is named (recover.c). */
		if (!strcmp(s->table, "scope") && !s->err)
			s->err = state_put(s->to, "INSERT OR IGNORE INTO scope SELECT id, '', 0 FROM list WHERE id = ?",
					   "I", sqlite3_column_int64(row, 0));
		return;
	}
	for (int i = 0; i < sqlite3_column_count(row); i++)
		sqlite3_bind_value(s->put, i + 1, sqlite3_column_value(row, i));
	if (sqlite3_step(s->put) != SQLITE_DONE && sqlite3_errcode(s->to->db) != SQLITE_CONSTRAINT && !s->err)
		s->err = because_sqlite(s->to, "the new state");
	sqlite3_reset(s->put);
}

/* Row by row, up or down, passing over those that cannot be read. False: stopped before the end. */
static bool walk(struct salvage *s, sqlite3_stmt *next, sqlite3_stmt *row, bool up)
{
	sqlite3_int64 from = up ? INT64_MIN : INT64_MAX, last = up ? INT64_MAX : INT64_MIN, at;

	while (true) {
		bool more, none;

		sqlite3_bind_int64(next, 1, from);
		more = sqlite3_step(next) == SQLITE_ROW;
		none = more && sqlite3_column_type(next, 0) == SQLITE_NULL;
		at = more ? sqlite3_column_int64(next, 0) : from;
		sqlite3_reset(next);
		/* A damaged tree may lead in circles. */
		if (!more || none || (up ? at < from : at > from))
			return none;
		sqlite3_bind_int64(row, 1, at);
		if (sqlite3_step(row) == SQLITE_ROW)
			keep_row(s, row);
		else
			s->lost = true;
		sqlite3_reset(row);
		if (at == last)
			return true;
		from = up ? at + 1 : at - 1;
	}
}

static void salvage_numbered(struct salvage *s, const char *table)
{
	sqlite3_stmt *up = ask(s->from, "SELECT min(rowid) FROM \"%w\" WHERE rowid >= ?", table);
	sqlite3_stmt *down = ask(s->from, "SELECT max(rowid) FROM \"%w\" WHERE rowid <= ?", table);
	sqlite3_stmt *row = ask(s->from, "SELECT * FROM \"%w\" WHERE rowid = ?", table);

	if (!up || !down || !row) {
		s->lost = true;
	} else if (!walk(s, up, row, true)) {
		/* A page is gone: go on from the other end. */
		s->lost = true;
		walk(s, down, row, false);
	}
	sqlite3_finalize(up);
	sqlite3_finalize(down);
	sqlite3_finalize(row);
}

/* Bans, strikes, what members say and what is behind an agent's ban have no row numbers. */
static void salvage_bans(struct salvage *s, const char *table)
{
	static const char *const ways[] = {
		"SELECT * FROM \"%w\" ORDER BY family, length, first",
		"SELECT * FROM \"%w\" ORDER BY family DESC, length DESC, first DESC",
	};
	int code = SQLITE_ERROR;

	for (int way = 0; way < 2 && code != SQLITE_DONE; way++) {
		sqlite3_stmt *row = ask(s->from, ways[way], table);

		while (row && (code = sqlite3_step(row)) == SQLITE_ROW)
			keep_row(s, row);
		sqlite3_finalize(row);
		s->lost = s->lost || code != SQLITE_DONE;
	}
}

/* True: all of it, as far as can be seen. */
static bool salvage_table(struct salvage *s, const char *table, bool always)
{
	static const char more[] = ",?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?";
	sqlite3_stmt *there = ask(s->from, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '%q'", table);
	int n, has = there ? sqlite3_step(there) : SQLITE_ERROR;
	sqlite3_stmt *columns;
	char sql[256];

	sqlite3_finalize(there);
	s->table = table;
	s->lost = false;
	if (has != SQLITE_ROW) /* of an older version, which had no such thing, or unreadable */
		return has == SQLITE_DONE && !always;
	if (!strcmp(table, "fleet"))
		s->err = state_fleet_tables(s->to);
	columns = ask(s->to->db, "SELECT * FROM \"%w\"", table);
	n = sqlite3_column_count(columns);
	sqlite3_finalize(columns);
	snprintf(sql, sizeof(sql), "INSERT OR IGNORE INTO \"%%w\" VALUES (?%.*s)", 2 * (n - 1), more);
	s->put = ask(s->to->db, sql, table);
	if (!s->put)
		return false;
	if (!strncmp(table, "ban", 3) || !strcmp(table, "strike") || !strncmp(table, "said", 4) ||
	    !strcmp(table, "behind"))
		salvage_bans(s, table);
	else
		salvage_numbered(s, table);
	sqlite3_finalize(s->put);
	return !s->lost;
}

/* In the order in which they were made: a list before its pieces. */
int state_salvage(struct state *to, sqlite3 *from, struct recovered *r)
{
	static const char *const tables[] = { "list",	   "chunk",    "source",      "interface", "pending",
					      "setting",   "ban",      "ban_before",  "accepted",  "strike",
					      "chosen",	   "feed",     "member",      "said",	   "fleet",
					      "fleet_out", "fleet_at", "scope",	      "matched",   "leaving",
					      "ports",	   "port",     "said_before", "behind" };
	struct salvage s = { .from = from, .to = to };

	r->whole = r->texts = true;
	state_bans_uncounted(to);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && !s.err; i++) {
		/* Of the first, source came later. */
		bool whole = salvage_table(&s, tables[i], i < 6 && i != 2);

		r->whole = r->whole && whole;
		if (i == 1)
			r->texts = whole;
	}
	/* What may be lost of its bans is not what it said. */
	if (!s.err && to->joined)
		s.err = state_fleet_say_all(to);
	if (s.err)
		return s.err;
	return r->texts ? 0 : state_put(to, "DELETE FROM chunk WHERE family = 0", "");
}
