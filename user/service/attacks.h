/* SPDX-License-Identifier: GPL-2.0-only */
/* From the detector's figures of each second: when an attack begins and ends, and what it was, as events. */
#ifndef SERVICE_ATTACKS_H
#define SERVICE_ATTACKS_H

#include <stdint.h>
#include <time.h>

#include "kernel/detect_seen.h"
#include "observe/attack_kind.h"
#include "observe/detector.h"

struct context;

struct attacks {
	const struct context *context;
	bool expected;	  /* there is to be a detector: only then is anything read */
	bool known;	  /* there is a `before` */
	struct seen seen; /* at the last look, with the sketch */
	struct detector_sums before;
	double usual;	    /* distinct sources a second, while there is no attack; 0: not known yet */
	int64_t next, last; /* ms of CLOCK_MONOTONIC: when to look again, when it was last seen */
	time_t began;	    /* 0: there is none now */
	__u64 above, untracked, peak;
	size_t sources;
	unsigned int classes;
	char busiest[PREFIX_TEXT_MAX];
	__u64 busiest_over;
	struct strangers strangers; /* in the worst second */
	enum attack_kind said;
	int64_t said_at; /* 0: it was not yet */
	struct {
		__u64 weight, most; /* in all, and in the second that it looked so */
		struct attack_look look;
	} kinds[ATTACK_UNKNOWN];
};

void attacks_expect(struct attacks *attacks, bool expected);
/* About once a second. */
void attacks_turn(struct attacks *attacks, int64_t now);
/* One that goes on ends with us, as far as we know. */
void attacks_end(struct attacks *attacks);
void attacks_close(struct attacks *attacks);

#endif
