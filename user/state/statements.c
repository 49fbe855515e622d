// SPDX-License-Identifier: GPL-2.0-only
#include "state/internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/grow.h"
#include "base/log.h"
#include "state/reserve.h"

/* The largest value of ours is a piece of a list (list_chunks.c). */
#define VALUE_BYTES_MAX (256 << 20)

/*
 * Steps that a question may take: for any file; for each byte of it (a row has ten at least, and takes some forty
 * steps); for each statement of this command, which may have made the file larger.
 */
#define STEPS_LEAST	(20 << 20)
#define STEPS_BYTE	64
#define STEPS_STATEMENT 1024
#define STEPS_LOOK	(64 << 10)

static int on_steps(void *arg)
{
	struct steps *steps = arg;

	steps->done += STEPS_LOOK;
	return steps->done > steps->most;
}

void state_distrust(sqlite3 *db, struct steps *steps, const char *path)
{
	char log[STATE_PATH_MAX];
	struct stat st;

	*steps = (struct steps){ .most = STEPS_LEAST };
	if (!stat(path, &st) && st.st_size > 0)
		steps->most += STEPS_BYTE * (uint64_t)st.st_size;
	snprintf(log, sizeof(log), "%s-wal", path);
	if (!stat(log, &st) && st.st_size > 0)
		steps->most += STEPS_BYTE * (uint64_t)st.st_size;
	sqlite3_progress_handler(db, STEPS_LOOK, on_steps, steps);
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
}

int because_sqlite(const struct state *s, const char *what)
{
	int code = s->db ? sqlite3_errcode(s->db) : SQLITE_NOMEM;

	switch (code) {
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN: /* its log or index, for whose name the disk has no place */
		if (code == SQLITE_IOERR ? sqlite3_system_errno(s->db) != ENOSPC : !reserve_is_needed(s->directory))
			return because(-EIO, "%s: %s: %s", s->directory, what, sqlite3_errmsg(s->db));
		/* fall through */
	case SQLITE_FULL:
		return because(-ENOSPC, "%s: %s: the disk is full", s->directory, what);
	case SQLITE_NOTADB:
	case SQLITE_CORRUPT:
		return because(-EUCLEAN, "%s: %s: the state file is damaged (%s); see 'xdp-bloom state recover'",
			       s->directory, what, sqlite3_errmsg(s->db));
	case SQLITE_INTERRUPT:
		return because(-EUCLEAN,
			       "%s: %s: it takes longer than any state of its size; see 'xdp-bloom "
			       "state recover'",
			       s->directory, what);
	case SQLITE_BUSY:
	case SQLITE_PROTOCOL: /* it stands still while it takes or gives back its locks */
		return because(-EBUSY, "%s: %s: another process does not let go of the state file; is it stopped?",
			       s->directory, what);
	default:
		return because(-EIO, "%s: %s: %s", s->directory, what, s->db ? sqlite3_errmsg(s->db) : "out of memory");
	}
}

static void begin_steps(struct steps *steps)
{
	steps->done = 0;
	steps->most += STEPS_STATEMENT;
}

int state_run(struct state *s, const char *sql)
{
	return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : because_sqlite(s, "the state");
}

sqlite3_stmt *state_prepare(const struct state *s, const char *sql)
{
	sqlite3_stmt *stmt = NULL;

	begin_steps(s->steps);
	return s->db && sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL) == SQLITE_OK ? stmt : NULL;
}

sqlite3_stmt *state_cached(struct state *s, enum cached_statement which, const char *sql)
{
	if (!s->cached[which])
		s->cached[which] = state_prepare(s, sql);
	begin_steps(s->steps);
	sqlite3_reset(s->cached[which]);
	return s->cached[which];
}

int state_finish(const struct state *s, sqlite3_stmt *stmt, int code)
{
	int err = code == SQLITE_DONE || code == SQLITE_ROW ? 0 : because_sqlite(s, "the state");

	sqlite3_finalize(stmt);
	return err;
}

int state_end(const struct state *s, sqlite3_stmt *stmt, int code)
{
	if (!stmt)
		return s->db ? because_sqlite(s, "reading") : 0;
	return state_finish(s, stmt, code);
}

int state_rows(struct state *s, sqlite3_stmt *stmt, state_row *read, size_t size, void *array, size_t *n)
{
	char *rows = NULL, *grown;
	int code = SQLITE_DONE, err = 0;

	for (*n = 0; stmt && !err && (code = sqlite3_step(stmt)) == SQLITE_ROW; ++*n) {
		grown = grow(rows, *n, size);
		err = grown ? read(s, stmt, memset(grown + *n * size, 0, size)) : -ENOMEM;
		rows = grown ? grown : rows;
	}
	if (err)
		sqlite3_finalize(stmt);
	else
		err = state_end(s, stmt, code);
	if (err) {
		free(rows);
		rows = NULL;
		*n = 0;
	}
	memcpy(array, &rows, sizeof(rows));
	return err;
}

void state_bind_text(sqlite3_stmt *stmt, int at, const char *text)
{
	sqlite3_bind_text(stmt, at, text, -1, SQLITE_STATIC);
}

int state_put(struct state *s, const char *sql, const char *types, ...)
{
	sqlite3_stmt *stmt = state_prepare(s, sql);
	va_list args;

	if (!stmt)
		return because_sqlite(s, "the state");
	va_start(args, types);
	for (int at = 1; *types; at++, types++) {
		if (*types == 's')
			state_bind_text(stmt, at, va_arg(args, const char *));
		else if (*types == 'f')
			sqlite3_bind_double(stmt, at, va_arg(args, double));
		else
			sqlite3_bind_int64(stmt, at, *types == 'I' ? va_arg(args, sqlite3_int64) : va_arg(args, int));
	}
	va_end(args);
	return state_finish(s, stmt, sqlite3_step(stmt));
}

int state_change(struct state *s, const char *sql, const char *name)
{
	return state_put(s, sql, "s", name) ?: sqlite3_changes(s->db) ? 0 : -ENOENT;
}
