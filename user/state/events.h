/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The event log, for monitoring: a line in the journal with fields of its own, and one in the state directory's events
 * file, which top and the service's hook read. Its size is bounded, and no command waits for a reader.
 */
#ifndef STATE_EVENTS_H
#define STATE_EVENTS_H

#include <stdbool.h>

#include "base/log.h"

struct context;

enum event_kind {
	EVENT_DONE, /* a verb changed something; the event bears its name */
	EVENT_REFUSED,
	EVENT_GUARD,	/* refused by a guard rail */
	EVENT_EXPIRED,	/* bans */
	EVENT_REVERTED, /* a change that was not confirmed */
	EVENT_CAPACITY, /* there was no room left: a larger generation was built */
	EVENT_FAULT,	/* a part of the filter is gone, or another's */
	EVENT_HEALED,	/* it is in place again */
	EVENT_ATTACK,	/* the detector's: one begins, or has ended */
	EVENT_BAN,	/* the detector's: its bans have become live bans */
	EVENT_LEARNED,	/* how much sources send: detect learn is over */
};

struct event {
	enum event_kind kind;
	const char *verb;	       /* of EVENT_DONE */
	unsigned long long generation; /* in force now; 0: none */
	struct json_t *more;	       /* fields of its own in the file, or NULL; the event takes it */
};

PRINTF(3, 4) void event(const struct context *context, struct event what, const char *fmt, ...);

/* A longer message is cut. JSON at most doubles each byte of a clean one, so a line has room for all. */
#define EVENT_MESSAGE_MAX 1024
#define EVENT_LINE_MAX	  (4 * EVENT_MESSAGE_MAX)

/* Who logged in, whatever he has become since; where nobody did, whose process this is. */
unsigned int event_user(void);

/* The last line of a command that was refused, as JSON: false where there is none among the latest. */
bool events_last_refusal(const char *directory, char line[EVENT_LINE_MAX]);

/* Is it one that a person waits for? Others can bring about the rest in masses: bans, their ends, what is followed. */
bool event_matters(const char *line);

/* A position in the file, at first its end. What is behind it when another file begins is read first. */
struct events_tail {
	const char *directory;
	long at;
	unsigned long long file; /* which one; 0: the next that begins */
	bool old;		 /* that is not the last one any more */
	bool lost;		 /* it was gone before all of it was read; whoever says so clears this */
};

void events_begin(struct events_tail *tail, const char *directory);
/* At first the oldest line that is kept. */
void events_from_start(struct events_tail *tail, const char *directory);
/* The next line as JSON without its newline; false where there is none yet. */
bool events_next(struct events_tail *tail, char line[EVENT_LINE_MAX]);

#endif
