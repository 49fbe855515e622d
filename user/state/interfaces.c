// SPDX-License-Identifier: GPL-2.0-only
/* The interfaces that are filtered, and how. */
#include "state/internal.h"

#include <errno.h>

static int read_interface(const struct state *s, sqlite3_stmt *stmt, void *entry)
{
	struct interface_info *interface = entry;

	(void)s;
	state_column_text(interface->name, sizeof(interface->name), stmt, 0);
	state_column_text(interface->mode, sizeof(interface->mode), stmt, 1);
	interface->shared = sqlite3_column_int(stmt, 2);
	return 0;
}

int state_interfaces(struct state *state, struct interface_info **interfaces, size_t *n)
{
	return state_rows(state, state_prepare(state, "SELECT name, mode, shared FROM interface ORDER BY name"),
			  read_interface, sizeof(**interfaces), interfaces, n);
}

int state_interface_put(struct state *state, const struct interface_info *interface)
{
	sqlite3_stmt *stmt = state_prepare(state, "INSERT OR REPLACE INTO interface VALUES (?, ?, ?)");

	if (!stmt)
		return because_sqlite(state, "writing");
	state_bind_text(stmt, 1, interface->name);
	state_bind_text(stmt, 2, interface->mode);
	sqlite3_bind_int(stmt, 3, interface->shared);
	return state_finish(state, stmt, sqlite3_step(stmt));
}

int state_interface_drop(struct state *state, const char *name)
{
	int err = state_pending_forget(state, PENDING_INTERFACE, name);

	return err ? err : state_change(state, "DELETE FROM interface WHERE name = ?", name);
}
