// SPDX-License-Identifier: GPL-2.0-only
/* The interfaces that are filtered, and how. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/label.h"
#include "base/log.h"
#include "bpf/abi.h"
#include "state/internal.h"
#include "state/ports.h"

/* A mode, and the one of what leaves. */
#define BY_TC "tc"

bool is_interface_name(const char *name)
{
	size_t length = strlen(name);

	return length && length < IF_NAMESIZE && strcmp(name, ".") && strcmp(name, "..") &&
	       !name[strcspn(name, "/: \t\n\v\f\r")];
}

bool is_mode(const char *mode)
{
	return *mode && !mode[strspn(mode, "abcdefghijklmnopqrstuvwxyz")];
}

static int because_damaged(const struct state *s, int err, const char *name)
{
	return err_is(err, ENOMEM)
		       ? err
		       : because(-EUCLEAN, "%s: the entry of interface '%s' is damaged; see 'xdp-bloom state recover'",
				 s->directory, name);
}

int state_read_interface(const struct state *s, sqlite3_stmt *stmt, void *entry)
{
	struct row row = { .stmt = stmt };
	struct interface_info *interface = entry;

	row_text(&row, 0, interface->name, sizeof(interface->name));
	row_text(&row, 1, interface->mode, sizeof(interface->mode));
	interface->shared = row_number(&row, 2, 0, 1);
	if (!row.err && is_interface_name(interface->name) && is_mode(interface->mode))
		return 0;
	return because_damaged(s, row.err, interface->name);
}

static int read_match(const struct state *s, sqlite3_stmt *stmt, void *entry, unsigned int least)
{
	struct row row = { .stmt = stmt };
	struct interface_info *interface = entry;

	row_text(&row, 0, interface->name, sizeof(interface->name));
	interface->match = (unsigned int)row_number(&row, 1, least, MATCHES - 1);
	return !row.err && is_interface_name(interface->name) ? 0 : because_damaged(s, row.err, interface->name);
}

int state_read_matched(const struct state *s, sqlite3_stmt *stmt, void *entry)
{
	return read_match(s, stmt, entry, MATCH_SOURCE + 1);
}

int state_read_leaving(const struct state *s, sqlite3_stmt *stmt, void *entry)
{
	struct interface_info *interface = entry;
	int err = read_match(s, stmt, entry, MATCH_SOURCE);

	interface->match = MATCH_LEAVING(interface->match);
	snprintf(interface->mode, sizeof(interface->mode), BY_TC);
	return err;
}

static int add_leaving(struct state *state, struct interface_info **interfaces, size_t *n)
{
	struct interface_info *leaving = NULL;
	size_t leaving_n = 0;
	int err;

	if (state->version < VERSION_LEAVING)
		return 0;
	err = state_rows(state, state_prepare(state, "SELECT name, match FROM leaving ORDER BY name"),
			 state_read_leaving, sizeof(*leaving), &leaving, &leaving_n);
	for (size_t i = 0; i < leaving_n && !err; i++) {
		if (GROW(*interfaces, *n))
			(*interfaces)[(*n)++] = leaving[i];
		else
			err = -ENOMEM;
	}
	free(leaving);
	return err;
}

static int add_matches(struct state *state, struct interface_info *interfaces, size_t n)
{
	struct interface_info *matched = NULL;
	size_t matched_n = 0;
	int err;

	if (!n || state->version < VERSION_MATCHED)
		return 0;
	err = state_rows(state, state_prepare(state, "SELECT name, match FROM matched"), state_read_matched,
			 sizeof(*matched), &matched, &matched_n);
	for (size_t i = 0; i < matched_n && !err; i++)
		for (size_t j = 0; j < n; j++)
			if (!strcmp(matched[i].name, interfaces[j].name))
				interfaces[j].match = matched[i].match;
	free(matched);
	return err;
}

/* Of what comes in. Versions that do not know this mode take skb. */
static void mark_tc(struct interface_info *interfaces, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(interfaces[i].mode, BY_TC)) {
			interfaces[i].match = MATCH_COMING(interfaces[i].match);
			interfaces[i].shared = false; /* it is beside others anyway */
		}
}

int state_interfaces(struct state *state, struct interface_info **interfaces, size_t *n)
{
	int err = state_rows(state, state_prepare(state, "SELECT name, mode, shared FROM interface ORDER BY name"),
			     state_read_interface, sizeof(**interfaces), interfaces, n);

	err = err ?: add_matches(state, *interfaces, *n);
	if (!err) {
		mark_tc(*interfaces, *n);
		err = add_leaving(state, interfaces, n);
	}
	if (err) {
		free(*interfaces);
		*interfaces = NULL;
		*n = 0;
	}
	return err;
}

int state_interface_put(struct state *state, const struct interface_info *interface)
{
	int err;

	if (MATCH_LEAVES(interface->match))
		return state_put(state, "INSERT OR REPLACE INTO leaving VALUES (?, ?)", "si", interface->name,
				 (int)MATCH_OF(interface->match));
	err = state_put(state, "INSERT OR REPLACE INTO interface VALUES (?, ?, ?)", "ssi", interface->name,
			interface->mode, interface->shared)
		      ?: state_put(state, "DELETE FROM matched WHERE name = ?", "s", interface->name);

	return err || MATCH_OF(interface->match) == MATCH_SOURCE
		       ? err
		       : state_put(state, "INSERT INTO matched VALUES (?, ?)", "si", interface->name,
				   (int)MATCH_OF(interface->match));
}

int state_interface_drop(struct state *state, const char *label)
{
	char name[IF_NAMESIZE];
	bool leaves = label_split(label, name);
	int err;

	if (label_ports(label))
		return state_ports_drop(state, name, leaves);
	err = state_pending_forget(state, PENDING_INTERFACE, label);
	if (err || leaves)
		return err ?: state_change(state, "DELETE FROM leaving WHERE name = ?", name);
	return state_put(state, "DELETE FROM matched WHERE name = ?", "s", name)
		       ?: state_change(state, "DELETE FROM interface WHERE name = ?", name);
}
