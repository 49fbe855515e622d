/* SPDX-License-Identifier: GPL-2.0-only */
/* The detector of a generation: its maps, which the next one takes over, and what it sees. */
#ifndef KERNEL_DETECT_H
#define KERNEL_DETECT_H

#include <stddef.h>

#include "filter/limits.h"
#include "sets/address.h"

struct candidate;
struct ranges;
struct context;
struct live;

/* The pin of one of its maps, which is MAP_DETECT or behind it. */
const char *detect_pin(unsigned int map);

/* Of the detector's clock, in ns. */
__u64 detect_tick(void);

/* What a generation's detector goes by. */
struct detector {
	struct limits limits;
	/* Of whom how much is charged: TRUST_ALL in abi.h. */
	struct trusted {
		struct end_key key;
		__u64 scale;
	} * trusted;
	size_t trusted_n;      /* and this machine's own addresses, of families from END_KEY_OWN on */
	bool trusts_hosts;     /* some are longer than the prefixes that suspects have */
	bool account;	       /* no list has LABEL_DETECTOR */
	__u64 jail_ns;	       /* how long a ban lasts; 0: a minute */
	struct proven *proven; /* where nobody can forge a source */
	size_t proven_n;
};

/*
 * Before kernel_load(), behind kernel_base(): the candidate gets this detector, and the maps of the one in force where
 * that has the same limits. live may be NULL; without a context nothing is pinned.
 */
int kernel_detect(const struct context *context, struct candidate *c, const struct live *live,
		  const struct detector *detector);

/* Descriptors of its maps into maps[MAP_DETECT] and behind it, where the generation has one. */
int live_detect(const struct live *live, int *maps);

/*
 * Interfaces have come, gone or been renamed: what the detector in force knows of them by their numbers is of these
 * names from now on. 0 where there is none.
 */
int kernel_follow(const struct context *context, const struct proven *proven, size_t n);

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

/* By key and kind. */
int suspect_order(const void *a, const void *b);

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

/* Ends the detector's own ban of all that are within, if there is any; of IPv6 also of the /64 around. */
int kernel_unjail(const struct context *context, struct addr first, unsigned int length);
/* Does the one lie within the other? */
bool end_key_holds(const struct end_key *wide, const struct end_key *narrow);

/* From now on these are policed at most, in the generation in force: /32 and /64. */
struct spared {
	struct end_key key;
	bool guest; /* others than root may have made it a need: there is room for fewer of these */
};
int kernel_spare(const struct context *context, const struct spared *who, size_t n);
/* Whom that has put in, or who built the generation; also what lists have within. The caller frees them. */
int kernel_spared(const struct context *context, struct end_key **keys, size_t *n);
/* From now on they are judged as lists have it. */
int kernel_unspare(const struct context *context, const struct end_key *keys, size_t n);

int kernel_unjail_set(const struct context *context, const struct ranges *set);

/* In the generation in force these addresses are this machine's own, and those are not any more. */
int kernel_own(const struct context *context, const struct end_key *keys, size_t n, const struct end_key *gone,
	       size_t gone_n);

/* Can this kernel's programs ask which socket takes a packet? */
bool kernel_looks_up(void);

/* Can this kernel's sockets prove who sent a packet? */
bool kernel_proves(void);

#endif
