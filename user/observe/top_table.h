/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The most frequent of many, in a table of n entries (space-saving: a new one replaces the rarest and inherits its
 * weight as an error). A weight is too high by its error at most. Whatever had more than 1/n of all is in it.
 */
#ifndef OBSERVE_TOP_TABLE_H
#define OBSERVE_TOP_TABLE_H

#include <stdint.h>

#define TOP_ENTRIES 128

/* An address, a /24 or /48 of it, or a protocol and a port behind it. */
struct top_entry {
	uint64_t hi, lo;
	uint32_t family; /* 0: free */
	uint32_t samples;
	double packets; /* what the samples stand for */
	double over;	/* by so much it may be too high */
	double spread;	/* what chance makes of it: observe/weigh.h */
};

/* Adds a sample to who it names; all else of `sample` is what it adds. */
void top_count(struct top_entry table[TOP_ENTRIES], const struct top_entry *sample);

void top_add(struct top_entry *to, const struct top_entry *more);
/* The most frequent of n entries with keys of their own, sorted. */
void top_best(struct top_entry out[TOP_ENTRIES], const struct top_entry *all, unsigned int n);

/* Merges up to TOP_TABLES tables: equal keys add up, the most frequent stay, sorted. */
#define TOP_TABLES 25
void top_merge(struct top_entry out[TOP_ENTRIES], const struct top_entry *const *in, unsigned int n);

#endif
