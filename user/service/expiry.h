/* SPDX-License-Identifier: GPL-2.0-only */
/* What ends by the wall clock: bans, and changes that were not confirmed. And a commit that its command did not end. */
#ifndef SERVICE_EXPIRY_H
#define SERVICE_EXPIRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct context;
struct pending;
struct state;

struct expiry {
	int timer;		 /* readable: call expiry_due() */
	int64_t first;		 /* in seconds since the machine was started; 0: nothing ends */
	int64_t again;		 /* after a failure, do not try before */
	struct pending *waiting; /* changes, for confirmation; NULL: none */
	size_t waits;		 /* so many of them */
};

/* 0 or -errno with the reason recorded. */
int expiry_open(struct expiry *e);
void expiry_close(struct expiry *e);

/*
 * Takes the first end from the state; NULL (it cannot be read): nothing ends until the next look. It is now where the
 * kernel is behind the state. True: some of what waited for confirmation does not any more.
 */
bool expiry_look(struct expiry *e, struct state *state, bool behind);
/* Does an interface wait for confirmation, or did anything when it was looked last? */
bool expiry_waits(const struct expiry *e, const struct context *context);
/* The timer fired: has something ended? If not, the timer is set again. */
bool expiry_due(struct expiry *e);

/* The job that ends it, and its result. */
int expiry_run(const struct context *context, void *unused);
void expiry_ran(struct expiry *e, bool done);

#endif
