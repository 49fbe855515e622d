/* SPDX-License-Identifier: GPL-2.0-only */
/* detect learn: looks at what passes for as long as the state says, in a process of its own, and keeps what it saw. */
#ifndef SERVICE_LEARN_H
#define SERVICE_LEARN_H

#include <stdbool.h>
#include <stdint.h>

#include "service/jobs.h"

struct learn {
	struct jobs jobs;
	int64_t from, until; /* s since 1970 */
	int64_t again;	     /* ms of CLOCK_MONOTONIC: not before */
	bool done;
};

/* As the state says. */
void learn_expect(struct learn *learn, int64_t from, int64_t until);
void learn_turn(struct learn *learn, int64_t now);
/* When to look again: ms of CLOCK_MONOTONIC. */
int64_t learn_due(const struct learn *learn);
void learn_stop(struct learn *learn);

#endif
