// SPDX-License-Identifier: GPL-2.0-only
/* The interfaces that are filtered, and how. */
#include "state/internal.h"

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
	return state_put(state, "INSERT OR REPLACE INTO interface VALUES (?, ?, ?)", "ssi", interface->name,
			 interface->mode, interface->shared);
}

int state_interface_drop(struct state *state, const char *name)
{
	return state_pending_forget(state, PENDING_INTERFACE, name)
		       ?: state_change(state, "DELETE FROM interface WHERE name = ?", name);
}
