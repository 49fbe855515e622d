/* SPDX-License-Identifier: GPL-2.0-only */
/* What the detector in force sees. */
#ifndef KERNEL_DETECT_SEEN_H
#define KERNEL_DETECT_SEEN_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/detect.h"

struct context;

/* What a detector has seen until now. */
struct seen {
	bool on;
	struct detect with;
	__u64 now; /* by its clock */
	__u64 packets[DETECTEDS];
	struct suspect_seen {
		__u64 key, mark;
		struct suspect is;
	} * suspect; /* as seen_by_source() has them in order */
	size_t n, room;
	char interface[SLOTS][SLOT_NAME]; /* of MARK_SLOT(mark); "": the general limits */
	__u64 *cell; /* of the sketch, the first so many: sources are spread evenly; NULL: was not asked for */
	size_t cells;
};

/* Only those whose place is kept, in that order. End with seen_free(). */
int kernel_seen(const struct context *context, struct seen *seen);
/* The sketch too. */
int kernel_seen_all(const struct context *context, struct seen *seen);
void seen_free(struct seen *seen);
int seen_by_source(const void *a, const void *b);
/* Does the detector ban this one by itself, now? */
bool seen_banned(const struct seen *seen, const struct suspect_seen *suspect);
/* Was one above a limit in the last seconds that is not banned only because this machine needs it, or did? */
bool seen_spared(const struct seen *seen);
/* How many sources: one that comes by several interfaces is a suspect in each, and counts once. */
size_t seen_banned_n(const struct seen *seen);
/* So many sources these are; of each the one that is banned, or is most above a limit, stands in front then. */
size_t seen_once(const struct suspect_seen **who, size_t n);
bool seen_same_source(const struct suspect_seen *a, const struct suspect_seen *b);
/* Of its packets, how many were above a limit: of the class with the most. */
__u64 suspect_over(const struct suspect_seen *suspect);

#endif
