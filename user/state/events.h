/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What happened, for whoever keeps watch: a line in the journal with fields of its own, and one in the state
 * directory's events file, which top and the service's hook read. Of bounded size; nobody waits for any of it.
 */
#ifndef STATE_EVENTS_H
#define STATE_EVENTS_H

#include "base/log.h"

/*
 * kind: one word: a verb, or refused, guard (refused by a guard rail), expired (bans), reverted (what was not
 * confirmed), capacity (no room was left, and a larger generation came).
 */
PRINTF(2, 3) void event(const char *kind, const char *fmt, ...);

/* A verb has ended: an event if it changed something, or was refused. */
void event_verb(int argc, char *const *argv, int status);

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
