/* SPDX-License-Identifier: GPL-2.0-only */
/* Accounts of which several may hold an address at once, behind those of which the first one counts. */
#ifndef SETS_COMBINED_H
#define SETS_COMBINED_H

#include "sets/owned.h"

/* Each has a bit that no other has. */
struct joint {
	const struct ranges *banned;
	uint64_t bit;
};

/*
 * As owned_settle() for `accounts`. What none of them holds is, for each address, on the account that label_of() has
 * for all of `joint` that hold it: their bits together. Of IPv6 the longest prefix that holds an address says it.
 */
struct combined {
	const struct account *accounts;
	size_t n;
	const struct joint *joint;
	size_t joint_n;
	int (*label_of)(void *arg, uint64_t mask, uint8_t *label);
	void *arg;
};
int combined_settle(struct owned *out, const struct combined *c, const struct ranges *allowed);

#endif
