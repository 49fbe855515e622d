// SPDX-License-Identifier: GPL-2.0-only
/* What waits to be confirmed, and the versions to go back to: rows of the list table named "NAME before". */
#include <errno.h>
#include <stdlib.h>

#include "state/internal.h"
#include "base/log.h"

#define BEFORE " || ' before'"

static int read_pending(const struct state *s, sqlite3_stmt *stmt, void *entry)
{
	struct pending *one = entry;

	(void)s;
	one->kind = (enum pending_kind)sqlite3_column_int(stmt, 0);
	state_column_text(one->name, sizeof(one->name), stmt, 1);
	one->deadline = sqlite3_column_int64(stmt, 2);
	return 0;
}

int state_pending(struct state *state, struct pending **pending, size_t *n)
{
	return state_rows(state, state_prepare(state, "SELECT kind, name, deadline FROM pending ORDER BY deadline"),
			  read_pending, sizeof(**pending), pending, n);
}

/* Like state_change(), where it is all the same whether there was something. */
static int change(struct state *s, const char *sql, const char *name)
{
	int err = state_change(s, sql, name);

	return err_is(err, ENOENT) ? 0 : err;
}

int state_pending_add(struct state *state, const struct pending *pending)
{
	sqlite3_stmt *stmt = state_prepare(state, "INSERT INTO pending (kind, name, deadline) VALUES (?, ?, ?)");
	int err;

	if (!stmt)
		return because_sqlite(state, "writing");
	sqlite3_bind_int(stmt, 1, pending->kind);
	state_bind_text(stmt, 2, pending->name);
	sqlite3_bind_int64(stmt, 3, pending->deadline);
	err = state_finish(state, stmt, sqlite3_step(stmt));
	if (err || pending->kind != PENDING_LIST)
		return err;
	err = state_change(state,
			   "INSERT INTO list (name, kind, prefixes, addresses, source, loaded, format)"
			   " SELECT name" BEFORE
			   ", kind, prefixes, addresses, source, loaded, format FROM list WHERE name = ?",
			   pending->name);
	if (err)
		return err_is(err, ENOENT) ? 0 : err; /* a new list: to take it back is to drop it */
	err = change(state,
		     "UPDATE chunk SET list = (SELECT id FROM list WHERE name = ?1" BEFORE ")"
		     " WHERE list = (SELECT id FROM list WHERE name = ?1)",
		     pending->name);
	if (!err)
		err = change(state,
			     "INSERT INTO source (list, path, stamp, options)"
			     " SELECT (SELECT id FROM list WHERE name = ?1" BEFORE "), path, stamp, options FROM source"
			     " WHERE list = (SELECT id FROM list WHERE name = ?1)",
			     pending->name);
	if (!err)
		err = state_change(state,
				   "UPDATE pending SET before = (SELECT id FROM list WHERE name = ?1" BEFORE ")"
				   " WHERE kind = 0 AND name = ?1",
				   pending->name);
	return err;
}

/* The file of before, but of the same file the version of now: what nobody confirmed is not to be loaded again. */
static int undo_source(struct state *s, const char *name)
{
	int err = change(s,
			 "DELETE FROM source WHERE list = (SELECT id FROM list WHERE name = ?1) AND path IS NOT"
			 " (SELECT path FROM source WHERE list = (SELECT id FROM list WHERE name = ?1" BEFORE "))",
			 name);

	if (err)
		return err;
	return change(s,
		      "INSERT INTO source (list, path, stamp, options)"
		      " SELECT (SELECT id FROM list WHERE name = ?1), path, stamp, options FROM source"
		      " WHERE list = (SELECT id FROM list WHERE name = ?1" BEFORE ")"
		      " ON CONFLICT (list) DO UPDATE SET options = excluded.options",
		      name);
}

/* The list keeps its id and label: its place, and its counters. */
static int undo_list(struct state *s, const char *name)
{
	static const char before[] = "UPDATE list SET (kind, prefixes, addresses, source, loaded, format) ="
				     " (SELECT kind, prefixes, addresses, source, loaded, format FROM list"
				     "  WHERE name = ?1" BEFORE ")"
				     " WHERE name = ?1 AND EXISTS (SELECT 1 FROM list WHERE name = ?1" BEFORE ")";
	int err = state_change(s, before, name);

	if (err_is(err, ENOENT)) /* there was none before, or the list has been dropped since */
		return change(s,
			      "DELETE FROM list WHERE name = ?1 AND"
			      " EXISTS (SELECT 1 FROM pending WHERE kind = 0 AND name = ?1 AND before IS NULL)",
			      name);
	if (!err)
		err = change(s, "DELETE FROM chunk WHERE list = (SELECT id FROM list WHERE name = ?)", name);
	if (!err)
		err = change(s,
			     "UPDATE chunk SET list = (SELECT id FROM list WHERE name = ?1)"
			     " WHERE list = (SELECT id FROM list WHERE name = ?1" BEFORE ")",
			     name);
	return err ? err : undo_source(s, name);
}

int state_pending_forget(struct state *s, enum pending_kind kind, const char *name)
{
	int err = kind == PENDING_LIST ? change(s, "DELETE FROM pending WHERE kind = 0 AND name = ?", name)
				       : change(s, "DELETE FROM pending WHERE kind = 1 AND name = ?", name);

	return err || kind != PENDING_LIST ? err : change(s, "DELETE FROM list WHERE name = ?" BEFORE, name);
}

int state_pending_undo(struct state *state, const struct pending *pending)
{
	int err = pending->kind == PENDING_LIST ? undo_list(state, pending->name)
						: state_interface_drop(state, pending->name);

	if (err && !err_is(err, ENOENT))
		return err;
	return state_pending_forget(state, pending->kind, pending->name);
}

int state_pending_confirm(struct state *state)
{
	int err = change(state, "DELETE FROM pending", NULL);

	return err ? err : change(state, "DELETE FROM list WHERE name LIKE '% before'", NULL);
}
