// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/errand.h"
#include "state/internal.h"

static struct parked {
	struct state *state;
	struct stat file; /* as it was */
	int schema;	  /* the number that changes with it */
} parked;

static int schema_number(const struct state *s)
{
	sqlite3_stmt *stmt = state_prepare(s, "PRAGMA schema_version");
	int number = stmt && sqlite3_step(stmt) == SQLITE_ROW ? sqlite3_column_int(stmt, 0) : -1;

	sqlite3_finalize(stmt);
	return number;
}

/* Another's checkpoint has written to it, which is rare, or it was replaced. */
static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

struct state *state_parked(const char *directory)
{
	struct state *s = parked.state;
	char path[STATE_PATH_MAX];
	struct stat file;

	parked.state = NULL;
	if (!s || (!strcmp(s->directory, directory) && !stat(state_path(path, directory, STATE_DATABASE), &file) &&
		   is_same(&file, &parked.file)))
		return s;
	state_close(s);
	return NULL;
}

bool state_parked_same(const struct state *s)
{
	return schema_number(s) == parked.schema;
}

bool state_park(struct state *s)
{
	char path[STATE_PATH_MAX];

	/* After a failure it is better to look at it afresh. */
	if (errand.declined || parked.state || !s->change || !s->commits || s->made || !sqlite3_get_autocommit(s->db) ||
	    stat(state_path(path, s->directory, STATE_DATABASE), &parked.file))
		return false;
	for (int i = 0; i < CACHED_STATEMENTS; i++)
		if (s->cached[i])
			sqlite3_reset(s->cached[i]);
	parked.schema = schema_number(s);
	parked.state = s;
	return true;
}
