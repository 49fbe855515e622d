/* SPDX-License-Identifier: GPL-2.0-only */
/* Whom the detector bans by itself becomes a live ban of the state, within a second. */
#ifndef SERVICE_JAIL_WATCH_H
#define SERVICE_JAIL_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct context;
struct limits;

struct jail_watch {
	bool bans; /* some limit does: only then is anything read */
	bool runs;
	int64_t next;	     /* ms of CLOCK_MONOTONIC: when to look again */
	int64_t spared_next; /* and when at those that are not banned as they were needed */
};

void jail_watch_expect(struct jail_watch *watch, const struct limits *limits);
/* When it is to be asked; INT64_MAX: not at all. */
int64_t jail_watch_at(const struct jail_watch *watch);
/* Is the job to run? */
bool jail_watch_due(struct jail_watch *watch, const struct context *context, int64_t now);
/* The job, and its result. */
int jail_watch_run(const struct context *context, void *unused);
void jail_watch_ran(struct jail_watch *watch, int64_t now, bool done);

#endif
