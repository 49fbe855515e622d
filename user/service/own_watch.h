/* SPDX-License-Identifier: GPL-2.0-only */
/* The detector of the generation in force knows this machine's addresses, also those that came or went since. */
#ifndef SERVICE_OWN_WATCH_H
#define SERVICE_OWN_WATCH_H

#include <stdint.h>

#include "change/detector.h"
#include "filter/limits.h"

struct context;

struct own_watch {
	struct limits limits;
	struct own_told told;
	int64_t next; /* ms of CLOCK_MONOTONIC: when to look again */
};

void own_watch_turn(struct own_watch *watch, const struct context *context, int64_t now);
void own_watch_end(struct own_watch *watch);

#endif
