/* SPDX-License-Identifier: GPL-2.0-only */
/* When a list is fetched next: numbers in, numbers out. Times are seconds since the epoch. */
#ifndef CHANGE_FEED_TIMES_H
#define CHANGE_FEED_TIMES_H

#include <stdint.h>

struct feed;

/* Where in its interval this machine asks for this list, so that not all machines ask at once. */
uint64_t feed_phase(const char *machine, const char *list);
/* The name of this machine that feed_phase() takes; it stays where the system has an id. */
void feed_machine(char machine[64]);

/*
 * After an answer that was good, or was not (feed->failures counts it already): feed->next, at least as far away as the
 * server wants (retry_after, seconds; 0: it says nothing). feed->tried is now.
 */
void feed_plan(struct feed *feed, uint64_t phase, uint64_t retry_after);

/* The host that a URL asks, in small letters, with its port. Returns its length. */
#define FEED_HOST_MAX 264
int feed_host(char host[FEED_HOST_MAX], const char *url);

#endif
