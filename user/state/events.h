/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What happened, for whoever keeps watch: a line in the journal with fields of its own, and one in the state
 * directory's events file, which top and the service's hook read. Of bounded size; nobody waits for any of it.
 */
#ifndef STATE_EVENTS_H
#define STATE_EVENTS_H

#include "base/log.h"

enum event_kind {
	EVENT_DONE, /* a verb changed something; the event bears its name */
	EVENT_REFUSED,
	EVENT_GUARD,	/* refused by a guard rail */
	EVENT_EXPIRED,	/* bans */
	EVENT_REVERTED, /* what was not confirmed */
	EVENT_CAPACITY, /* no room was left, and a larger generation came */
};

struct event {
	enum event_kind kind;
	const char *verb;	       /* of EVENT_DONE */
	unsigned long long generation; /* in force now; 0: none */
};

PRINTF(2, 3) void event(struct event what, const char *fmt, ...);

/* A longer message is cut; of a clean one JSON at most doubles each byte, and the line holds that and the rest. */
#define EVENT_MESSAGE_MAX 1024
#define EVENT_LINE_MAX	  (4 * EVENT_MESSAGE_MAX)

/* The file, and a position in it to begin with: its end. */
struct events_tail {
	long at;
	unsigned long long inode;
};

void events_begin(struct events_tail *tail);
/* The next line as JSON without its newline; false where there is none yet. */
int events_next(struct events_tail *tail, char line[EVENT_LINE_MAX]);

#endif
