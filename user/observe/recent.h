/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The samples of the last RECENT_SECONDS, each of them, so that their sources, networks and ports are counted and not
 * estimated once more: of 10,000 sources whose rates fall as 1/n the tenth and the eleventh differ by a tenth, and a
 * table of 128 that replaces the rarest would lose that.
 */
#ifndef OBSERVE_RECENT_H
#define OBSERVE_RECENT_H

#include <stdint.h>

#include "observe/history.h"

#define RECENT_SECONDS 120

struct packet;
struct recent;

/* Room for so many samples a second; the oldest goes early where there are more. NULL where there is no memory. */
struct recent *recent_new(unsigned int per_second);
void recent_free(struct recent *recent);

/* A sample, and for how many packets it stands. */
void recent_add(struct recent *recent, uint64_t now, const struct packet *packet, double packets);
/* What is known of them: the top tables, the samples, what they stand for, and when they came. */
void recent_sums(struct recent *recent, uint64_t now, struct history_sums *sums);

#endif
