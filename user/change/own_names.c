// SPDX-License-Identifier: GPL-2.0-only
#include "change/own_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/label.h"
#include "base/log.h"
#include "base/other_name.h"
#include "base/ports.h"
#include "bpf/abi.h"
#include "kernel/attach.h"
#include "state/ports.h"

static bool has(const struct interface_info *all, size_t n, const char *name, unsigned int match)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(all[i].name, name) && MATCH_LEAVES(all[i].match) == MATCH_LEAVES(match))
			return true;
	return false;
}

/* Of ports each name is the kernel's own, and ports_settle() sees to them. */
static bool is_port(const struct port_row *rows, size_t n, const struct interface_info *entry)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(rows[i].name, entry->name) && rows[i].leaves == MATCH_LEAVES(entry->match))
			return true;
	return false;
}

/* Its ports first: those that are left go with the rule. */
static int ports_are_of(struct state *state, const char *name, const char *own, bool leaves)
{
	struct port_row *rows = NULL;
	size_t n;
	int err = state_port_rows(state, &rows, &n);

	for (size_t i = 0; i < n && !err; i++) {
		if (rows[i].leaves != leaves || strcmp(rows[i].of, name) != 0)
			continue;
		snprintf(rows[i].of, sizeof(rows[i].of), "%s", own);
		err = state_port_put(state, &rows[i]);
	}
	free(rows);
	return err;
}

/* What its own name has already stays as it is. */
static int move(struct state *state, const struct interface_info *all, size_t n, size_t i, bool ports, const char *own)
{
	struct interface_info moved = all[i];
	bool leaves = MATCH_LEAVES(moved.match);
	char label[LABEL_MAX];
	int err = 0;

	(ports ? label_of_ports : label_of)(label, all[i].name, all[i].match);
	if (state_pending_has(state, PENDING_INTERFACE, label))
		return 0;
	snprintf(moved.name, sizeof(moved.name), "%s", own);
	if (!has(all, n, own, moved.match))
		err = (ports ? state_ports_put : state_interface_put)(state, &moved);
	if (ports)
		err = err ?: ports_are_of(state, all[i].name, own, leaves);
	return err ?: state_interface_drop(state, label);
}

/* Who has an interface gives it such names. One alone is no reason: what came under that name would not be filtered. */
static bool goes_by(const struct context *context, const struct interface_info *entry, bool ports, const char *own)
{
	struct attachment *list = NULL;
	size_t n;
	bool goes;

	if (ports)
		return ports_may(own);
	goes = !attach_list(context, &list, &n) && !attach_is_anothers(list, n, entry->name, entry->match, own);
	free(list);
	return goes;
}

static int settle(const struct context *context, struct state *state, bool ports, bool *any)
{
	struct interface_info *all = NULL;
	struct port_row *rows = NULL;
	char own[IF_NAMESIZE];
	size_t n = 0, rows_n = 0;
	int err = (ports ? state_ports : state_interfaces)(state, &all, &n) ?: state_port_rows(state, &rows, &rows_n);

	for (size_t i = 0; i < n && !err; i++)
		if ((ports || !is_port(rows, rows_n, &all[i])) && is_other_name(all[i].name, own) &&
		    goes_by(context, &all[i], ports, own)) {
			*any = true;
			err = move(state, all, n, i, ports, own);
		}
	free(rows);
	free(all);
	return err;
}

int own_names_settle(const struct context *context, struct state *state)
{
	bool any = false;
	int err = settle(context, state, true, &any) ?: settle(context, state, false, &any);

	return err || !any ? err : state_commit(state) ?: state_again(state);
}
