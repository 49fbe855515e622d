// SPDX-License-Identifier: GPL-2.0-only
#include "state/recover.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/log.h"
#include "state/bans.h"
#include "state/replace.h"
#include "state/internal.h"
#include "state/settings.h"

/* --- What is wrong --------------------------------------------------------------------------------------------------
 */

static int check_pages(struct state *s, void (*found)(const char *fault), size_t *faults)
{
	sqlite3_stmt *stmt = state_prepare(s, "PRAGMA integrity_check(20)");
	int code = SQLITE_DONE;

	while (stmt && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(stmt, 0);

		if (!text || !strcmp(text, "ok"))
			continue;
		found(text);
		++*faults;
	}
	return state_end(s, stmt, code);
}

/* Is all of it there? Its own entry says how much that was. */
static bool list_is_whole(struct state *s, const struct list_info *list)
{
	struct ranges set;
	bool whole;

	if (state_list_set(s, list->name, &set))
		return false;
	whole = ranges_count_prefixes(&set) == list->prefixes;
	ranges_free(&set);
	return whole;
}

int state_check(void (*found)(const char *fault), size_t *faults)
{
	struct list_info *lists = NULL;
	struct ban *bans = NULL;
	const char *setting;
	struct state *s;
	char fault[128];
	size_t n = 0, bans_n;
	int err = state_open(&s, false);

	*faults = 0;
	if (err)
		return err;
	if (s->db)
		err = check_pages(s, found, faults);
	if (!err)
		err = state_lists(s, &lists, &n);
	for (size_t i = 0; i < n && !err; i++) {
		if (list_is_whole(s, &lists[i]))
			continue;
		snprintf(fault, sizeof(fault), "a part of list '%s' is gone", lists[i].name);
		found(fault);
		++*faults;
	}
	setting = err || !s->db ? NULL : state_setting_damaged(s);
	if (setting) {
		snprintf(fault, sizeof(fault), "setting '%s' is damaged", setting);
		found(fault);
		++*faults;
	}
	if (!err)
		err = state_bans(s, &bans, &bans_n);
	free(bans);
	free(lists);
	state_close(s);
	return err;
}

/* --- What can be saved ----------------------------------------------------------------------------------------------
 */

struct salvage {
	sqlite3 *from;
	struct state *to;
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

/* What contradicts what is there already, such as a piece of a list that is lost, stays out. */
static void keep_row(struct salvage *s, sqlite3_stmt *row)
{
	for (int i = 0; i < sqlite3_column_count(row); i++)
		sqlite3_bind_value(s->put, i + 1, sqlite3_column_value(row, i));
	if (sqlite3_step(s->put) != SQLITE_DONE && sqlite3_errcode(s->to->db) != SQLITE_CONSTRAINT && !s->err)
		s->err = because_sqlite(s->to, "the new state");
	sqlite3_reset(s->put);
}

/* One number after the other, up or down: a row that cannot be read is passed over. False: no way further. */
static bool walk(struct salvage *s, sqlite3_stmt *next, sqlite3_stmt *row, bool up)
{
	sqlite3_int64 at = up ? INT64_MIN : INT64_MAX;

	while (true) {
		sqlite3_int64 before = at;
		bool more, none;

		sqlite3_bind_int64(next, 1, at);
		more = sqlite3_step(next) == SQLITE_ROW;
		none = more && sqlite3_column_type(next, 0) == SQLITE_NULL;
		at = more ? sqlite3_column_int64(next, 0) : at;
		sqlite3_reset(next);
		/* A damaged tree may lead in circles. */
		if (!more || none || (up ? at <= before : at >= before))
			return none;
		sqlite3_bind_int64(row, 1, at);
		if (sqlite3_step(row) == SQLITE_ROW)
			keep_row(s, row);
		else
			s->lost = true;
		sqlite3_reset(row);
	}
}

static void salvage_numbered(struct salvage *s, const char *table)
{
	sqlite3_stmt *up = ask(s->from, "SELECT min(rowid) FROM \"%w\" WHERE rowid > ?", table);
	sqlite3_stmt *down = ask(s->from, "SELECT max(rowid) FROM \"%w\" WHERE rowid < ?", table);
	sqlite3_stmt *row = ask(s->from, "SELECT * FROM \"%w\" WHERE rowid = ?", table);

	if (!up || !down || !row) {
		s->lost = true;
	} else if (!walk(s, up, row, true)) {
		/* Stuck at a page that is gone: from the other end. */
		s->lost = true;
		walk(s, down, row, false);
	}
	sqlite3_finalize(up);
	sqlite3_finalize(down);
	sqlite3_finalize(row);
}

/* Bans have no numbers but their key. */
static void salvage_bans(struct salvage *s)
{
	static const char *const ways[] = {
		"SELECT * FROM ban ORDER BY family, length, first",
		"SELECT * FROM ban ORDER BY family DESC, length DESC, first DESC",
	};
	int code = SQLITE_ERROR;
	struct ban ban;

	for (int way = 0; way < 2 && code != SQLITE_DONE; way++) {
		sqlite3_stmt *row = ask(s->from, ways[way], NULL);

		while (row && (code = sqlite3_step(row)) == SQLITE_ROW) {
			if (!state_read_ban(row, &ban))
				keep_row(s, row);
			else
				s->lost = true;
		}
		sqlite3_finalize(row);
		s->lost = s->lost || code != SQLITE_DONE;
	}
}

/* True: all of it, for all one can see. */
static bool salvage_table(struct salvage *s, const char *table)
{
	static const char more[] = ",?,?,?,?,?,?,?,?,?,?,?,?,?,?,?";
	sqlite3_stmt *columns = ask(s->to->db, "SELECT * FROM \"%w\"", table);
	sqlite3_stmt *there = ask(s->from, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '%q'", table);
	int n = sqlite3_column_count(columns), has = there ? sqlite3_step(there) : SQLITE_ERROR;
	char sql[256];

	sqlite3_finalize(columns);
	sqlite3_finalize(there);
	s->lost = false;
	if (has != SQLITE_ROW) /* of an older version, which had no such thing, or unreadable */
		return has == SQLITE_DONE;
	snprintf(sql, sizeof(sql), "INSERT OR IGNORE INTO \"%%w\" VALUES (?%.*s)", 2 * (n - 1), more);
	s->put = ask(s->to->db, sql, table);
	if (!s->put)
		return false;
	if (!strcmp(table, "ban"))
		salvage_bans(s);
	else
		salvage_numbered(s, table);
	sqlite3_finalize(s->put);
	return !s->lost;
}

/* In the order in which they were made: a list before its pieces. */
static int salvage_all(struct salvage *s, struct recovered *r)
{
	static const char *const tables[] = { "list", "chunk", "source", "interface", "pending", "setting", "ban" };
	int err;

	r->whole = r->texts = true;
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && !s->err; i++) {
		bool whole = salvage_table(s, tables[i]);

		r->whole = r->whole && whole;
		if (i == 1)
			r->texts = whole;
	}
	if (s->err)
		return s->err;
	err = r->texts ? 0 : state_change(s->to, "DELETE FROM chunk WHERE family = 0", NULL);
	return err_is(err, ENOENT) ? 0 : err;
}

/* A part of a list is no list. */
static int drop_parts(struct state *state, struct recovered *r)
{
	struct list_info *lists;
	bool *sound;
	size_t n;
	int err = state_entries(state, &lists, &sound, &n);

	for (size_t i = 0; i < n && !err; i++) {
		if (sound[i] && list_is_whole(state, &lists[i])) {
			r->lists++;
			continue;
		}
		if (r->lost_n < sizeof(r->lost) / sizeof(r->lost[0])) {
			memcpy(r->lost[r->lost_n].name, lists[i].name, sizeof(lists[i].name));
			memcpy(r->lost[r->lost_n++].source, lists[i].source, sizeof(lists[i].source));
		}
		r->whole = false;
		err = state_list_drop(state, lists[i].name);
	}
	free(sound);
	free(lists);
	return err;
}

static int count(struct state *s, const char *sql, size_t *n)
{
	sqlite3_stmt *stmt = state_prepare(s, sql);
	int code = stmt ? sqlite3_step(stmt) : SQLITE_ERROR;

	if (code == SQLITE_ROW)
		*n = (size_t)sqlite3_column_int64(stmt, 0);
	return state_end(s, stmt, code);
}

/* What nobody can have set is as it is where nobody set it. */
static int drop_settings(struct state *state, struct recovered *r)
{
	const char *name;
	int err = 0;

	while (!err && (name = state_setting_damaged(state))) {
		state->broken = 0;
		r->whole = false;
		err = state_change(state, "DELETE FROM setting WHERE name = ?", name);
	}
	return err;
}

/* Ahead of the kernel: so the next command sees that what is in force is not of this state, and builds it. */
static int set_ahead(struct state *state, unsigned long long in_force)
{
	double number = state_setting(state, SETTING_GENERATION, 0);

	if (number < (double)in_force)
		number = (double)in_force;
	return state_set(state, SETTING_GENERATION, number + 1);
}

/* Nothing of the damaged file is written, not even what waits in its journal. */
static int open_damaged(const char *path, sqlite3 **db)
{
	if (access(path, R_OK))
		return because(-errno, "%s: %s", path, strerror(errno));
	if (sqlite3_open_v2(path, db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
		return because(-EIO, "%s: %s", path, sqlite3_errmsg(*db));
	sqlite3_db_config(*db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	/* Then it also opens a file that is shorter than it says itself. */
	sqlite3_db_config(*db, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, NULL);
	if (sqlite3_exec(*db, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	return because(-EUCLEAN, "%s: nothing can be saved: %s", path, sqlite3_errmsg(*db));
}

/* The journal stays behind: nothing may be left in it, and none may be begun. */
static int into_one_file(struct state *s)
{
	sqlite3_stmt *stmt = state_prepare(s, "PRAGMA journal_mode = DELETE");
	bool done = stmt && sqlite3_step(stmt) == SQLITE_ROW &&
		    !strcmp((const char *)sqlite3_column_text(stmt, 0), "delete");
	int err = done ? 0 : because_sqlite(s, "the new state's journal");

	sqlite3_finalize(stmt);
	return err;
}

static int make_new(const char *path, unsigned long long in_force, struct recovered *r)
{
	struct salvage s = { 0 };
	int err = state_open(&s.to, true);

	if (!err)
		err = open_damaged(path, &s.from);
	if (!err)
		err = salvage_all(&s, r);
	sqlite3_close(s.from);
	if (!err)
		err = drop_parts(s.to, r);
	if (!err)
		err = drop_settings(s.to, r);
	if (!err)
		err = count(s.to, "SELECT count(*) FROM interface", &r->interfaces);
	if (!err)
		err = count(s.to, "SELECT count(*) FROM ban", &r->bans);
	if (!err)
		err = set_ahead(s.to, in_force);
	if (!err)
		err = state_commit(s.to);
	if (!err)
		err = into_one_file(s.to);
	state_close(s.to);
	return err;
}

int state_recover(const char *path, unsigned long long (*in_force)(void), struct recovered *r)
{
	char workshop[480], lock_path[512];
	const char *home = opt_state;
	int lock, err;

	memset(r, 0, sizeof(*r));
	snprintf(workshop, sizeof(workshop), "%.400s/" STATE_WORKSHOP, opt_state);
	snprintf(lock_path, sizeof(lock_path), "%.480s/lock", opt_state);
	err = state_make_directory();
	lock = err ? err : lock_take(lock_path, opt_wait);
	if (lock < 0)
		return lock;
	state_exchange_undo();
	opt_state = workshop;
	err = make_new(path, in_force ? in_force() : 0, r);
	opt_state = home;
	if (!err)
		err = state_exchange(r->kept, sizeof(r->kept));
	state_exchange_undo();
	close(lock);
	return err;
}
