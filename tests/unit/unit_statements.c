// SPDX-License-Identifier: GPL-2.0-only
/* What SQLite says is put into an operator's words: each of its codes, and what the system said to it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <sqlite3.h>

#include "ktap.h"

#include "state/reserve.h"

#define NO_NAMES -1

static bool needed_given(const char *directory);
static int code_given(sqlite3 *db);
static int system_given(sqlite3 *db);
static const char *text_given(sqlite3 *db);

#define sqlite3_errcode	     code_given
#define sqlite3_system_errno system_given
#define sqlite3_errmsg	     text_given
#define reserve_is_needed    needed_given

#include "state/statements.c"

static int code, of_system;

static int code_given(sqlite3 *db)
{
	return db ? code : -1;
}

static int system_given(sqlite3 *db)
{
	return db ? of_system : -1;
}

static const char *text_given(sqlite3 *db)
{
	return db ? "its words" : NULL;
}

static bool needed_given(const char *directory)
{
	return of_system == NO_NAMES && !strcmp(directory, "/dir");
}

static void in_words(void)
{
	static const struct {
		int code, system, err;
		const char *says;
	} known[] = {
		{ SQLITE_IOERR, EIO, EIO, "/dir: writing: its words" },
		{ SQLITE_IOERR, ENOSPC, ENOSPC, "/dir: writing: the disk is full" },
		{ SQLITE_CANTOPEN, ENOSPC, EIO, "/dir: writing: its words" },
		{ SQLITE_CANTOPEN, NO_NAMES, ENOSPC, "/dir: writing: the disk is full" },
		{ SQLITE_FULL, 0, ENOSPC, "/dir: writing: the disk is full" },
		{ SQLITE_NOTADB, 0, EUCLEAN,
		  "/dir: writing: the state file is damaged (its words); see 'xdp-bloom state recover'" },
		{ SQLITE_CORRUPT, ENOSPC, EUCLEAN,
		  "/dir: writing: the state file is damaged (its words); see 'xdp-bloom state recover'" },
		{ SQLITE_INTERRUPT, 0, EUCLEAN,
		  "/dir: writing: it takes longer than any state of its size; see 'xdp-bloom state recover'" },
		{ SQLITE_BUSY, 0, EBUSY,
		  "/dir: writing: another process does not let go of the state file; is it stopped?" },
		{ SQLITE_PROTOCOL, 0, EBUSY,
		  "/dir: writing: another process does not let go of the state file; is it stopped?" },
		{ SQLITE_MISUSE, ENOSPC, EIO, "/dir: writing: its words" },
		{ SQLITE_NOMEM, ENOSPC, EIO, "/dir: writing: its words" },
	};
	struct state s = { .directory = "/dir", .db = (sqlite3 *)&code };
	int err;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		code = known[i].code;
		of_system = known[i].system;
		err = because_sqlite(&s, "writing");
		CHECK(err_is(err, known[i].err) && !strcmp(reason(err), known[i].says), "%zu: %d, '%s'", i, err,
		      reason(err));
	}
	s.db = NULL;
	err = because_sqlite(&s, "reading");
	CHECK(err_is(err, EIO) && !strcmp(reason(err), "/dir: reading: out of memory"), "%d, '%s'", err, reason(err));
}

/* A question of a file may take so many steps; each statement of ours gives more. */
static void steps(void)
{
	struct steps s = { 0 };
	unsigned int looks = 0;
	sqlite3 *db;

	if (!CHECK(sqlite3_open(":memory:", &db) == SQLITE_OK, "no database"))
		return;
	state_distrust(db, &s, "/nowhere/at/all");
	CHECK(s.most == STEPS_LEAST && !s.done, "%llu", (unsigned long long)s.most);
	while (!on_steps(&s))
		looks++;
	CHECK(looks == STEPS_LEAST / STEPS_LOOK, "%u looks", looks);
	begin_steps(&s);
	CHECK(!s.done && s.most == STEPS_LEAST + STEPS_STATEMENT, "%llu", (unsigned long long)s.most);
	CHECK(sqlite3_limit(db, SQLITE_LIMIT_LENGTH, -1) == VALUE_BYTES_MAX, "a value may be longer");
	for (int what = 0; what < 4; what++) {
		static const struct {
			int option, is;
		} options[] = { { SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
				{ SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 },
				{ SQLITE_DBCONFIG_ENABLE_VIEW, 0 },
				{ SQLITE_DBCONFIG_DEFENSIVE, 1 } };
		int is = -1;

		sqlite3_db_config(db, options[what].option, -1, &is);
		CHECK(is == options[what].is, "option %d is %d", what, is);
	}
	sqlite3_close(db);
}

/* The larger the file and its log, the more. */
static void steps_of_files(void)
{
	char path[200], log[220];
	struct steps s;
	sqlite3 *db;
	int fd;

	snprintf(path, sizeof(path), "%s/unit_statements.XXXXXX", getenv("TMPDIR") ?: "/tmp");
	fd = mkstemp(path);
	snprintf(log, sizeof(log), "%s-wal", path);
	if (!CHECK(fd >= 0 && sqlite3_open(":memory:", &db) == SQLITE_OK, "no file, or no database"))
		return;
	for (int i = 0; i < 2; i++) {
		CHECK(!ftruncate(fd, 0), "%s", path);
		state_distrust(db, &s, path);
		CHECK(s.most == STEPS_LEAST + (i ? (uint64_t)STEPS_BYTE * 3000 : 0), "%llu",
		      (unsigned long long)s.most);
		CHECK(!ftruncate(fd, 1), "%s", path);
		state_distrust(db, &s, path);
		CHECK(s.most == STEPS_LEAST + (uint64_t)STEPS_BYTE * (i ? 3001 : 1), "%llu",
		      (unsigned long long)s.most);
		CHECK(!ftruncate(fd, (off_t)1 << 30), "%s", path);
		state_distrust(db, &s, path);
		CHECK(s.most == STEPS_LEAST + STEPS_BYTE * (((uint64_t)1 << 30) + (i ? 3000 : 0)), "%llu",
		      (unsigned long long)s.most);
		if (!i) {
			int other = open(log, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

			CHECK(other >= 0 && !ftruncate(other, 3000), "%s", log);
			close(other);
		}
	}
	sqlite3_close(db);
	close(fd);
	unlink(path);
	unlink(log);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "what is wrong, in words", in_words },
		{ "how long a question may take", steps },
		{ "how long one of a large file", steps_of_files },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
