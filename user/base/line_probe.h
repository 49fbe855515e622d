/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long one random line of memory takes, measured: out of LINE_SIZES sizes, each twice the one before, on small
 * pages as the kernel's maps have.
 */
#ifndef BASE_LINE_PROBE_H
#define BASE_LINE_PROBE_H

#include <stdint.h>

#define LINE_SIZES    6
#define LINE_ROUNDS   4
#define LINE_SIZE(i)  ((uint64_t)256 << 10 << (i))
#define LINE_BUDGET   (7 * 1000000) /* nanoseconds of the CPU: no size is begun after that */
#define LINE_MACHINES 0x1p53

/* Nanoseconds a line, of each round. */
typedef double line_rounds[LINE_ROUNDS];

/* How many sizes there was time and memory for. */
unsigned int line_probe(line_rounds ns[LINE_SIZES]);

/* A number for this kind of machine, below LINE_MACHINES; 0: unknown. */
uint64_t line_machine(void);

#endif
