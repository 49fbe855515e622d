/* SPDX-License-Identifier: GPL-2.0-only */
/* The history's file in memory: what history.c and history_file.c share. */
#ifndef OBSERVE_HISTORY_INTERNAL_H
#define OBSERVE_HISTORY_INTERNAL_H

#include "observe/history.h"

#define BUCKETS_MAX TOP_TABLES

struct file {
	uint64_t magic, version, size;
	uint64_t sequence; /* odd while it is being written */
	struct history_list list[LABELS];
	struct history_sums bucket[HISTORY_WINDOWS][BUCKETS_MAX];
	struct history_point second[HISTORY_SECONDS], minute[HISTORY_MINUTES];
	struct history_attack attack[HISTORY_ATTACKS];
	uint64_t attacks; /* ever */
};

struct history {
	struct file *file;
	uint8_t place[LABELS]; /* of each label */
};

/* Around each change: readers take no lock, they read again if the sequence has changed meanwhile. */
void history_write_begin(struct history *history);
void history_write_end(struct history *history);

#endif
