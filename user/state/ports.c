// SPDX-License-Identifier: GPL-2.0-only
#include "state/ports.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/label.h"
#include "base/log.h"
#include "bpf/abi.h"
#include "state/internal.h"

static int because_damaged(const struct state *s, const struct row *row)
{
	return err_is(row->err, ENOMEM)
		       ? row->err
		       : because(-EUCLEAN, "%s: whose ports are filtered is damaged; see 'xdp-bloom state recover'",
				 s->directory);
}

int state_read_ports(const struct state *s, sqlite3_stmt *stmt, void *entry)
{
	struct row row = { .stmt = stmt };
	struct interface_info *rule = entry;
	bool leaves;

	row_text(&row, 0, rule->name, sizeof(rule->name));
	leaves = row_number(&row, 1, 0, 1);
	row_text(&row, 2, rule->mode, sizeof(rule->mode));
	rule->shared = row_number(&row, 3, 0, 1);
	rule->match = (unsigned int)row_number(&row, 4, MATCH_SOURCE, MATCHES - 1);
	rule->match = leaves			  ? MATCH_LEAVING(rule->match)
		      : !strcmp(rule->mode, "tc") ? MATCH_COMING(rule->match)
						  : rule->match;
	if (!row.err && is_interface_name(rule->name) && is_mode(rule->mode))
		return 0;
	return because_damaged(s, &row);
}

int state_read_port(const struct state *s, sqlite3_stmt *stmt, void *entry)
{
	struct row row = { .stmt = stmt };
	struct port_row *port = entry;

	row_text(&row, 0, port->name, sizeof(port->name));
	port->leaves = row_number(&row, 1, 0, 1);
	row_text(&row, 2, port->of, sizeof(port->of));
	return !row.err && is_interface_name(port->name) && is_interface_name(port->of) ? 0 : because_damaged(s, &row);
}

int state_ports(struct state *state, struct interface_info **rules, size_t *n)
{
	*rules = NULL;
	*n = 0;
	if (state->version < VERSION_PORTS)
		return 0;
	return state_rows(state,
			  state_prepare(state, "SELECT name, leaves, mode, shared, match FROM ports"
					       " ORDER BY name, leaves"),
			  state_read_ports, sizeof(**rules), rules, n);
}

static int port_rows(struct state *state, const char *sql, struct port_row **rows, size_t *n)
{
	*rows = NULL;
	*n = 0;
	if (state->version < VERSION_PORTS)
		return 0;
	return state_rows(state, state_prepare(state, sql), state_read_port, sizeof(**rows), rows, n);
}

int state_port_rows(struct state *state, struct port_row **rows, size_t *n)
{
	return port_rows(state, "SELECT name, leaves, of FROM port ORDER BY name, leaves", rows, n);
}

int state_port_rows_bound(struct state *state, struct port_row **rows, size_t *n)
{
	return port_rows(state,
			 "SELECT name, leaves, of FROM port WHERE NOT (" PORT_WAITS_FOR_ITSELF
			 ") ORDER BY name, leaves",
			 rows, n);
}

int state_ports_put(struct state *state, const struct interface_info *rule)
{
	return state_put(state, "INSERT OR REPLACE INTO ports VALUES (?, ?, ?, ?, ?)", "sisii", rule->name,
			 MATCH_LEAVES(rule->match), rule->mode, rule->shared, (int)MATCH_OF(rule->match));
}

int state_ports_drop(struct state *state, const char *name, bool leaves)
{
	struct port_row *rows = NULL;
	char label[LABEL_MAX];
	size_t n;
	int err = state_port_rows_bound(state, &rows, &n);

	for (size_t i = 0; i < n && !err; i++) {
		if (rows[i].leaves != leaves || strcmp(rows[i].of, name) != 0)
			continue;
		label_of(label, rows[i].name, leaves ? MATCH_LEAVING(0) : 0);
		err = state_interface_drop(state, label);
		if (err_is(err, ENOENT)) /* somebody has detached it */
			err = 0;
		err = err ?: state_port_forget(state, rows[i].name, leaves);
	}
	free(rows);
	label_of_ports(label, name, leaves ? MATCH_LEAVING(0) : 0);
	return err
		       /* What waits for itself is to be nothing again as it goes back. */
		       ?: state_put(state,
				    "UPDATE pending SET before = NULL WHERE kind = 1 AND EXISTS (SELECT 1 FROM port"
				    " WHERE of = ? AND leaves = ? AND pending.name = port.name" PORT_LEAVES_TOO ")",
				    "si", name, leaves)
		       ?: state_put(state, "DELETE FROM port WHERE of = ? AND leaves = ?", "si", name, leaves)
		       ?: state_pending_forget(state, PENDING_INTERFACE, label)
		       ?: state_change(state,
				       leaves ? "DELETE FROM ports WHERE leaves = 1 AND name = ?"
					      : "DELETE FROM ports WHERE leaves = 0 AND name = ?",
				       name);
}

int state_port_put(struct state *state, const struct port_row *row)
{
	return state_put(state, "INSERT OR REPLACE INTO port VALUES (?, ?, ?)", "sis", row->name, row->leaves, row->of);
}

int state_port_forget(struct state *state, const char *name, bool leaves)
{
	return state_put(state, "DELETE FROM port WHERE name = ? AND leaves = ?", "si", name, leaves);
}

static bool waits(const struct pending *pending, size_t n, const char *label)
{
	for (size_t i = 0; i < n; i++)
		if (pending[i].kind == PENDING_INTERFACE && !strcmp(pending[i].name, label))
			return true;
	return false;
}

int ports_kept_take(struct ports_kept *kept, struct state *state)
{
	struct pending *pending = NULL;
	char label[LABEL_MAX];
	size_t n = 0, left = 0;
	int err;

	*kept = (struct ports_kept){ 0 };
	err = state_ports(state, &kept->rules, &kept->rules_n);
	if (err || !kept->rules_n)
		return err;
	err = state_port_rows(state, &kept->rows, &kept->rows_n) ?:
	      state_interfaces(state, &kept->interfaces, &kept->interfaces_n) ?:
	      state_pending(state, &pending, &n);
	for (size_t i = 0; i < kept->rules_n && !err; i++) {
		struct interface_info rule = kept->rules[i];

		if (waits(pending, n, label_of_ports(label, rule.name, rule.match)))
			continue;
		memmove(&kept->rules[left + 1], &kept->rules[left], (i - left) * sizeof(rule));
		kept->rules[left++] = rule;
	}
	for (size_t i = 0; i < kept->rows_n && !err; i++) {
		struct port_row *row = &kept->rows[i];

		row->waits = waits(pending, n, label_of(label, row->name, row->leaves ? MATCH_LEAVING(0) : 0));
	}
	kept->waiting_n = kept->rules_n - left;
	kept->rules_n = left;
	free(pending);
	return err;
}

void ports_kept_free(struct ports_kept *kept)
{
	free(kept->rules);
	free(kept->rows);
	free(kept->interfaces);
	*kept = (struct ports_kept){ 0 };
}

bool ports_kept_has(const struct ports_kept *kept, const char *name, bool leaves)
{
	for (size_t i = 0; i < kept->rows_n; i++)
		if (!strcmp(kept->rows[i].name, name) && kept->rows[i].leaves == leaves)
			return true;
	for (size_t i = 0; i < kept->interfaces_n; i++)
		if (!strcmp(kept->interfaces[i].name, name) && MATCH_LEAVES(kept->interfaces[i].match) == leaves)
			return true;
	return false;
}

static bool add(struct ports_due **due, size_t *n, const struct ports_due *one)
{
	if (!GROW(*due, *n))
		return false;
	(*due)[(*n)++] = *one;
	return true;
}

static const struct interface_info *rule_of(const struct ports_kept *kept, const struct port_row *row)
{
	for (size_t i = 0; i < kept->rules_n; i++)
		if (!strcmp(kept->rules[i].name, row->of) && MATCH_LEAVES(kept->rules[i].match) == row->leaves)
			return &kept->rules[i];
	return NULL;
}

static bool is_port(const struct port_of *ports, size_t n, const struct port_row *row)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(ports[i].name, row->name) && !strcmp(ports[i].of, row->of))
			return true;
	return false;
}

bool ports_kept_wait(const struct ports_kept *kept, const struct port_of *ports, size_t n, const struct port_row *row)
{
	const struct interface_info *waiting = &kept->rules[kept->rules_n];

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < kept->waiting_n && !strcmp(ports[i].name, row->name); j++)
			if (!strcmp(waiting[j].name, ports[i].of) && MATCH_LEAVES(waiting[j].match) == row->leaves)
				return true;
	return false;
}

/* By which rule it is filtered as it is, though it is another's port by now; NULL: by none. */
static const struct interface_info *stays_with(const struct ports_kept *kept, const struct port_of *ports, size_t n,
					       const struct port_row *row)
{
	const struct interface_info *is = NULL;

	for (size_t i = 0; i < kept->interfaces_n; i++)
		if (!strcmp(kept->interfaces[i].name, row->name) &&
		    MATCH_LEAVES(kept->interfaces[i].match) == row->leaves)
			is = &kept->interfaces[i];
	for (size_t i = 0; i < n && is; i++)
		for (size_t j = 0; j < kept->rules_n && !strcmp(ports[i].name, row->name); j++) {
			const struct interface_info *rule = &kept->rules[j];

			if (!strcmp(rule->name, ports[i].of) && rule->match == is->match &&
			    rule->shared == is->shared && !strcmp(rule->mode, is->mode))
				return rule;
		}
	return NULL;
}

/* Those that have gone first. The names in it are the arguments'. */
static int compare(const struct ports_kept *kept, const struct port_of *ports, size_t ports_n, struct ports_due **due,
		   size_t *n)
{
	bool room = true;

	for (size_t i = 0; i < kept->rows_n && room; i++) {
		const struct port_row *row = &kept->rows[i];
		const struct interface_info *to;

		if (row->waits || !rule_of(kept, row) || is_port(ports, ports_n, row) ||
		    ports_kept_wait(kept, ports, ports_n, row))
			continue;
		to = stays_with(kept, ports, ports_n, row);
		room = add(due, n, &(struct ports_due){ row->name, to, row->leaves, to != NULL });
	}
	for (size_t i = 0; i < ports_n; i++)
		for (size_t j = 0; j < kept->rules_n && room; j++) {
			bool leaves = MATCH_LEAVES(kept->rules[j].match);

			if (!strcmp(kept->rules[j].name, ports[i].of) && !ports_kept_has(kept, ports[i].name, leaves))
				room = add(due, n,
					   &(struct ports_due){ ports[i].name, &kept->rules[j], leaves, false });
		}
	return room ? 0 : -ENOMEM;
}

int ports_compare(const struct ports_kept *kept, struct port_of **ports, struct ports_due **due, size_t *n)
{
	size_t ports_n = 0;
	int err;

	*ports = NULL;
	*due = NULL;
	*n = 0;
	if (!kept->rules_n)
		return 0;
	err = ports_look(ports, &ports_n);
	return err ?: compare(kept, *ports, ports_n, due, n);
}
