/* SPDX-License-Identifier: GPL-2.0-only */
/* Bans from whoever comes through a socket: many at a time, each with lines of its own. */
#ifndef FEEDS_DOOR_H
#define FEEDS_DOOR_H

struct context;

/*
 * path: NULL for one in the state directory. group: who may come beside root, or NULL. Until SIGTERM or SIGINT. 0 or
 * -errno with the reason recorded.
 */
int follow_door(struct context *context, const char *path, const char *group);

#endif
