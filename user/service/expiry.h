/* SPDX-License-Identifier: GPL-2.0-only */
/* What ends by the wall clock: bans that run out, and changes that nobody confirmed. */
#ifndef SERVICE_EXPIRY_H
#define SERVICE_EXPIRY_H

#include <stdbool.h>
#include <stdint.h>

struct state;

struct endings {
	int timer;     /* readable when endings_due() is to be asked */
	int64_t first; /* in seconds since the epoch; 0: nothing ends */
	int64_t again; /* what failed is not tried before */
};

/* 0 or -errno with the reason recorded. */
int endings_open(struct endings *e);
void endings_close(struct endings *e);

/* The first is taken from the state; where that cannot be read (NULL) nothing can be ended until the next look. */
void endings_look(struct endings *e, struct state *state);
/* The timer fired: has anything ended, or was the clock set? */
bool endings_due(struct endings *e);

/* A job for it; and what became of that. */
int endings_run(void);
void endings_ran(struct endings *e, bool done);

#endif
