/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lists that a server keeps fresh: where each comes from, how often it is asked for, and what came of it. A row a list,
 * by its name: a feed may be there before the first version of its list is, and outlives a list that was damaged.
 */
#ifndef STATE_FEEDS_H
#define STATE_FEEDS_H

#include <limits.h>

#include "fetch/request.h"
#include "state/servers.h"
#include "state/state.h"

/* What becomes of a list that nobody has renewed for `max_age`. */
enum feed_then { FEED_KEEP, FEED_SHADOW, FEED_DROP };

static const char *const feed_then_names[] = { "keep", "shadow", "drop" };

/* Seconds between two requests: what is asked for more often is nobody's list. */
#define FEED_EVERY_LEAST 300
#define FEED_EVERY_MOST	 (366LL * 24 * 3600)

#define FEED_RESULT_MAX 400

struct feed {
	char list[LIST_NAME_MAX + 7]; /* with " before", where it waits */
	char url[FETCH_URL_MAX];
	char options[128 + 3 * WHERE_MAX + SCOPE_OPTIONS_MAX]; /* of load, as on a command line: how its text is read */
	char headers[PATH_MAX]; /* the file of header lines, from the root; empty: none. Never what is in it */
	char key[PATH_MAX];	/* that signs it, as it was given; empty: nobody has to */
	bool insecure, lan;
	int64_t every;	 /* seconds */
	int64_t max_age; /* seconds; 0: none */
	enum feed_then then;
	/* The version in force, as its server has it: */
	char etag[FETCH_TAG_MAX], modified[64];
	int64_t dated;	   /* what it says of its age; 0: nothing */
	int64_t signed_at; /* the newest time that a signature was believed; 0: none */
	/* What became of it. Seconds since the epoch; 0: never. */
	int64_t tried, good;   /* the last request, and the last that was answered by a list or by "as it was" */
	int64_t good_up, boot; /* `good` in seconds since the machine was started, and which start that was */
	int64_t next;
	int64_t failures; /* in a row */
	int64_t refused;  /* a hash of the text that was no list, last; 0: none */
	int64_t changed;  /* when another version came into force */
	int64_t aged;	  /* since when it is what `then` makes of it; 0: it is not */
	char result[FEED_RESULT_MAX];
	bool there; /* its list is; read, and never put */
	/* Those that this version came from; put, and never read. 0: they are as they were. */
	struct addr servers[FEED_SERVERS];
	size_t servers_n;
};

/* One of the same list is replaced. Before or after the list itself. */
int state_feed_put(struct state *state, const struct feed *feed);
/* -ENOENT where the list has none. */
int state_feed_get(struct state *state, const char *list, struct feed *feed);
/* No error where there is none. */
int state_feed_drop(struct state *state, const char *list);
/* For each, by name, until it returns an error, which is passed on. A row has many KiB: they are not all held at once.
 */
int state_feeds_each(struct state *state, int (*look)(void *arg, const struct feed *feed), void *arg);
/* All of them, by name; free() the array. */
int state_feeds(struct state *state, struct feed **feeds, size_t *n);

/* How long until it is due; 0: now. Whatever became of the clock, no longer than was planned when it was asked last. */
int64_t feed_left(const struct feed *feed, int64_t now);

/* Has nobody renewed it for so long that something is to become of it? */
int feed_is_old(const struct feed *feed, int64_t now);
/* For how many seconds nobody has renewed it; -1: nobody ever has. Setting the date makes it no older. */
int64_t feed_age(const struct feed *feed, int64_t now);

#endif
