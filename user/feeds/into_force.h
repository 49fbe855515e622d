/* SPDX-License-Identifier: GPL-2.0-only */
/* Many bans into force, a transaction for as many as may be at once. */
#ifndef FEEDS_INTO_FORCE_H
#define FEEDS_INTO_FORCE_H

#include "change/ban.h"

struct into_force {
	struct context *context;
	struct ban_options options;
	const char *whose; /* see ban_orders() */
	const char *from;  /* for the event log */
	const char *verb;  /* the same; NULL: follow */
	/* In the transaction of the last of the first n orders; or NULL. */
	int (*with)(void *arg, struct change *change, size_t n);
	/* Order `at` of those given is refused, and left out. */
	void (*refused)(void *arg, size_t at, const char *why);
	/* The first n of those given are in force and in the state, but for those that were refused. */
	void (*done)(void *arg, size_t n);
	void *arg;
	char much[256];					    /* why some are left out together: see ban_sum() */
	size_t bans, kept, ended, missed, refused_n, waits; /* what has become of all orders so far */
	double longest;					    /* the longest transaction of the last call, in seconds */
};

/*
 * What they ban beyond what may be banned in all is refused. Where they are refused together (change_refuses()), they
 * are halved until the one is found that is meant. A member's word that a guard rail refuses, as this machine has just
 * come to need the prefix, is kept and waits. Where they cannot be put into force for other reasons, that is said, and
 * tried again until it works. 0, or -EINTR: stop_asked.
 */
int into_force(struct into_force *f, struct ban_order *orders, size_t n);

#endif
