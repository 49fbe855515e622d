/* SPDX-License-Identifier: GPL-2.0-only */
/* Which entries of which lists dropped what was dropped in a replay. */
#ifndef OBSERVE_REPLAY_ENTRIES_H
#define OBSERVE_REPLAY_ENTRIES_H

#include "observe/explain.h"
#include "observe/replay.h"

struct replay_entry {
	size_t list; /* into explanation's lists */
	int family;
	ip6 lo, hi;
	uint64_t line; /* 0: not known */
	uint64_t sources;
	struct tally dropped;
};

/* The addresses that these sources were dropped for: an IPv4 address within, where it was that. n of them. */
void replay_addresses(const struct generation *g, const struct replay_source *const *who, size_t n, struct addr *addrs);

/* The busiest first; free() the array. The explanation is of addrs, in their order. 0 or -ENOMEM. */
int replay_entries(const struct explanation *e, const struct replay_source *const *who, const struct addr *addrs,
		   size_t n, struct replay_entry **entries, size_t *entries_n);

#endif
