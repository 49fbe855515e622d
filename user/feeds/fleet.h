/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Takes part in the fleet that the state has joined: starts the program that speaks to its server, hands it what this
 * machine bans, and puts into force what members say.
 */
#ifndef FEEDS_FLEET_H
#define FEEDS_FLEET_H

struct context;

/* Until SIGINT or SIGTERM, or until the machine has left or joined another. 0 or -errno with the reason recorded. */
int fleet_run(struct context *context);

#endif
