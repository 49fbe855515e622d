/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An interface that comes back, or a port that comes, while another command has the lock: a filter that is built may
 * take seconds, and what is in force filters meanwhile, as the state was last committed. Whoever has the lock then
 * decides whether that stays, and asks the guard rails as if it were not filtered yet. Until that is done, a file of
 * the state says what was attached so: who attached it may have ended, and the next one that restores asks.
 */
#ifndef CHANGE_AHEAD_H
#define CHANGE_AHEAD_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>

struct context;
struct state;

struct ahead {
	const struct context *context;
	char (*names)[IF_NAMESIZE]; /* that were attached so, or were to be */
	size_t n;
};

/* What one that has ended attached is added. */
void ahead_take(struct ahead *ahead);
/* Of a struct ahead: for lock_meanwhile (base/lock.h). Nothing is attached that waits for confirmation. */
void ahead_attach(void *ahead);
/* Is it not filtered yet, or so that nobody was asked about it? */
bool ahead_begins(const struct ahead *ahead, const char *label);
/* Under the lock: what is not to be filtered any more is detached. 0 or -errno with the reason recorded. */
int ahead_settle(struct ahead *ahead, struct state *state);
/* Has one that restores ended before it asked? */
bool ahead_waits(const struct context *context);
/* Under the lock: the guard rails were asked about all of it. */
void ahead_asked(const struct context *context);

#endif
