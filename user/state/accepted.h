/* SPDX-License-Identifier: GPL-2.0-only */
/* How much of each list was accepted so far, and by whom: what the guard rails hold a new version against. */
#ifndef STATE_ACCEPTED_H
#define STATE_ACCEPTED_H

#include <stdbool.h>
#include <stdint.h>

struct state;

/* Addresses of each family. */
struct amounts {
	double v4, v6;
};

struct accepted {
	bool known;	     /* false: a list of an older version, or none of that name */
	struct amounts hand; /* when somebody last loaded it against the guard rails, or for the first time */
	struct amounts day;  /* what it held when the day began that began at day_at */
	int64_t day_at;	     /* seconds since the epoch */
	struct amounts wide; /* up to where it may be wider than lists are; 0: it may not */
	struct amounts left; /* of the version that is loaded, but left out of it for as long as they are needs */
};

int state_accepted_get(struct state *state, const char *list, struct accepted *accepted);
/* After the list itself is put. */
int state_accepted_put(struct state *state, const char *list, const struct accepted *accepted);

#endif
