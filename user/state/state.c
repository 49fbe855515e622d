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
#include "base/errand.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/trusted_dir.h"

#define LOG_BYTES_MAX  (256 << 10)
#define LOG_BYTES_OPEN (1 << 20)

static int make_directories(const char *directory, int *made)
{
	char path[STATE_PATH_MAX];

	if (!*state_path(path, directory, ""))
		return because(-ENAMETOOLONG, "%s: the path is too long", directory);
	/* As a rule it is there. */
	if (!mkdir(directory, 0700)) {
		++*made;
	} else if (errno != EEXIST) {
		for (char *slash = path + 1; (slash = strchr(slash, '/')) && slash[1]; *slash++ = '/') {
			*slash = '\0';
			if (!mkdir(path, 0755))
				++*made;
			else if (errno != EEXIST)
				return because(-errno, "%s: %s", path, strerror(errno));
		}
		if (!mkdir(directory, 0700))
			++*made;
		else if (errno != EEXIST)
			return because(-errno, "%s: %s", directory, strerror(errno));
	}
	return trust_directory(directory);
}

int state_make_directory(const char *directory)
{
	int made = 0;

	return make_directories(directory, &made);
}

#define TRIES 1000 /* each time another command has taken the directory away in between */

/* Whoever made the directory and left nothing in it takes it away, with the lock that we may have waited for. */
static int take_lock(struct state *s)
{
	char lock[STATE_PATH_MAX];
	struct stat is;
	int err;

	for (int tries = 0;; tries++) {
		err = make_directories(s->directory, &s->made);
		if (err_is(err, ENOENT) && tries < TRIES)
			continue;
		if (err)
			return err;
		s->lock = lock_take(state_path(lock, s->directory, STATE_LOCK), s->wait);
		/* Under /proc no file can be made at all. */
		if (err_is(s->lock, ENOENT) && tries < TRIES)
			continue;
		if (err_is(s->lock, EBUSY) && errand.here)
			return errand_decline("another command is at work");
		if (s->lock < 0)
			return s->lock;
		if (fstat(s->lock, &is) || is.st_nlink)
			return 0;
		close_fd(s->lock);
		s->lock = -1;
	}
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

/* Ours has a page from its first moment on. SQLite goes on from what is less than one as from nothing. */
static int refuse_empty(const struct state *s, const char *path)
{
	struct stat st;

	if (stat(path, &st) || st.st_size >= STATE_PAGE_LEAST)
		return 0;
	return because(
		-EUCLEAN,
		"%s: the state file is damaged: something has cut it off; to begin with an empty state, move it away",
		s->directory);
}

/* Killed on the way, we leave no file, or one with a page. What is there is never replaced. */
static int make_file(struct state *s, const char *path)
{
	char made[STATE_PATH_MAX];
	int err;

	if (!access(path, F_OK) || errno != ENOENT)
		return refuse_empty(s, path);
	err = state_workshop(s->directory, made) ?: open_file(s, made, SQLITE_OPEN_CREATE);
	err = err ?: state_run(s, "PRAGMA page_size = 8192; PRAGMA journal_mode = OFF; PRAGMA user_version = 0");
	sqlite3_close(s->db);
	s->db = NULL;
	if (!err && link(made, path) && errno != EEXIST)
		err = because(-errno, "%s: %s", path, strerror(errno));
	state_exchange_undo(s->directory);
	return err;
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
		return err_is(err, ENOENT) ? 0 : err;
	if (access(path, R_OK))
		return errno == ENOENT ? 0 : because(-errno, "%s: %s", path, strerror(errno));
	err = trust_file(path, "what is banned") ?: refuse_empty(s, path) ?: open_file(s, path, 0);
	if (!err && !is_readable(s))
		reopen_unwritable(s, path);
	return err ?: state_run(s, "BEGIN") ?: state_check_version(s);
}

/* As it was left, and whatever others have written since. */
static int open_again(struct state *s, const char *path)
{
	int err;

	state_distrust(s->db, s->steps, path);
	err = state_run(s, "BEGIN IMMEDIATE");
	if (err || state_parked_same(s))
		return err;
	return state_check_version(s);
}

static int open_afresh(struct state *s, const char *path)
{
	mode_t mask = umask(077);
	/* What is made to replace another is not looked at where we are killed. */
	int err = state_in_workshop(s->directory) ? 0 : make_file(s, path);

	err = err ?: open_file(s, path, SQLITE_OPEN_CREATE);

	umask(mask);
	err = err
		      ?: state_run(
				 s,
				 "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
				 " PRAGMA foreign_keys = ON; PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -32768;"
				 " BEGIN IMMEDIATE");
	if (err)
		return err;
	sqlite3_commit_hook(s->db, forbid_commit, s);
	return state_check_version(s);
}

static int open_to_change(struct state *s, const char *path)
{
	int err = take_lock(s);

	if (err)
		return err;
	state_exchange_undo(s->directory);
	s->change = true;
	if (!access(path, F_OK))
		err = trust_file(path, "what is banned");
	if (!err)
		err = s->db ? open_again(s, path) : open_afresh(s, path);
	if (!err)
		state_bans_look(s);
	return err;
}

int state_open_at(struct state **state, const char *directory, long wait, bool change)
{
	struct state *s = change ? state_parked(directory) : NULL;
	char path[STATE_PATH_MAX];
	int err;

	if (!s)
		s = calloc(1, sizeof(*s));
	*state = s;
	if (s && !s->steps)
		s->steps = calloc(1, sizeof(*s->steps));
	if (!s || !s->steps) {
		free(s);
		*state = NULL;
		return -ENOMEM;
	}
	s->directory = directory;
	s->wait = errand.here ? 0 : wait;
	s->lock = -1;
	state_path(path, directory, STATE_DATABASE);
	err = change ? open_to_change(s, path) : open_to_look(s, path);
	if (err && change && errand.here)
		err = errand_decline(reason(err));
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
	err = state_bans_keep(state);
	if (err)
		return err;
	state->commits = true;
	err = state_run(state, "COMMIT");
	if (err_is(err, EIO))
		overwrite_commit(state);
	return err;
}

int state_again(struct state *state)
{
	int err;

	if (!sqlite3_get_autocommit(state->db))
		sqlite3_exec(state->db, "ROLLBACK", NULL, NULL, NULL);
	state->commits = false;
	state->said = SAID_UNKNOWN;
	state->behind = BEHIND_UNKNOWN;
	state->out_known = false;
	err = state_run(state, "BEGIN IMMEDIATE");
	if (!err)
		state_bans_look(state);
	return err;
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

static bool is_one(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	bool is = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW &&
		  sqlite3_column_int(stmt, 0) == 1;

	sqlite3_finalize(stmt);
	return is;
}

/* Was the directory made for a command that then kept nothing in it? Under the lock. */
static bool is_for_nothing(struct state *s)
{
	if (!s->made || s->lock < 0 || !s->db)
		return s->made && s->lock >= 0 && !s->db;
	if (!sqlite3_get_autocommit(s->db))
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	if (s->joined && is_one(s->db, "SELECT EXISTS (SELECT 1 FROM fleet)"))
		return false;
	return is_one(s->db, "SELECT NOT EXISTS (SELECT 1 FROM sqlite_master)") ||
	       is_one(s->db, "SELECT NOT (EXISTS (SELECT 1 FROM list) OR EXISTS (SELECT 1 FROM interface) OR"
			     " EXISTS (SELECT 1 FROM pending) OR EXISTS (SELECT 1 FROM setting) OR"
			     " EXISTS (SELECT 1 FROM ban) OR EXISTS (SELECT 1 FROM member))");
}

/* What others have put there meanwhile stays, and the directory with it. */
static void take_away(const struct state *s)
{
	static const char *const files[] = { STATE_DATABASE "-shm", STATE_DATABASE "-wal", STATE_DATABASE, STATE_LOCK };
	char path[STATE_PATH_MAX];
	char *slash;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		unlink(state_path(path, s->directory, files[i]));
	snprintf(path, sizeof(path), "%s", s->directory);
	for (int i = 0; i < s->made; i++) {
		while ((slash = strrchr(path, '/')) && !slash[1] && slash != path)
			*slash = '\0';
		if (rmdir(path) || !slash)
			return;
		*slash = '\0';
	}
}

/* All but the file and what is prepared is of one command. */
static bool park(struct state *s)
{
	struct state bare = { .directory = s->directory,
			      .db = s->db,
			      .steps = s->steps,
			      .version = s->version,
			      .joined = s->joined,
			      .lock = -1 };

	if (!errand.here || !s->db)
		return false;
	tidy(s);
	if (!state_park(s))
		return false;
	close_fd(s->lock);
	memcpy(bare.cached, s->cached, sizeof(bare.cached));
	*s = bare;
	return true;
}

void state_close(struct state *state)
{
	bool nothing;

	if (!state)
		return;
	if (park(state))
		return;
	if (!state->db || !sqlite3_get_autocommit(state->db))
		state_drop_new_image(state);
	for (int i = 0; i < CACHED_STATEMENTS; i++)
		sqlite3_finalize(state->cached[i]);
	nothing = is_for_nothing(state);
	if (state->db)
		tidy(state);
	sqlite3_close(state->db); /* what was not committed is undone */
	if (nothing)
		take_away(state);
	close_fd(state->lock);
	free(state->steps);
	free(state);
}
