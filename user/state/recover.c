// SPDX-License-Identifier: GPL-2.0-only
#include "state/recover.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/context.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/trusted_dir.h"
#include "state/internal.h"
#include "state/settings.h"

/* A list of which a part is gone is not kept. */
static int drop_parts(struct state *state, struct recovered *r)
{
	struct list_info *lists;
	size_t n;
	int err = state_entries(state, &lists, &n);

	for (size_t i = 0; i < n && !err; i++) {
		if (!lists[i].damaged && state_list_is_whole(state, &lists[i])) {
			r->lists++;
			continue;
		}
		if (r->lost_n < sizeof(r->lost) / sizeof(r->lost[0])) {
			memcpy(r->lost[r->lost_n].name, lists[i].name, sizeof(lists[i].name));
			memcpy(r->lost[r->lost_n++].source, lists[i].source, sizeof(lists[i].source));
		}
		r->whole = false;
		/* By its row: a damaged name is not the one that is shown. */
		err = state_pending_forget(state, PENDING_LIST, lists[i].name)
			      ?: state_pending_forget(state, PENDING_LIST_KIND, lists[i].name)
			      ?: state_put(state, "DELETE FROM list WHERE id = ?", "I", (sqlite3_int64)lists[i].row);
	}
	free(lists);
	return err;
}

/* A version that cannot be gone back to: the one in force stays, and waits for nothing. */
static int drop_versions(struct state *state, struct recovered *r)
{
	struct list_info *lists;
	size_t n;
	int err = state_entries_before(state, &lists, &n);

	for (size_t i = 0; i < n && !err; i++) {
		if (state_list_before_is_whole(state, &lists[i]))
			continue;
		r->whole = false;
		err = state_put(state, "DELETE FROM pending WHERE kind = 0 AND before = ?", "I",
				(sqlite3_int64)lists[i].row)
			      ?: state_put(state, "DELETE FROM list WHERE id = ?", "I", (sqlite3_int64)lists[i].row);
	}
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

/* Ahead of the kernel, so that the next command builds the filter from this state. */
static int set_ahead(struct state *state, unsigned long long in_force)
{
	double number = state_setting(state, SETTING_GENERATION, 0);

	if (number < (double)in_force)
		number = (double)in_force;
	return state_set(state, SETTING_GENERATION, number + 1);
}

#define NOTHING "%s: nothing can be saved: %s; to begin with an empty state, move it away"

/* SQLite believes the journal that lies beside it, too: nobody else may put one there. */
static int trust_all(const char *path)
{
	static const char *const journals[] = { "-wal", "-shm", "-journal" };
	static const char what[] = "what is banned";
	char real[PATH_MAX], other[PATH_MAX + 16];
	struct stat is;
	int err;

	if (!realpath(path, real))
		return because(-errno, "%s: %s", path, strerror(errno));
	snprintf(other, sizeof(other), "%s", real);
	other[strrchr(other, '/') - other ?: 1] = '\0';
	err = trust_directory(other) ?: trust_file(real, what);
	for (size_t i = 0; i < sizeof(journals) / sizeof(*journals) && !err; i++) {
		snprintf(other, sizeof(other), "%s%s", real, journals[i]);
		if (lstat(other, &is))
			err = errno == ENOENT ? 0 : because(-errno, "%s: %s", other, strerror(errno));
		else
			err = S_ISREG(is.st_mode) ? trust_file(other, what)
						  : because(-EINVAL, "%s: not a regular file", other);
	}
	return err;
}

/* The damaged file is not changed: not even its journal is played into it. */
static int open_damaged(const char *path, sqlite3 **db, struct steps *steps)
{
	struct stat st;

	if (access(path, R_OK) || stat(path, &st))
		return because(-errno, "%s: %s", path, strerror(errno));
	if (st.st_size < STATE_PAGE_LEAST)
		return because(-EUCLEAN, NOTHING, path, "it is empty");
	if (sqlite3_open_v2(path, db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
		return because(-EIO, "%s: %s", path, sqlite3_errmsg(*db));
	state_distrust(*db, steps, path);
	sqlite3_db_config(*db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	sqlite3_db_config(*db, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
	/* With it SQLite opens files that are shorter than their header says. */
	sqlite3_db_config(*db, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, NULL);
	if (sqlite3_exec(*db, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	return because(-EUCLEAN, NOTHING, path, sqlite3_errmsg(*db));
}

/* Only the file itself is moved into place, so it must not have a journal. */
static int into_one_file(struct state *s)
{
	sqlite3_stmt *stmt = state_prepare(s, "PRAGMA journal_mode = DELETE");
	bool done = stmt && sqlite3_step(stmt) == SQLITE_ROW &&
		    !strcmp((const char *)sqlite3_column_text(stmt, 0), "delete");
	int err = done ? 0 : because_sqlite(s, "the new state's journal");

	sqlite3_finalize(stmt);
	return err;
}

static int make_new(const char *path, const char *workshop, unsigned long long in_force, struct recovered *r)
{
	struct state *to;
	sqlite3 *from = NULL;
	struct steps steps;
	int err = state_open_at(&to, workshop, 0, true) ?: open_damaged(path, &from, &steps) ?: state_salvage(to, from, r);

	sqlite3_close(from);
	err = err ?:
	      drop_parts(to, r) ?:
	      drop_versions(to, r) ?:
	      count(to, "SELECT count(*) FROM (SELECT name FROM interface UNION SELECT name FROM leaving)", &r->interfaces) ?:
	      count(to, "SELECT count(*) FROM ban", &r->bans) ?:
	      set_ahead(to, in_force) ?:
	      state_commit(to) ?:
	      into_one_file(to);
	state_close(to);
	return err;
}

int state_recover(const struct context *context, const char *path,
		  unsigned long long (*in_force)(const struct context *), struct recovered *r)
{
	char workshop[STATE_PATH_MAX], lock_path[STATE_PATH_MAX];
	int lock, err = state_make_directory(context->state);

	memset(r, 0, sizeof(*r));
	lock = err ?: trust_all(path) ?: lock_take(state_path(lock_path, context->state, STATE_LOCK), context->wait);
	if (lock < 0)
		return lock;
	state_exchange_undo(context->state);
	err = make_new(path, state_path(workshop, context->state, STATE_WORKSHOP), in_force ? in_force(context) : 0, r);
	err = err ?: state_exchange(context->state, r->kept);
	state_exchange_undo(context->state);
	close(lock);
	return err;
}
