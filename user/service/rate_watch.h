/* SPDX-License-Identifier: GPL-2.0-only */
/* When to measure whether the rate of false positives exceeds the target: then rotate into a larger filter. */
#ifndef SERVICE_RATE_WATCH_H
#define SERVICE_RATE_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <linux/types.h>

struct context;

/* ms: how long to wait after a rotation that failed or did not help. */
#define ROTATE_AGAIN 600000

/* Times are in ms of CLOCK_MONOTONIC. */
struct rate_watch {
	int64_t at;   /* when to measure; INT64_MAX: not at all */
	int64_t next; /* do not measure before */
	int64_t began;
	__u64 number, edits; /* the generation that was measured last; 0: measure whatever is in force */
};

/* Measures the generation if it is new or was edited. */
void rate_watch_schedule(struct rate_watch *w, const struct context *context, int64_t now);

/* The job that measures: when it begins, its function (EXIT_PASSES: rotate), when it ends. */
void rate_watch_begin(struct rate_watch *w, int64_t now);
int rate_watch_run(const struct context *context, void *unused);
void rate_watch_end(struct rate_watch *w, int64_t now, bool due);

#endif
