/* SPDX-License-Identifier: GPL-2.0-only */
/* When to measure whether the filter says yes more often than was asked for, and what follows from that. */
#ifndef SERVICE_RATE_WATCH_H
#define SERVICE_RATE_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <linux/types.h>

/* ms: where a rotation failed or did not help, it is not done again at once. */
#define ROTATE_AGAIN 600000

/* Times are in ms of CLOCK_MONOTONIC. */
struct judging {
	int64_t at;   /* INT64_MAX: not at all */
	int64_t next; /* not before */
	int64_t began;
	__u64 number, edits; /* the generation that was measured last */
};

/* The generation may be another, or have been edited. */
void judging_plan(struct judging *j, int64_t now);
/* Measured again, whatever is in force. */
void judging_forget(struct judging *j);

/* It begins now, with a job for it that says EXIT_PASSES where the filter is to be built anew, and ends. */
void judging_begin(struct judging *j, int64_t now);
int judging_run(void);
void judging_end(struct judging *j, int64_t now, bool due);

#endif
