/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sources and what they sent, exactly as long as there are fewer than so many. Beyond that, those that sent least are
 * forgotten, again and again (lossy counting): a count is then too low, by its error at most, and whoever sent more
 * than the floor is in it.
 */
#ifndef OBSERVE_REPLAY_TABLE_H
#define OBSERVE_REPLAY_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "sets/address.h"

#define REPLAY_SOURCES_MAX (1u << 20)

enum fate { FATE_FREE, FATE_PASSED, FATE_DROPPED, FATE_SHADOW }; /* shadow: it passed, and a list counted it */

struct replay_source {
	ip6 num;
	uint64_t packets, bytes, error;
	uint8_t family, fate, label, by_filter; /* label: where it was dropped or counted */
};

struct replay_table {
	struct replay_source *slot;
	size_t slots, n;
	uint64_t floor; /* 0: all are in it, exactly */
};

/* who: its address, fate and label. 0 or -ENOMEM. */
int replay_table_count(struct replay_table *table, const struct replay_source *who, uint64_t bytes);

/* Those of that fate, the busiest first, as pointers into the table; free() the array. At most `most` of them. */
int replay_table_top(const struct replay_table *table, enum fate fate, size_t most, const struct replay_source ***top,
		     size_t *n);

/* Whoever made the capture cannot know it, and so cannot make what is kept under a hash meet in one place. Odd. */
uint64_t replay_seed(void);

#endif
