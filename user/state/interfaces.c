// SPDX-License-Identifier: GPL-2.0-only
/* The interfaces that are filtered, and how. */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "state/internal.h"

bool is_interface_name(const char *name)
{
	size_t length = strlen(name);

	return length && length < IF_NAMESIZE && strcmp(name, ".") && strcmp(name, "..") &&
	       !name[strcspn(name, "/: \t\n\v\f\r")];
}

int state_read_interface(const struct state *s, sqlite3_stmt *stmt, void *entry)
{
	struct row row = { .stmt = stmt };
	struct interface_info *interface = entry;

	row_text(&row, 0, interface->name, sizeof(interface->name));
	row_text(&row, 1, interface->mode, sizeof(interface->mode));
	interface->shared = row_number(&row, 2, 0, 1);
	if (!row.err && is_interface_name(interface->name) && *interface->mode &&
	    !interface->mode[strspn(interface->mode, "abcdefghijklmnopqrstuvwxyz")])
		return 0;
	return err_is(row.err, ENOMEM)
		       ? row.err
		       : because(-EUCLEAN, "%s: the entry of interface '%s' is damaged; see 'xdp-bloom state recover'",
				 s->directory, interface->name);
}

int state_interfaces(struct state *state, struct interface_info **interfaces, size_t *n)
{
	return state_rows(state, state_prepare(state, "SELECT name, mode, shared FROM interface ORDER BY name"),
			  state_read_interface, sizeof(**interfaces), interfaces, n);
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
