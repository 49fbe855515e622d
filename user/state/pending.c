// SPDX-License-Identifier: GPL-2.0-only
/* What waits to be confirmed, and the versions to go back to: rows of the list table named "NAME before". */
#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "state/internal.h"

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

int state_pending_add(struct state *state, const struct pending *pending)
{
	const char *name = pending->name;
	int err = state_put(state, "INSERT INTO pending (kind, name, deadline) VALUES (?, ?, ?)", "isI", pending->kind,
			    name, (sqlite3_int64)pending->deadline);

	if (err || pending->kind != PENDING_LIST)
		return err;
	err = state_change(state,
			   "INSERT INTO list (name, kind, prefixes, addresses, source, loaded, format)"
			   " SELECT name" BEFORE
			   ", kind, prefixes, addresses, source, loaded, format FROM list WHERE name = ?",
			   name);
	if (err)
		return err_is(err, ENOENT) ? 0 : err; /* a new list: to take it back is to drop it */
	return state_put(state,
			 "UPDATE chunk SET list = (SELECT id FROM list WHERE name = ?1" BEFORE ")"
			 " WHERE list = (SELECT id FROM list WHERE name = ?1)", "s", name) ?:
	       state_put(state,
			 "INSERT INTO source (list, path, stamp, options)"
			 " SELECT (SELECT id FROM list WHERE name = ?1" BEFORE "), path, stamp, options FROM source"
			 " WHERE list = (SELECT id FROM list WHERE name = ?1)", "s", name) ?:
	       state_put(state,
			 "UPDATE pending SET before = (SELECT id FROM list WHERE name = ?1" BEFORE ")"
			 " WHERE kind = 0 AND name = ?1", "s", name);
}

/* Back to the file of before; of the same file the version of now stays: it was refused and is not loaded again. */
static int undo_source(struct state *s, const char *name)
{
	return state_put(s,
			 "DELETE FROM source WHERE list = (SELECT id FROM list WHERE name = ?1) AND path IS NOT"
			 " (SELECT path FROM source WHERE list = (SELECT id FROM list WHERE name = ?1" BEFORE "))",
			 "s", name)
		       ?: state_put(s,
				    "INSERT INTO source (list, path, stamp, options)"
				    " SELECT (SELECT id FROM list WHERE name = ?1), path, stamp, options FROM source"
				    " WHERE list = (SELECT id FROM list WHERE name = ?1" BEFORE ")"
				    " ON CONFLICT (list) DO UPDATE SET options = excluded.options",
				    "s", name);
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
		return state_put(s,
				 "DELETE FROM list WHERE name = ?1 AND"
				 " EXISTS (SELECT 1 FROM pending WHERE kind = 0 AND name = ?1 AND before IS NULL)",
				 "s", name);
	return err ?:
	       state_put(s, "DELETE FROM chunk WHERE list = (SELECT id FROM list WHERE name = ?)", "s", name) ?:
	       state_put(s,
			 "UPDATE chunk SET list = (SELECT id FROM list WHERE name = ?1)"
			 " WHERE list = (SELECT id FROM list WHERE name = ?1" BEFORE ")", "s", name) ?:
	       undo_source(s, name);
}

int state_pending_forget(struct state *s, enum pending_kind kind, const char *name)
{
	int err = state_put(s, "DELETE FROM pending WHERE kind = ? AND name = ?", "is", kind, name);

	return err || kind != PENDING_LIST ? err : state_put(s, "DELETE FROM list WHERE name = ?" BEFORE, "s", name);
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
	return state_put(state, "DELETE FROM pending", "")
		       ?: state_put(state, "DELETE FROM list WHERE name LIKE '% before'", "");
}
