/* SPDX-License-Identifier: GPL-2.0-only */
/* A set's keys into the rosters. */
#ifndef FILTER_FILL_ROSTER_H
#define FILTER_FILL_ROSTER_H

#include <linux/types.h>

struct generation;
struct owned;

/* -EAGAIN where a key finds no place: other seeds, or more buckets, and zeroed arrays. */
int enrol(const struct generation *g, const struct owned *owned);

/* One IPv6 key more in a roster that does not hold it: its tag, and one of the two buckets that it may be in. */
int enrol_tag6(const struct generation *g, __u64 bucket, __u64 tag, __u8 label);

#endif
