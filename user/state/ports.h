/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bridges, bonds and teams whose ports are filtered as they come and go. Such a rule says how. What became a port since
 * has a row of its own, and beside it the entry of any interface that is filtered; if that one is gone, somebody has
 * detached it.
 */
#ifndef STATE_PORTS_H
#define STATE_PORTS_H

#include "base/ports.h"
#include "state/state.h"

struct port_row {
	char name[IF_NAMESIZE], of[IF_NAMESIZE];
	bool leaves; /* it is filtered by what leaves */
	bool waits;  /* it is on trial for itself (ports_kept_take) */
};

/* The rules, by the names of what has the ports; free() the array. */
int state_ports(struct state *state, struct interface_info **rules, size_t *n);
int state_ports_put(struct state *state, const struct interface_info *rule);
/* With its ports and their entries; what waits for itself is no port then. -ENOENT where there is none. */
int state_ports_drop(struct state *state, const char *name, bool leaves);

int state_port_rows(struct state *state, struct port_row **rows, size_t *n);
/* Of those what ends with the rule: not what waits to be confirmed for itself. */
int state_port_rows_bound(struct state *state, struct port_row **rows, size_t *n);
int state_port_put(struct state *state, const struct port_row *row);
/* It is filtered for itself from now on, or is no port any more. */
int state_port_forget(struct state *state, const char *name, bool leaves);

/* What the state says of them. A rule that waits to be confirmed takes no more ports and lets none go. */
struct ports_kept {
	struct interface_info *rules, *interfaces;
	struct port_row *rows;
	size_t rules_n, interfaces_n, rows_n;
	size_t waiting_n; /* so many rules wait: they are behind those rules_n */
};
int ports_kept_take(struct ports_kept *kept, struct state *state);
void ports_kept_free(struct ports_kept *kept);
/* Is it filtered, for itself or as somebody's port; or was it, and was detached since? */
bool ports_kept_has(const struct ports_kept *kept, const char *name, bool leaves);
/* Is it a port of one whose rule waits? Then it stays as it is until that is decided. */
bool ports_kept_wait(const struct ports_kept *kept, const struct port_of *ports, size_t n, const struct port_row *row);

/*
 * What is a port and is not filtered yet (of: by that rule), or what was one (of: NULL). It stays as it is where it has
 * gone from one rule to another that wants the same of it.
 */
struct ports_due {
	const char *name;
	const struct interface_info *of;
	bool leaves, stays;
};
/* What has come or gone; free() both arrays, as one has the names of the other. 0 or -errno with the reason recorded.
 */
int ports_compare(const struct ports_kept *kept, struct port_of **ports, struct ports_due **due, size_t *n);

#endif
