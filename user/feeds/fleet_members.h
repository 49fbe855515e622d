/* SPDX-License-Identifier: GPL-2.0-only */
/* What the members of a fleet say: from the program that reads it into force, batch by batch, each with how far it is.
 */
#ifndef FEEDS_FLEET_MEMBERS_H
#define FEEDS_FLEET_MEMBERS_H

#include "feeds/fleet_talk.h"
#include "feeds/into_force.h"
#include "observe/fleet_seen.h"

/* The last so many entries tell how fast they come. */
#define LATENCIES 512

struct followed {
	struct fleet_at at; /* as the state has it */
	int64_t most;	    /* as the program was told; below 0: it does not follow it */
	bool told, kept;    /* kept: there is a row of it */
	bool again;	    /* until its snapshot begins, nothing of it is kept: its row was taken away meanwhile */
	bool marked;	    /* while marks are kept */
	/* The snapshot that comes: */
	bool snapshot, whole;
	struct prefix *seen;
	size_t seen_n, refused;
	int64_t heard, entries, gaps, bad;
	float latency[LATENCIES];
	size_t latencies;
	char why[FLEET_WHY_MAX];
};

struct fleet_members {
	struct context *context;
	struct fleet_talk *talk;
	char own[MEMBER_NAME_MAX]; /* this machine's name */
	struct followed **all;	   /* by name */
	size_t n;
	bool said_full;
	int64_t any; /* as the program was told; below 0: none */
	struct ban_order *orders;
	size_t orders_n;
	struct mark {
		struct followed *of;
		struct fleet_at at;
		size_t after; /* so many orders */
		double latency, since;
		bool ends; /* a snapshot */
	} * marks;
	size_t marks_n, marks_kept;
	struct into_force force;
	int64_t ask_at; /* when it is to be asked again for what waits; by clock_ms() */
};

int members_begin(struct fleet_members *members, struct context *context, struct fleet_talk *talk, const char *own);
void members_end(struct fleet_members *members);
/* The program has begun again, and knows nothing. */
void members_again(struct fleet_members *members);
/* What the state says of them: whom the program is to follow, from where on. */
int members_expect(struct fleet_members *members, struct state *state);
/* One line: true where it was about a member. */
bool members_take(struct fleet_members *members, char *words[TALK_WORDS]);
/* No more lines before members_into_force(). */
bool members_full(const struct fleet_members *members);
/* 0 or -errno: stop_asked, or what cannot be mended by trying again. */
int members_into_force(struct fleet_members *members);
/* What waits comes into force where this machine needs it no more; ask_at moves on. */
void members_ask_again(struct fleet_members *members);
/* As the file has them; free() the array. */
int members_seen(const struct fleet_members *members, struct member_seen **seen, size_t *n);

#endif
