/* SPDX-License-Identifier: GPL-2.0-only */
/* What a filter would have done to the packets of a capture: the data path's own decision, in user space. */
#ifndef OBSERVE_REPLAY_H
#define OBSERVE_REPLAY_H

#include "observe/capture_read.h"
#include "observe/replay_table.h"

struct senders;

/* Beyond a day, seconds are counted in sum alone. */
#define REPLAY_SECONDS_MAX 90000

struct replay_second {
	int64_t second; /* since the epoch */
	struct tally passed, dropped;
};

/* A drop that no list is known for: the filter decided alone, or labels are off. */
#define REPLAY_UNLISTED LABELS

struct replay {
	const struct generation *g;
	bool live_is_known; /* do only drops of live bans count on LABEL_LIVE? */

	/* Unparsed packets are among those that passed, hidden ones among those that were dropped. */
	struct tally passed, dropped, unparsed, hidden;
	struct tally too_short, outgoing; /* not judged: too little was captured; XDP does not see it */
	struct tally list[LABELS + 1];	  /* dropped, or for a shadow list counted */
	struct replay_table sources;
	struct senders *senders;       /* of what passes and has a time; NULL: not asked for */
	struct replay_second *seconds; /* ascending after replay_end() */
	uint32_t *second_at;	       /* a hash table of where each is, counted from 1 */
	uint64_t seconds_n, without_second;
	uint64_t first, last; /* ns since the epoch; last 0: no packet has a time */
};

/* What becomes of a packet. Whether it is judged at all: false where it went out, or is too short to say. */
bool replay_judge(const struct generation *g, const struct captured *packet, __u32 *answer,
		  struct replay_source *source);

/* 0 or -ENOMEM. answer: UNPARSED where it was not judged. */
int replay_packet(struct replay *replay, const struct captured *packet, __u32 *answer, bool *judged);
/* After the last packet. */
void replay_end(struct replay *replay);
void replay_free(struct replay *replay);

#endif
