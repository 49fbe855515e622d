// SPDX-License-Identifier: GPL-2.0-only
#include "state/fleet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "state/bans_internal.h"
#include "state/grants.h"
#include "state/settings.h"

static const char schema_joined[] =
	"CREATE TABLE fleet (id INTEGER PRIMARY KEY, url TEXT NOT NULL, name TEXT NOT NULL, user TEXT NOT NULL,"
	"  prefix TEXT NOT NULL, password TEXT NOT NULL, say TEXT NOT NULL, epoch TEXT NOT NULL, n INTEGER NOT NULL,"
	"  again INTEGER NOT NULL, reads TEXT NOT NULL, pace INTEGER NOT NULL, ca TEXT NOT NULL);"
	"CREATE TABLE fleet_out (family INTEGER NOT NULL, length INTEGER NOT NULL, first BLOB NOT NULL,"
	"  number INTEGER PRIMARY KEY, UNIQUE (family, length, first));"
	"CREATE TABLE fleet_at (member TEXT UNIQUE NOT NULL, epoch TEXT NOT NULL, n INTEGER NOT NULL, id TEXT NOT NULL);";

#define COLUMNS "id, url, name, user, prefix, password, say, epoch, n, again, reads, pace, ca"

int state_fleet_tables(struct state *state)
{
	int err = state->joined ? 0 : state_run(state, schema_joined);

	state->joined = state->joined || !err;
	return err;
}

bool state_joined(const struct state *state)
{
	return state->db && state->joined;
}

static bool is_epoch(const char *text)
{
	return !*text ||
	       (strlen(text) == FLEET_EPOCH_MAX - 1 && strspn(text, "0123456789abcdef") == FLEET_EPOCH_MAX - 1);
}

static bool is_id(const char *text)
{
	return !text[strspn(text, "0123456789-")];
}

static int because_damaged(const struct state *s, const struct row *row)
{
	return err_is(row->err, ENOMEM)
		       ? row->err
		       : because(-EUCLEAN, "%s: what is known of the fleet is damaged; see 'xdp-bloom state recover'",
				 s->directory);
}

int state_read_fleet(const struct state *s, sqlite3_stmt *stmt, void *entry)
{
	struct row row = { .stmt = stmt };
	struct fleet *f = entry;

	row_number(&row, 0, 1, 1);
	row_text(&row, 1, f->url, sizeof(f->url));
	row_text(&row, 2, f->name, sizeof(f->name));
	row_text(&row, 3, f->user, sizeof(f->user));
	row_text(&row, 4, f->prefix, sizeof(f->prefix));
	row_text(&row, 5, f->password_file, sizeof(f->password_file));
	row_text(&row, 6, f->say, sizeof(f->say));
	row_text(&row, 7, f->epoch, sizeof(f->epoch));
	f->n = row_number(&row, 8, 0, FLEET_N_MOST);
	f->all = row_number(&row, 9, 0, FLEET_N_MOST);
	row_text(&row, 10, f->read, sizeof(f->read));
	f->pace = row_number(&row, 11, 0, FLEET_PACE_MOST);
	row_text(&row, 12, f->ca, sizeof(f->ca));
	return !row.err && member_name_is_sound(f->name, false) && is_epoch(f->epoch) ? 0 : because_damaged(s, &row);
}

int state_read_fleet_at(const struct state *s, sqlite3_stmt *stmt, void *entry)
{
	struct row row = { .stmt = stmt };
	struct fleet_at *at = entry;

	row_text(&row, 0, at->member, sizeof(at->member));
	row_text(&row, 1, at->epoch, sizeof(at->epoch));
	at->n = row_number(&row, 2, 0, FLEET_N_MOST);
	row_text(&row, 3, at->id, sizeof(at->id));
	return !row.err && member_name_is_sound(at->member, false) && is_epoch(at->epoch) && is_id(at->id)
		       ? 0
		       : because_damaged(s, &row);
}

int state_read_fleet_out(const struct state *s, sqlite3_stmt *stmt, void *entry)
{
	struct row row = { .stmt = stmt };
	struct fleet_out *out = entry;
	int err = state_read_prefix(&row, &out->first, &out->length);

	out->number = row_number(&row, 3, 0, INT64_MAX);
	return err || row.err ? because_damaged(s, &row) : 0;
}

bool fleet_is_same(const struct fleet *a, const struct fleet *b)
{
	return !strcmp(a->url, b->url) && !strcmp(a->name, b->name) && !strcmp(a->user, b->user) &&
	       !strcmp(a->prefix, b->prefix) && !strcmp(a->password_file, b->password_file) &&
	       !strcmp(a->say, b->say) && !strcmp(a->read, b->read) && !strcmp(a->ca, b->ca) && a->pace == b->pace &&
	       a->server_user == b->server_user;
}

int state_fleet(struct state *state, struct fleet *fleet)
{
	sqlite3_stmt *stmt;
	int code, err = 0;

	memset(fleet, 0, sizeof(*fleet));
	if (!state_joined(state))
		return -ENOENT;
	stmt = state_prepare(state, "SELECT " COLUMNS " FROM fleet");
	if (!stmt)
		return because_sqlite(state, "reading");
	code = sqlite3_step(stmt);
	if (code == SQLITE_ROW)
		err = state_read_fleet(state, stmt, fleet);
	fleet->server_user = (int64_t)state_setting(state, SETTING_SERVER_USER, 0);
	if (!err)
		return state_finish(state, stmt, code) ?: code == SQLITE_ROW ? 0 : -ENOENT;
	sqlite3_finalize(stmt);
	return err;
}

static int put(struct state *state, const struct fleet *f)
{
	state->say[0] = '\0';
	return state_put(state,
			 "INSERT OR REPLACE INTO fleet (" COLUMNS ") VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			 "sssssssIIsIs", f->url, f->name, f->user, f->prefix, f->password_file, f->say, f->epoch,
			 (sqlite3_int64)f->n, (sqlite3_int64)f->all, f->read, (sqlite3_int64)f->pace, f->ca);
}

/* Only where it differs; a version that does not know it has left it, maybe. */
static int put_user(struct state *state, int64_t user)
{
	if (user == (int64_t)state_setting(state, SETTING_SERVER_USER, 0))
		return 0;
	return user ? state_set(state, SETTING_SERVER_USER, (double)user)
		    : state_put(state, "DELETE FROM setting WHERE name = ?", "s", SETTING_SERVER_USER);
}

int state_fleet_join(struct state *state, const struct fleet *wanted)
{
	struct fleet before, after = *wanted;
	int err = state_fleet_tables(state) ?: state_fleet(state, &before);
	bool was = !err, same = was && !strcmp(before.url, after.url) && !strcmp(before.prefix, after.prefix);

	if (err && !err_is(err, ENOENT))
		return err;
	after.n = 0;
	after.epoch[0] = '\0';
	after.all = was ? before.all + 1 : 1;
	if (same && !strcmp(before.name, after.name)) {
		memcpy(after.epoch, before.epoch, sizeof(after.epoch));
		after.n = before.n;
	}
	return (same ? 0 : state_fleet_at_drop(state, NULL)) ?: put_user(state, after.server_user) ?: put(state, &after);
}

int state_fleet_leave(struct state *state)
{
	int err = state_joined(state) ? state_run(state, "DROP TABLE fleet; DROP TABLE fleet_out; DROP TABLE fleet_at")
						?: state_fleet_servers_put(state, NULL, 0)
						?: put_user(state, 0)
				      : -ENOENT;

	state->joined = state->joined && err;
	return err;
}

int state_fleet_say_all(struct state *state)
{
	state->out_known = false;
	return state_put(state, "UPDATE fleet SET again = again + 1", "")
		       ?: state_put(state, "DELETE FROM fleet_out", "");
}

int state_fleet_said(struct state *state, const char *epoch, int64_t n, int64_t number, int64_t all)
{
	if (!state_joined(state))
		return 0;
	state->out_known = false;
	return state_put(state, "UPDATE fleet SET epoch = ?, n = ?", "sI", epoch, (sqlite3_int64)n)
		       ?: state_put(state, "DELETE FROM fleet_out WHERE number <= ?", "I", (sqlite3_int64)number)
		       ?: all ? state_put(state, "UPDATE fleet SET again = 0 WHERE again = ?", "I", (sqlite3_int64)all)
			      : 0;
}

/* --- What is to be said ------------------------------------------------------------------------------------------- */

static bool begins(const struct ban *ban, const char *with)
{
	return !strncmp(ban->reason, with, strlen(with));
}

bool fleet_says(const char *say, const struct ban *ban)
{
	if (!strcmp(say, FLEET_SAY_ALL))
		return true;
	if (!strcmp(say, FLEET_SAY_DETECTOR))
		return begins(ban, BAN_BY_DETECTOR);
	if (!strcmp(say, FLEET_SAY_ADD))
		return !begins(ban, BAN_BY_DETECTOR) && !begins(ban, BAN_BY_CROWDSEC);
	return begins(ban, say);
}

static int64_t number_of(struct state *state, const char *sql, int *err)
{
	sqlite3_stmt *stmt = state_prepare(state, sql);
	int code = stmt ? sqlite3_step(stmt) : SQLITE_ERROR;
	int64_t number = code == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : 0;

	*err = code == SQLITE_ROW ? 0 : because_sqlite(state, "reading");
	sqlite3_finalize(stmt);
	return number;
}

/* Once a command. */
static int know_out(struct state *state)
{
	struct fleet fleet;
	int err = state->out_known ? 0 : state_fleet(state, &fleet);

	if (state->out_known || err)
		return err;
	memcpy(state->say, fleet.say, sizeof(state->say));
	state->out_first = number_of(state, "SELECT min(number) FROM fleet_out", &err);
	state->out_known = !err;
	return err;
}

int state_own_changed(struct state *state, const struct prefix *p, const struct ban *ban, bool fresh)
{
	sqlite3_stmt *stmt;
	int64_t number;
	int err;

	if (!state_joined(state))
		return 0;
	err = know_out(state);
	if (err || (fresh && ban && !fleet_says(state->say, ban)))
		return err;
	/* One that waits already gets a number behind all others: what was read before is not what it is now. */
	stmt = state_cached(state, CACHED_FLEET_OUT,
			    "INSERT OR REPLACE INTO fleet_out (family, length, first) VALUES (?, ?, ?)");
	err = state_bind_prefix(state, stmt, p->first, p->length);
	if (err)
		return err;
	err = sqlite3_step(stmt) == SQLITE_DONE ? 0 : because_sqlite(state, "writing");
	sqlite3_reset(stmt);
	number = sqlite3_last_insert_rowid(state->db);
	if (!err && !state->out_first)
		state->out_first = number;
	return err ?: number - state->out_first >= FLEET_OUT_MOST ? state_fleet_say_all(state) : 0;
}

int state_fleet_out(struct state *state, size_t most, struct fleet_out **out, size_t *n)
{
	sqlite3_stmt *stmt;

	*out = NULL;
	*n = 0;
	if (!state_joined(state))
		return 0;
	stmt = state_prepare(state, "SELECT family, length, first, number FROM fleet_out ORDER BY number LIMIT ?");
	if (stmt)
		sqlite3_bind_int64(stmt, 1, (sqlite3_int64)most);
	return state_rows(state, stmt, state_read_fleet_out, sizeof(**out), out, n);
}

int state_fleet_waiting(struct state *state, int64_t *n)
{
	int err = 0;

	*n = state_joined(state) ? number_of(state, "SELECT count(*) FROM fleet_out", &err) : 0;
	return err;
}

int state_fleet_out_last(struct state *state, int64_t *number)
{
	int err = 0;

	*number = state_joined(state) ? number_of(state, "SELECT max(number) FROM fleet_out", &err) : 0;
	return err;
}

/* --- What was taken ----------------------------------------------------------------------------------------------- */

int state_fleet_ats(struct state *state, struct fleet_at **at, size_t *n)
{
	*at = NULL;
	*n = 0;
	if (!state_joined(state))
		return 0;
	return state_rows(state, state_prepare(state, "SELECT member, epoch, n, id FROM fleet_at ORDER BY member"),
			  state_read_fleet_at, sizeof(**at), at, n);
}

int state_fleet_at_put(struct state *state, const struct fleet_at *at)
{
	if (!state_joined(state))
		return 0;
	return state_put(state, "INSERT OR REPLACE INTO fleet_at (member, epoch, n, id) VALUES (?, ?, ?, ?)", "ssIs",
			 at->member, at->epoch, (sqlite3_int64)at->n, at->id);
}

int state_fleet_at_move(struct state *state, const struct fleet_at *at, bool *there)
{
	int err;

	*there = true;
	if (!state_joined(state))
		return 0;
	err = state_put(state, "UPDATE fleet_at SET epoch = ?, n = ?, id = ? WHERE member = ?", "sIss", at->epoch,
			(sqlite3_int64)at->n, at->id, at->member);
	*there = err || sqlite3_changes(state->db) > 0;
	return err;
}

int state_fleet_at_drop(struct state *state, const char *member)
{
	if (!state_joined(state))
		return 0;
	return member ? state_put(state, "DELETE FROM fleet_at WHERE member = ?", "s", member)
		      : state_put(state, "DELETE FROM fleet_at", "");
}

int state_fleet_check(struct state *state)
{
	struct fleet fleet;
	struct fleet_at *at = NULL;
	struct fleet_out *out = NULL;
	size_t n;
	int err = state_fleet(state, &fleet);

	if (err)
		return err_is(err, ENOENT) ? 0 : err;
	err = state_fleet_ats(state, &at, &n) ?: state_fleet_out(state, SIZE_MAX >> 1, &out, &n);
	free(at);
	free(out);
	return err;
}
