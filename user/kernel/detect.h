/* SPDX-License-Identifier: GPL-2.0-only */
/* The detector of a generation: its maps, which the next one takes over. */
#ifndef KERNEL_DETECT_H
#define KERNEL_DETECT_H

#include <stddef.h>

#include "filter/limits.h"

struct candidate;
struct context;
struct live;

/* Of the detector's clock, in ns. */
__u64 detect_tick(void);

/* What a generation's detector goes by. */
struct detector {
	struct limits limits;
	/* Of whom how much is charged: TRUST_ALL in abi.h. */
	struct trusted {
		struct end_key key;
		__u64 scale;
	} * trusted;
	size_t trusted_n;      /* and this machine's own addresses, of families from END_KEY_OWN on */
	bool trusts_hosts;     /* some are longer than the prefixes that suspects have */
	bool account;	       /* no list has LABEL_DETECTOR */
	__u64 jail_ns;	       /* how long a ban lasts; 0: a minute */
	struct proven *proven; /* where nobody can forge a source */
	size_t proven_n;
};

/*
 * Before kernel_load(), behind kernel_base(): the candidate gets this detector, and the maps of the one in force where
 * that has the same limits. live may be NULL; without a context nothing is pinned.
 */
int kernel_detect(const struct context *context, struct candidate *c, const struct live *live,
		  const struct detector *detector);

/* Can this kernel's programs ask which socket takes a packet? */
bool kernel_looks_up(void);

/* Can this kernel's sockets prove who sent a packet? */
bool kernel_proves(void);

#endif
