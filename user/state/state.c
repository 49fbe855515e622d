// SPDX-License-Identifier: GPL-2.0-only
#include "state/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/close_fd.h"
#include "base/context.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/trusted_dir.h"

#define LOG_BYTES_MAX	  (256 << 10)
#define LOG_BYTES_OPEN	  (1 << 20)
#define STATE_APPLICATION 2019846509

static const char schema[] =
	"CREATE TABLE list (id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, kind INTEGER NOT NULL,"
	"  label INTEGER UNIQUE, prefixes INTEGER NOT NULL, addresses TEXT NOT NULL, source TEXT NOT NULL,"
	"  loaded TEXT NOT NULL, format TEXT NOT NULL);"
	/* family: what it holds (list_chunks.c) */
	"CREATE TABLE chunk (list INTEGER NOT NULL REFERENCES list (id) ON DELETE CASCADE, family INTEGER NOT NULL,"
	"  part INTEGER NOT NULL, data BLOB NOT NULL, UNIQUE (list, family, part));"
	"CREATE TABLE interface (name TEXT PRIMARY KEY, mode TEXT NOT NULL, shared INTEGER NOT NULL);"
	"CREATE TABLE pending (kind INTEGER NOT NULL, name TEXT NOT NULL, deadline INTEGER NOT NULL,"
	"  before INTEGER, PRIMARY KEY (kind, name));"
	"CREATE TABLE setting (name TEXT PRIMARY KEY, value REAL NOT NULL);"
	"PRAGMA application_id = 2019846509;";

/* Each version's own statements, on top of those before. */
static const char schema_bans[] =
	"CREATE TABLE ban (family INTEGER NOT NULL, length INTEGER NOT NULL, first BLOB NOT NULL,"
	"  added INTEGER NOT NULL, expires INTEGER, reason TEXT NOT NULL,"
	"  PRIMARY KEY (family, length, first)) WITHOUT ROWID;"
	"CREATE INDEX ban_expires ON ban (expires) WHERE expires NOT NULL;"
	"PRAGMA user_version = 2;";
static const char schema_sources[] =
	"CREATE TABLE source (list INTEGER PRIMARY KEY REFERENCES list (id) ON DELETE CASCADE, path TEXT NOT NULL,"
	"  stamp TEXT NOT NULL, options TEXT NOT NULL);"
	"PRAGMA user_version = 3;";

/* The tables stay, but a program that knows only version 3 cannot read packed ranges. */
static const char schema_packed[] = "PRAGMA user_version = 4;";

/* SQLite does not notice a changed bit in its file: each piece of a list has a checksum. */
static const char schema_sums[] = "ALTER TABLE chunk ADD COLUMN sum INTEGER; PRAGMA user_version = 5;";

/*
 * What waits to be confirmed has an end that setting the date does not move: `due`, since the start of the machine that
 * `boot` names. And bans can wait, too: ban_before has those that come back.
 */
static const char schema_due[] =
	"ALTER TABLE pending ADD COLUMN due INTEGER;"
	"ALTER TABLE pending ADD COLUMN boot TEXT;"
	"CREATE TABLE ban_before (family INTEGER NOT NULL, length INTEGER NOT NULL, first BLOB NOT NULL,"
	"  added INTEGER NOT NULL, expires INTEGER, reason TEXT NOT NULL,"
	"  PRIMARY KEY (family, length, first)) WITHOUT ROWID;";

static const char schema_accepted[] =
	"CREATE TABLE accepted (list INTEGER PRIMARY KEY REFERENCES list (id) ON DELETE CASCADE,"
	"  hand4 REAL NOT NULL, hand6 REAL NOT NULL, day4 REAL NOT NULL, day6 REAL NOT NULL,"
	"  wide4 REAL NOT NULL, wide6 REAL NOT NULL, day_at INTEGER NOT NULL);";

/* From which version to the next. */
static const char *const upgrades[] = { [1] = schema_bans, [2] = schema_sources, [3] = schema_packed,
					[4] = schema_sums, [5] = schema_due,	 [6] = schema_accepted };

/*
 * What came later is only more: versions of ours that know nothing of it can go on with the file, so it does not say
 * that it is newer.
 */
#define VERSION_WRITTEN 5
#define STATE_VERSION	((int)(sizeof(upgrades) / sizeof(upgrades[0])))

static int run(struct state *s, const char *sql)
{
	return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : because_sqlite(s, "the state");
}

int state_make_directory(const char *directory)
{
	char path[STATE_PATH_MAX];

	if (!*state_path(path, directory, ""))
		return because(-ENAMETOOLONG, "%s: the path is too long", directory);
	for (char *slash = path + 1; (slash = strchr(slash, '/')) && slash[1]; *slash++ = '/') {
		*slash = '\0';
		if (mkdir(path, 0755) && errno != EEXIST)
			return because(-errno, "%s: %s", path, strerror(errno));
	}
	if (mkdir(directory, 0700) && errno != EEXIST)
		return because(-errno, "%s: %s", directory, strerror(errno));
	return trust_directory(directory);
}

/* In the transaction of the command that is about to change something. */
static int bring_up(struct state *s)
{
	int err = 0;

	while (s->change && s->version < STATE_VERSION && !err)
		err = run(s, upgrades[s->version++]);
	return err;
}

static int check_version(struct state *s)
{
	/* Ours has tables and indexes of what was put into them, and nothing that is computed. */
	sqlite3_stmt *stmt =
		state_prepare(s, "SELECT (SELECT user_version FROM pragma_user_version),"
				 " (SELECT application_id FROM pragma_application_id),"
				 " (SELECT count(*) FROM sqlite_master),"
				 " (SELECT count(*) FROM sqlite_master WHERE type NOT IN ('table', 'index')"
				 "  OR rootpage IS NULL OR rootpage < 2) +"
				 " (SELECT count(*) FROM sqlite_master m, pragma_table_xinfo(m.name) x"
				 "  WHERE m.type = 'table' AND x.hidden),"
				 " (SELECT count(*) FROM pragma_table_info('pending') WHERE name = 'boot') +"
				 " (SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'accepted')");
	int version = -1, application = 0, tables = 0, foreign = 0, more = 0;

	if (!stmt)
		return because_sqlite(s, "opening");
	if (sqlite3_step(stmt) == SQLITE_ROW) {
		version = sqlite3_column_int(stmt, 0);
		application = sqlite3_column_int(stmt, 1);
		tables = sqlite3_column_int(stmt, 2);
		foreign = sqlite3_column_int(stmt, 3);
		more = sqlite3_column_int(stmt, 4);
	}
	sqlite3_finalize(stmt);
	if (version < 0)
		return because_sqlite(s, "opening");
	if (!tables && !version) {
		s->version = 1;
		if (s->change)
			return run(s, schema) ?: bring_up(s);
		sqlite3_close(s->db); /* nothing was ever kept there */
		s->db = NULL;
		return 0;
	}
	if (application != STATE_APPLICATION || foreign)
		return because(-EINVAL, "%s/state.db is not a state file of xdp-bloom", s->directory);
	if (version > STATE_VERSION)
		return because(-EINVAL, "%s: the state is of a newer xdp-bloom (version %d)", s->directory, version);
	s->version = version == VERSION_WRITTEN ? version + more : version;
	return bring_up(s);
}

static bool is_readable(const struct state *s)
{
	return sqlite3_exec(s->db, "SELECT 1 FROM sqlite_master", NULL, NULL, NULL) == SQLITE_OK;
}

/*
 * SQLite wants to write even to read. On a full disk it can read without, if no other process has the file open; on a
 * read-only one it can still read the last checkpoint.
 */
static void reopen_unwritable(struct state *s, const char *path)
{
	int code = sqlite3_errcode(s->db);
	char uri[STATE_PATH_MAX + 32];

	if (code != SQLITE_IOERR && code != SQLITE_FULL && code != SQLITE_CANTOPEN && code != SQLITE_READONLY)
		return;
	sqlite3_close(s->db);
	code = sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READWRITE, NULL);
	if (code == SQLITE_OK)
		state_distrust(s->db, s->steps, path);
	if (code == SQLITE_OK && sqlite3_busy_timeout(s->db, (int)s->wait * 1000) == SQLITE_OK &&
	    sqlite3_exec(s->db, "PRAGMA locking_mode = EXCLUSIVE", NULL, NULL, NULL) == SQLITE_OK && is_readable(s))
		return;
	sqlite3_close(s->db);
	snprintf(uri, sizeof(uri), "file:%s?immutable=1", path);
	if (sqlite3_open_v2(uri, &s->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL) == SQLITE_OK)
		state_distrust(s->db, s->steps, path);
}

/*
 * When SQLite runs out of memory or disk it may undo the transaction by itself, and would then commit each statement
 * that follows: nothing is committed but by state_commit().
 */
static int forbid_commit(void *state)
{
	return !((struct state *)state)->commits;
}

static int open_file(struct state *s, const char *path, int flags)
{
	/* One thread's: no locks but those between processes. */
	if (sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | flags, NULL) != SQLITE_OK)
		return because_sqlite(s, "opening");
	state_distrust(s->db, s->steps, path);
	/* Wait while another command opens or closes it: otherwise it would look like a file that cannot be written. */
	sqlite3_busy_timeout(s->db, (int)s->wait * 1000);
	return 0;
}

static int open_to_look(struct state *s, const char *path)
{
	int err;

	if (!*path)
		return because(-ENAMETOOLONG, "the path of the state directory is too long");
	if (access(s->directory, F_OK) && errno == ENOENT)
		return 0;
	err = trust_directory(s->directory);
	if (err)
		return err;
	if (access(path, R_OK))
		return errno == ENOENT ? 0 : because(-errno, "%s: %s", path, strerror(errno));
	err = trust_file(path, "what is banned") ?: open_file(s, path, 0);
	if (!err && !is_readable(s))
		reopen_unwritable(s, path);
	return err ?: run(s, "BEGIN") ?: check_version(s);
}

static int open_to_change(struct state *s, const char *path)
{
	char lock[STATE_PATH_MAX];
	int err = state_make_directory(s->directory);
	mode_t mask;

	if (err)
		return err;
	s->lock = lock_take(state_path(lock, s->directory, STATE_LOCK), s->wait);
	if (s->lock < 0)
		return s->lock;
	state_exchange_undo(s->directory);
	s->change = true;
	if (!access(path, F_OK))
		err = trust_file(path, "what is banned");
	if (err)
		return err;
	mask = umask(077);
	err = open_file(s, path, SQLITE_OPEN_CREATE);
	umask(mask);
	err = err
		      ?: run(s, "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
				" PRAGMA foreign_keys = ON; PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -32768;"
				" BEGIN IMMEDIATE");
	if (err)
		return err;
	sqlite3_commit_hook(s->db, forbid_commit, s);
	return check_version(s);
}

int state_open_at(struct state **state, const char *directory, long wait, bool change)
{
	struct state *s = calloc(1, sizeof(*s));
	char path[STATE_PATH_MAX];
	int err;

	*state = s;
	if (s)
		s->steps = calloc(1, sizeof(*s->steps));
	if (!s || !s->steps) {
		free(s);
		*state = NULL;
		return -ENOMEM;
	}
	s->directory = directory;
	s->wait = wait;
	s->lock = -1;
	state_path(path, directory, STATE_DATABASE);
	err = change ? open_to_change(s, path) : open_to_look(s, path);
	if (err) {
		state_close(s);
		*state = NULL;
	}
	return err;
}

int state_open(struct state **state, const struct context *context, bool change)
{
	return state_open_at(state, context->state, context->wait, change);
}

/* A commit that could not be synced is still in the log, and the next command would find it: an empty one replaces it.
 */
static void overwrite_commit(struct state *s)
{
	char sql[64] = "";
	sqlite3_stmt *stmt;

	sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	sqlite3_exec(s->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	stmt = state_prepare(s, "PRAGMA user_version");
	if (stmt && sqlite3_step(stmt) == SQLITE_ROW)
		snprintf(sql, sizeof(sql), "PRAGMA user_version = %d", sqlite3_column_int(stmt, 0));
	sqlite3_finalize(stmt);
	sqlite3_exec(s->db, sql, NULL, NULL, NULL);
	sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL);
}

int state_commit(struct state *state)
{
	int err;

	if (sqlite3_get_autocommit(state->db))
		return because(-EIO, "%s: what was to be written is undone: out of memory, or of disk",
			       state->directory);
	if (state->broken)
		return because(state->broken, "%s: a setting %s: nothing is written", state->directory,
			       err_is(state->broken, EUCLEAN) ? "is damaged (see 'xdp-bloom state recover')"
							      : "could not be read");
	state->commits = true;
	err = run(state, "COMMIT");
	if (err_is(err, EIO))
		overwrite_commit(state);
	return err;
}

int state_again(struct state *state)
{
	if (!sqlite3_get_autocommit(state->db))
		sqlite3_exec(state->db, "ROLLBACK", NULL, NULL, NULL);
	state->commits = false;
	return run(state, "BEGIN IMMEDIATE");
}

bool state_committed(struct state *state)
{
	return state && state->db && sqlite3_get_autocommit(state->db);
}

/* Emptying the log after every command would cost four more syncs; never emptying it, time to read it each time. */
static void tidy(const struct state *s)
{
	char path[STATE_PATH_MAX];
	struct stat st;

	sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	if (!s->change || stat(state_path(path, s->directory, STATE_DATABASE "-wal"), &st) ||
	    st.st_size <= LOG_BYTES_MAX)
		return;
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
	/* While another process has the file open, closing it does not empty the log. */
	if (st.st_size > LOG_BYTES_OPEN && sqlite3_get_autocommit(s->db)) {
		sqlite3_busy_timeout(s->db, 0);
		sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	}
}

void state_close(struct state *state)
{
	if (!state)
		return;
	if (!state_committed(state))
		state_drop_new_image(state);
	for (int i = 0; i < CACHED_STATEMENTS; i++)
		sqlite3_finalize(state->cached[i]);
	if (state->db)
		tidy(state);
	sqlite3_close(state->db); /* what was not committed is undone */
	close_fd(state->lock);
	free(state->steps);
	free(state);
}
