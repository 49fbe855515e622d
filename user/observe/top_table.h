/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The most frequent of many, in a table of n entries (space-saving: a new one replaces the rarest and inherits its
 * count as an error). A count is too high by its error at most. Whatever had more than 1/n of the samples is in it.
 */
#ifndef OBSERVE_TOP_TABLE_H
#define OBSERVE_TOP_TABLE_H

#include <stdint.h>

#define TOP_ENTRIES 128

/* An address, a /24 or /48 of it, or a protocol and a port behind it. */
struct top_entry {
	uint64_t hi, lo;
	uint32_t family; /* 0: free */
	uint32_t count, error;
	uint32_t pad;
};

void top_count(struct top_entry table[TOP_ENTRIES], const struct top_entry *who);

/* Merges up to TOP_TABLES tables: equal keys add up, the most frequent stay, sorted. */
#define TOP_TABLES 25
void top_merge(struct top_entry out[TOP_ENTRIES], const struct top_entry *const *in, unsigned int n);

#endif
