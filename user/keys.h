/* SPDX-License-Identifier: GPL-2.0-only */
/* Which keys a set comes to in a generation: the one walk that whoever fills, checks or edits arrays follows. */
#ifndef KEYS_H
#define KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "abi.h"
#include "ranges.h"

struct owned;

/* What becomes of each /24 and host. What is not 0 ends the walk. */
struct keys_ipv4_calls {
	/* filter: the host is asked of the filter; otherwise the roster holds it for its label alone */
	int (*host)(void *arg, __u32 addr, __u8 label, bool filter);
	int (*net24)(void *arg, __u32 net24, enum gate4 state, __u8 label);
};

int keys_ipv4(const struct generation *g, const struct owned *owned, const struct keys_ipv4_calls *calls, void *arg);

/* Every IPv6 key: each prefix cut into pieces of the next rung's length. */
int keys_ipv6(const struct generation *g, const struct owned *owned,
	      int (*each)(void *arg, unsigned int rung, ip6 first, size_t entry), void *arg);

#endif
