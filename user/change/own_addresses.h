/* SPDX-License-Identifier: GPL-2.0-only */
/* The addresses that this machine needs, and where each was found. */
#ifndef CHANGE_OWN_ADDRESSES_H
#define CHANGE_OWN_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sets/address.h"

struct state;

struct own_address {
	struct addr addr;
	struct addr source; /* what its packets come from: another where addr is within it */
	const char *what;   /* "a gateway in use" */
	char where[80];	    /* "route table 254" */
	bool guest;	    /* somebody other than root may have made it one */
	bool fetched;	    /* lists or decisions come from it: that keeps no filter from beginning */
};

/* Is this address worth to be learned? */
typedef bool own_wanted_fn(const void *arg, struct addr addr);

/*
 * The SSH_CONNECTION of this process, or of the nearest one above it that has one; "" where none has. Returns which.
 */
#define SSH_TEXT_MAX 128
int own_session(char text[SSH_TEXT_MAX]);

/*
 * free() the list. No address is in it twice as the same. With `wanted`, only those are in it: who asks for a few pays
 * for few. The state says which listeners the operator named, and whether destinations of what comes in are asked
 * about, or are about to be: then broadcast and multicast are needed, too. 0 or -errno with the reason recorded.
 */
int own_addresses(struct state *state, bool destinations, own_wanted_fn *wanted, const void *arg,
		  struct own_address **list, size_t *n);

/* The same without guests: no other process is looked at, which may take seconds. */
int own_addresses_of_root(struct state *state, own_wanted_fn *wanted, const void *arg, struct own_address **list,
			  size_t *n);

/* Is a gateway in use? Where that cannot be told, none is. */
bool own_has_gateway(struct state *state);

/*
 * Routes that have gateways are as they were when this number was given before, which whoever is told of each change
 * knows: then they are not asked for again. 0: that is not known.
 */
void own_routes_are(uint64_t version);

/* "a gateway in use (route table 254)" */
#define OWN_TEXT_MAX 160
const char *own_text(char text[OWN_TEXT_MAX], const struct own_address *own);

#endif
