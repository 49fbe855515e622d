/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lines of the config file that go on, and the fleet that the state has joined: each has a process of its own, which is
 * started again whenever it ends.
 */
#ifndef SERVICE_FOLLOWERS_H
#define SERVICE_FOLLOWERS_H

#include <stdbool.h>
#include <stdint.h>

struct config;
struct config_line;
struct context;
struct follower;
struct jobs;

struct followers {
	const struct context *context;
	const struct jobs *others; /* lines that do not go on; NULL: none */
	struct follower *first;
};

/* Is the line one of them? */
bool followers_have(const struct config_line *line);
/* Those of this config go on, or begin with the next turn; others are ended. */
void followers_expect(struct followers *followers, const struct config *config);
/* The state has joined one, or has not. */
void followers_fleet(struct followers *followers, bool joined);
void followers_turn(struct followers *followers, int64_t now);
/* When to call it, in ms of CLOCK_MONOTONIC. */
int64_t followers_due(const struct followers *followers);
/* Says which lines fail, of those that go on and of the others, for 'status' and /healthz. */
void followers_tell(const struct followers *followers);
/* A child has ended, maybe one of them. */
void followers_ended(struct followers *followers, int64_t now);
/* Ends all, and waits for that. */
void followers_stop(struct followers *followers);

#endif
