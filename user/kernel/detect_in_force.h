/* SPDX-License-Identifier: GPL-2.0-only */
/* What can be changed in the detector in force, without another generation. */
#ifndef KERNEL_DETECT_IN_FORCE_H
#define KERNEL_DETECT_IN_FORCE_H

#include <stdbool.h>
#include <stddef.h>

#include "filter/limits.h"
#include "sets/address.h"

struct context;
struct ranges;

/*
 * Interfaces have come, gone or been renamed: what the detector in force knows of them by their numbers is of these
 * names from now on. 0 where there is none.
 */
int kernel_follow(const struct context *context, const struct proven *proven, size_t n);

/* Ends the detector's own ban of all that are within, if there is any; of IPv6 also of the /64 around. */
int kernel_unjail(const struct context *context, struct addr first, unsigned int length);
/* Does the one lie within the other? */
bool end_key_holds(const struct end_key *wide, const struct end_key *narrow);

/* From now on these are policed at most, in the generation in force: /32 and /64. */
struct spared {
	struct end_key key;
	bool guest; /* others than root may have made it a need: there is room for fewer of these */
};
int kernel_spare(const struct context *context, const struct spared *who, size_t n);
/* Whom that has put in, or who built the generation; also what lists have within. The caller frees them. */
int kernel_spared(const struct context *context, struct end_key **keys, size_t *n);
/* From now on they are judged as lists have it. */
int kernel_unspare(const struct context *context, const struct end_key *keys, size_t n);

int kernel_unjail_set(const struct context *context, const struct ranges *set);

/* In the generation in force these addresses are this machine's own, and those are not any more. */
int kernel_own(const struct context *context, const struct end_key *keys, size_t n, const struct end_key *gone,
	       size_t gone_n);

#endif
