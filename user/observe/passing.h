/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who sends what passes: samples of it (tap.h), weighed by the counters of their interfaces (weigh.h), of the last two
 * minutes (recent.h). It is there only while somebody looks.
 */
#ifndef OBSERVE_PASSING_H
#define OBSERVE_PASSING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attachment;
struct counted;
struct history_sums;
struct passing;

/* About so many samples a second. NULL where there is no memory. */
struct passing *passing_new(unsigned int per_second);
void passing_free(struct passing *passing);

/* From now on of these interfaces. 0, or -errno with the reason recorded; one that goes meanwhile is no error. */
int passing_follow(struct passing *passing, const struct attachment *on, size_t n);
/* Call it ten times a second at least. */
void passing_read(struct passing *passing);
/* The second is over: when the counters were read (CLOCK_MONOTONIC, ns), and what they counted in it. */
void passing_count(struct passing *passing, uint64_t second, uint64_t until, const struct counted *between);

/* What is known by this second. */
void passing_sums(struct passing *passing, uint64_t second, struct history_sums *sums);
/* Is any interface sampled? */
bool passing_sees(const struct passing *passing);

#endif
