/* SPDX-License-Identifier: GPL-2.0-only */
/* A set's keys into the rosters. */
#ifndef ENROL_H
#define ENROL_H

struct generation;
struct owned;

/* -EAGAIN where a key finds no place: other seeds, or more buckets, and zeroed arrays. */
int enrol(const struct generation *g, const struct owned *owned);

#endif
