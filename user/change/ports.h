/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * attach --ports: what is a port of a bridge, a bond or a team is filtered, as long as it is one. Who looks brings the
 * state's entries together with what the kernel says: they are those of any interface.
 */
#ifndef CHANGE_PORTS_H
#define CHANGE_PORTS_H

#include "state/ports.h"

struct change;
struct context;

/* In every command that changes something: who has gone is detached, who has come gets an entry. Commits. */
int ports_settle(struct change *change);
/* Those that got one are attached: what cannot be is said. */
void ports_attach(struct change *change);

/* Those of which the state has nothing yet, as they would be in it; free() them. */
int ports_come(struct state *state, struct interface_info **entries, size_t *n);

/* "ports of br0": takes the filter off what was attached as one of those rows, and not for itself. */
int ports_detach(const struct context *context, const char *label, const struct ports_kept *kept);

/* Whose port it is. One that has come stays without the filter for as long as it is that, if it has no entry. */
int ports_row_put(struct state *state, const struct ports_due *due);

/* The ports of these interfaces, but for those that are filtered for themselves. */
int ports_of(struct change *change, char *const *names, int names_n, unsigned int match, struct port_of **ports,
	     size_t *n);

/* A word about what comes in by that interface was given: where others are filtered and it is not, a warning. */
void ports_say_unfiltered(struct state *state, const char *name);

#endif
