/* SPDX-License-Identifier: GPL-2.0-only */
/* Of several sets: what each holds that none of the others does. */
#ifndef SETS_ALONE_H
#define SETS_ALONE_H

#include "sets/ranges.h"

struct alone {
	uint64_t v4;
	ip6 v6;
};

/* For n sets, at most ALONE_MOST, into alone[n]. 0 or -errno. Takes 16 bytes an IPv4 range, 64 an IPv6 range. */
#define ALONE_MOST 256
int ranges_alone(const struct ranges *sets, size_t n, struct alone *alone);

#endif
