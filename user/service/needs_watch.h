/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What this machine comes to need while something drops it, as the resolver of a DHCP lease that is renewed: it is
 * said, and nothing is let through, as a neighbour may have made it a need. But where the network comes up only now, it
 * is asked about as at boot.
 */
#ifndef SERVICE_NEEDS_WATCH_H
#define SERVICE_NEEDS_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct context;

struct needs_watch {
	int64_t next; /* ms of CLOCK_MONOTONIC: when to look again */
};

/* Is the job due, whose function the other one is? Where nothing is in force there is none. */
bool needs_watch_due(struct needs_watch *watch, const struct context *context, int64_t now);
/* Returns EXIT_DONE, or one of these: */
enum { NEEDS_EARLY = 3, NEEDS_ASK };
int needs_watch_run(const struct context *context, void *unused);
/* It has returned that. True: it is time for a restore, which asks. */
bool needs_watch_ran(struct needs_watch *watch, int returned, int64_t now);

#endif
