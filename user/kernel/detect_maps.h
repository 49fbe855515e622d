/* SPDX-License-Identifier: GPL-2.0-only */
/* The maps of a detector, for those that make them, read them, or change what is in force. */
#ifndef KERNEL_DETECT_MAPS_H
#define KERNEL_DETECT_MAPS_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/detect.h"
#include "filter/arrays.h"

struct context;
struct live;
struct proven;

/* The pin of one of its maps, which is MAP_DETECT or behind it. */
const char *detect_pin(unsigned int map);

/* Descriptors of its maps into maps[MAP_DETECT] and behind it, where the generation has one. */
int live_detect(const struct live *live, int *maps);

/* Those of the one in force, of MAPS, and what it goes by. Where there is one, maps[MAP_DETECT] is not -1. */
int detect_open(const struct context *context, int *maps, struct detect *with);
void detect_close(int *maps);
/* From the first to the last of them. */
void detect_let_go(int *maps, unsigned int first, unsigned int last);

int detect_read(int fd, struct detect *detect);
int detect_because(int err);
__u64 detect_sketch_bytes(const struct detect *detect);
bool detect_fits(const struct detect *detect, const int *maps);

/* By the clock of its stamps. */
int detect_clock(__u64 tick, __u64 *now);

int detect_map_suspects(int map, const struct detect *with, int protection, struct suspects **buckets, size_t *bytes);
/* The first so many cells. */
int detect_map_sketch(int map, size_t cells, int protection, __u64 **at, size_t *bytes);

/* Interfaces that have limits of their own, or where nobody can forge a source. */
bool detect_read_slots(int fd, struct slot slots[SLOTS]);
int detect_number_slots(int map, const struct slot slots[SLOTS]);
int detect_number_proven(int map, const struct proven *names, size_t n);

static inline bool mark_is_source(__u64 mark)
{
	return MARK_KIND(mark) == SUSPECT_IPV4 || MARK_KIND(mark) == SUSPECT_IPV6;
}

#endif
