/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What samples stand for. Each says of how many drops it is one (struct sample_share); a list's samples of an interval
 * are made to add up to what the list's counter added in it. So the sums of lists are exact, however much more of one
 * was sampled than of another, and what is estimated is who sent a list's packets. A list that counted and had no
 * sample in the interval: its next one stands for these, too.
 *
 * The error: every packet of a block is taken with the same probability, and each block by itself. So a sample that
 * stands for w packets adds w * (w - 1) at most to the variance of what it is counted for; of a share p of all packets
 * W the variance is ((1 - p)^2 S + p^2 (T - S)) / W^2, with S the sum of these over the samples in it, and T over all.
 * A sample more on both sides, of the mean size, keeps few that agree by chance from looking certain. Three times its
 * root is what is shown.
 */
#ifndef OBSERVE_WEIGH_H
#define OBSERVE_WEIGH_H

#include <stdint.h>

#include "bpf/abi.h"
#include "observe/top_table.h"

struct history_sums;
struct packet;
struct weigher;

/* NULL where there is no memory. */
struct weigher *weigher_new(void);
void weigher_free(struct weigher *weigher);

void weigh_sample(struct weigher *weigher, const struct sample *sample);
/* What has no list is weighed the same way, by any counters that have a number: of this one, and for so many packets.
 */
void weigh_as(struct weigher *weigher, const struct sample *sample, uint8_t label, double packets);
/*
 * The interval is over: when the counters were read (CLOCK_MONOTONIC, ns), with all samples before that, and what each
 * list counted in it. Calls `each` with what every sample of it stands for; what came later waits for the next.
 */
void weigh_interval(struct weigher *weigher, uint64_t until, const struct tally lists[LABELS],
		    void (*each)(void *arg, const struct packet *packet, double packets), void *arg);
/* Labels pass to other lists. */
void weigh_forget(struct weigher *weigher);

/* What a sample that stands for so many adds to the variance. */
double weigh_spread(double packets);
/* Of all that was weighed: 0 to 1. */
double weighed_share(const struct history_sums *sums, const struct top_entry *entry);
double weighed_error(const struct history_sums *sums, const struct top_entry *entry);

#endif
