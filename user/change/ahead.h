/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An interface that comes back, or a port that comes, while another command has the lock: a filter that is built may
 * take seconds, and what is in force filters meanwhile, as the state was last committed. Whoever has the lock then
 * decides whether that stays.
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
	char (*names)[IF_NAMESIZE]; /* that were attached so */
	size_t n;
};

/* Of a struct ahead: for lock_meanwhile (base/lock.h). Nothing is attached that waits for confirmation. */
void ahead_attach(void *ahead);
bool ahead_has(const struct ahead *ahead, const char *name);
/* Under the lock: what is not to be filtered any more is detached. 0 or -errno with the reason recorded. */
int ahead_settle(struct ahead *ahead, struct state *state);

#endif
