/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What this machine says to its fleet: what is true of each prefix whose own ban has changed, when it is sent. One
 * batch is under way at a time; its prefixes wait in the state until the server has them.
 */
#ifndef FEEDS_FLEET_SAYING_H
#define FEEDS_FLEET_SAYING_H

#include "feeds/fleet_talk.h"
#include "observe/fleet_seen.h"

struct fleet_saying {
	struct context *context;
	struct fleet_talk *talk;
	struct fleet_seen *seen;
	enum { OWN_SILENT, OWN_READY, OWN_ALL, OWN_SENT, OWN_LATER } is;
	bool again; /* the state may have more to say */
	int64_t batch, number, all, later_at;
	char epoch[FLEET_EPOCH_MAX]; /* of the saying of everything that is under way */
	struct ban last;	     /* up to there it is written */
	bool refused;
	/* How long it waits before it says all again: those who have one name take it from each other. */
	int64_t lost_wait, lost_last;
	bool said_twice;
};

void saying_begin(struct fleet_saying *own, struct context *context, struct fleet_talk *talk, struct fleet_seen *seen);
/* The program has begun again. */
void saying_again(struct fleet_saying *own);
/* One line: true where it was about what this machine says. */
bool saying_take(struct fleet_saying *own, char *words[TALK_WORDS], int *err);
/* Says what there is to say, as far as there is room. 0 or -errno with the reason recorded. */
int saying_turn(struct fleet_saying *own);
/* When to call it although nothing has come: ms of CLOCK_MONOTONIC; INT64_MAX. */
int64_t saying_due(const struct fleet_saying *own);

#endif
