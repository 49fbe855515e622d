/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a packet that is kept waits for: a line of the filter, and where that says maybe, one of the roster. Which size
 * of the filter makes that least, by how long a line takes in this machine.
 */
#ifndef FILTER_LINE_TIMES_H
#define FILTER_LINE_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/line_probe.h"

#define LINE_NS_MOST 2000.0

struct line_times {
	unsigned int n; /* sizes known; 0: filters are not sized by this */
	bool measured;	/* here; otherwise they are those of a usual machine */
	double ns[LINE_SIZES];
	double kept; /* bits a key of the filter in force; 0: not known */
};

/* Of a usual machine. */
struct line_times line_times_usual(void);
/* From what was measured: false where nobody can believe that, and the times are the usual ones. */
bool line_times_judge(struct line_times *times, const line_rounds ns[], unsigned int n);

/* A line out of so many bytes. */
double line_ns(const struct line_times *times, double bytes);

/* What a packet of a burst waits for that is kept, where the filter has so many bits a key. */
double kept_ns(const struct line_times *times, double keys, double bits_per_key, double roster_bytes);

/*
 * The bits a key that make it least: not more than the usual ones, and what is kept unless another is worth it. Filters
 * that are small by any measure have the usual ones, or while they shrink what is kept: nothing has to be known of
 * lines.
 */
#define BITS_USUAL 16.0
bool line_times_matter(double keys);
double line_times_bits(const struct line_times *times, double keys, double roster_bytes);
/* As they are kept: of a generation that was sized with these bits a key. */
double line_times_round(double bits_per_key);

#endif
