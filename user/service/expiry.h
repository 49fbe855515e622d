/* SPDX-License-Identifier: GPL-2.0-only */
/* What ends by the wall clock: bans that run out, and changes that were not confirmed. */
#ifndef SERVICE_EXPIRY_H
#define SERVICE_EXPIRY_H

#include <stdbool.h>
#include <stdint.h>

struct context;
struct state;

struct expiry {
	int timer;     /* readable when expiry_due() is to be asked */
	int64_t first; /* in seconds since the epoch; 0: nothing ends */
	int64_t again; /* what failed is not tried before */
};

/* 0 or -errno with the reason recorded. */
int expiry_open(struct expiry *e);
void expiry_close(struct expiry *e);

/* The first is taken from the state; where that cannot be read (NULL) nothing can be ended until the next look. */
void expiry_look(struct expiry *e, struct state *state);
/* The timer fired: has anything ended, or was the clock set? */
bool expiry_due(struct expiry *e);

/* A job for it; and what became of that. */
int expiry_run(const struct context *context);
void expiry_ran(struct expiry *e, bool done);

#endif
