// SPDX-License-Identifier: GPL-2.0-only
/* Rows of the settings' table, as those of grants.c. */
#include "state/proven.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "state/internal.h"
#include "state/settings.h"

#define PROVEN "proven "

int state_prove(struct state *state, const char *name, bool proven)
{
	char setting[sizeof(PROVEN) + IF_NAMESIZE];

	snprintf(setting, sizeof(setting), PROVEN "%s", name);
	return proven ? state_set(state, setting, 1)
		      : state_put(state, "DELETE FROM setting WHERE name = ?", "s", setting);
}

bool state_proven_is_sound(const char *name)
{
	return strncmp(name, PROVEN, strlen(PROVEN)) != 0 || is_interface_name(name + strlen(PROVEN));
}

static int read_proven(const struct state *s, sqlite3_stmt *stmt, void *entry)
{
	struct row row = { .stmt = stmt };
	struct proven *proven = entry;

	row_text(&row, 0, proven->name, sizeof(proven->name));
	if (err_is(row.err, ENOMEM) || (!row.err && is_interface_name(proven->name)))
		return row.err;
	return because(-EUCLEAN, "%s: which interfaces are proven is damaged; see 'xdp-bloom state recover'",
		       s->directory);
}

int state_proven(struct state *state, struct proven **proven, size_t *n)
{
	return state_rows(state,
			  state_prepare(state, "SELECT substr(name, 8) FROM setting WHERE name GLOB '" PROVEN "*'"
					       " ORDER BY name"),
			  read_proven, sizeof(**proven), proven, n);
}
