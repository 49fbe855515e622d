/* SPDX-License-Identifier: GPL-2.0-only */
/* What the process of a fleet has seen of its server and of the members, for whoever shows it: a file of the state. */
#ifndef OBSERVE_FLEET_SEEN_H
#define OBSERVE_FLEET_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "state/fleet.h"

#define FLEET_WHY_MAX	  160
#define FLEET_VERSION_MAX 48

struct member_seen {
	char name[MEMBER_NAME_MAX];
	int64_t heard; /* its last word, ms since the epoch by this machine's clock; 0: none yet */
	int64_t entries, gaps, bad;
	double p50, p99;	 /* ms from its server's date to in force here; below 0: nothing was measured */
	char why[FLEET_WHY_MAX]; /* the last gap, or what was malformed */
};

struct fleet_seen {
	bool up;
	int64_t at, since; /* when it was written, and since when it is up or down: seconds since the epoch */
	char version[FLEET_VERSION_MAX], why[FLEET_WHY_MAX]; /* why it is down */
	bool clock_known;
	int64_t offset, rtt;	    /* ms: the server's clock less ours, and how long an answer takes */
	int64_t said;		    /* batches, since it runs */
	char unsaid[FLEET_WHY_MAX]; /* why the server refused the last one */
	int64_t lost_at;	    /* the server had lost what this machine had said; 0: never */
	char lost[FLEET_WHY_MAX];
	struct member_seen *members;
	size_t n;
};

/* 0 or -errno with the reason recorded. */
int fleet_seen_write(const struct context *context, const struct fleet_seen *seen);
/* False: there is none, or it is none. */
bool fleet_seen_read(const struct context *context, struct fleet_seen *seen);
void fleet_seen_forget(const struct context *context);
void fleet_seen_free(struct fleet_seen *seen);
/* NULL: nothing was seen of it. */
const struct member_seen *fleet_seen_of(const struct fleet_seen *seen, const char *name);

#endif
