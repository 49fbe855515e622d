/* SPDX-License-Identifier: GPL-2.0-only */
/* Does a set hold one address? */
#ifndef RANGES_HAVE_H
#define RANGES_HAVE_H

#include "sets/ranges.h"

static inline bool ranges_have(const struct ranges *set, struct addr addr)
{
	return ranges_touch(set, addr, addr_width(addr.family));
}

#endif
