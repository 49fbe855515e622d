/* SPDX-License-Identifier: GPL-2.0-only */
/* What the loops of rates.bpf.c and their driver agree on. */
#ifndef RATES_H
#define RATES_H

#include <linux/types.h>

struct loop_run {
	__u64 rounds, random, mask; /* sources: as many as the mask has numbers */
	__u64 chained;
};

#endif
