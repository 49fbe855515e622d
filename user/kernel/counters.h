/* SPDX-License-Identifier: GPL-2.0-only */
/* What the programs count, for each interface, verdict and list. */
#ifndef KERNEL_COUNTERS_H
#define KERNEL_COUNTERS_H

#include <stdbool.h>

#include "bpf/abi.h"

struct context;

/* Summed over all CPUs. */
struct counted {
	struct tally verdict[VERDICTS];
	struct tally port[PORTS + 1][REASONS]; /* the last is PORT_RETIRED */
	struct tally out[PORTS + 1][REASONS];  /* the same of what leaves */
	struct tally list[LABELS];
	struct tally unread[LABELS]; /* of lists with a scope: passed, as their port could not be read */
	bool polices;		     /* there is, or was, a detector: REASON_POLICED is counted */
};
int kernel_counters(const struct context *context, struct counted *counted);
/* Of the lists alone, CPU by CPU: n values for each label. */
int kernel_list_packets(const struct context *context, __u64 *packets, int cpus);
/* For an interface that is no longer filtered: its row starts again at 0, the sums stay. */
int kernel_retire_port(const struct context *context, unsigned int port, bool leaves);

static inline void tally_add(struct tally *sum, const struct tally *more)
{
	sum->packets += more->packets;
	sum->bytes += more->bytes;
}

static inline enum verdict reason_verdict(unsigned int why)
{
	return why == REASON_UNPARSED ? UNPARSED : why >= REASON_DROPPED ? DROPPED : PASSED;
}

/* A list's count starts again at 0. */
int kernel_zero_label(const struct context *context, __u8 label);

#endif
