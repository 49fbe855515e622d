/* SPDX-License-Identifier: GPL-2.0-only */
/* A generation's arrays in memory: maps of the kernel, or memory of our own. */
#ifndef FILTER_ARRAYS_H
#define FILTER_ARRAYS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"

enum array { ARRAY_GATE4, ARRAY_GATE4_LABELS, ARRAY_GATE6, ARRAY_FILTER, ARRAY_ROSTER4, ARRAY_ROSTER6, ARRAYS };

/* Maps that a generation's program is loaded with: the arrays, when its bans end, its detector, and its scopes. */
enum {
	MAP_ENDS = ARRAYS,
	MAP_DETECT,
	MAP_SKETCH,
	MAP_SUSPECTS,
	MAP_CLAIMS,
	MAP_DETECTED,
	MAP_TRUSTED,
	MAP_POLICED,
	MAP_PROVEN,
	MAP_SLOTS, /* this and the next only where interfaces have limits of their own */
	MAP_SLOT_OF,
	MAPS_DETECT, /* behind its last */
	MAP_SCOPES = MAPS_DETECT,
	MAP_UNREAD,
	MAPS
};

/* Is it the account of live bans, with an end or without? */
static inline bool label_is_live(const struct generation *g, __u32 label)
{
	return label == LABEL_LIVE || (g->ends && label == LABEL_ENDS);
}

static inline int generation_is_known(__u64 version)
{
	return version == GENERATION_VERSION || version == GENERATION_CODES;
}

struct array_kind {
	const char *name;    /* its pin, and its map's name */
	unsigned int member; /* where struct generation stands for it */
	unsigned int flat;   /* where it says that the array is one value; 0: it always is */
};

extern const struct array_kind array_kinds[ARRAYS];

/* Bytes of payload; 0 where the generation has no such array. */
uint64_t array_bytes(const struct generation *g, enum array which);
uint64_t arrays_total(const struct generation *g);
uint64_t arrays_rosters(const struct generation *g);

/*
 * Zeroed memory of our own for each array that the sizes ask for; the members become its addresses. 0, or -ENOMEM and
 * no memory is left. Releasing makes addresses 1 again.
 */
int arrays_take(struct generation *g);
void arrays_release(struct generation *g);

/* What each stage takes, from what each array takes. */
struct stage_bytes {
	uint64_t gate, filter, roster, labels, total;
};
struct stage_bytes stage_bytes(const __u64 bytes[ARRAYS]);

static inline __u64 *generation_member(struct generation *g, unsigned int offset)
{
	return (__u64 *)((char *)g + offset);
}

#endif
