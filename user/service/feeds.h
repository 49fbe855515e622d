/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fetches lists when they are due: each by a command of its own, a few at a time and one at a time from a host. When
 * they are due the state says; that is read once, and then counted by a clock that setting the date does not move.
 */
#ifndef SERVICE_FEEDS_H
#define SERVICE_FEEDS_H

#include "change/feed_times.h"
#include "service/jobs.h"

struct state;

#define FEEDS_AT_ONCE 4

struct feed_due {
	char list[LIST_NAME_MAX], host[FEED_HOST_MAX];
	int64_t tried, next; /* as the state had them */
	int64_t due;	     /* ms of CLOCK_BOOTTIME */
};

struct feeds {
	struct feed_due *all;
	size_t n;
	struct jobs running[FEEDS_AT_ONCE];
	char hosts[FEEDS_AT_ONCE][FEED_HOST_MAX]; /* that they ask */
};

void feeds_begin(struct feeds *feeds, const struct context *context);
/* As the state has them now. 0 or -errno with the reason recorded. */
int feeds_expect(struct feeds *feeds, struct state *state);
/* Starts what is due. */
void feeds_turn(struct feeds *feeds, int64_t now);
/* When to call it, in ms of CLOCK_MONOTONIC; INT64_MAX: there is nothing to do. */
int64_t feeds_due(const struct feeds *feeds, int64_t now);
/* As jobs_ended(). */
bool feeds_ended(struct feeds *feeds, struct job **job, int *status);
void feeds_stop(struct feeds *feeds);

#endif
