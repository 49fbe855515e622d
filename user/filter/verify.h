/* SPDX-License-Identifier: GPL-2.0-only */
/* The proof that a set is in its arrays, before they go live. */
#ifndef FILTER_VERIFY_H
#define FILTER_VERIFY_H

#include <stdbool.h>

#include "bpf/abi.h"

struct owned;
struct ranges;

/*
 * Looks every key up with the data path's own decision. Returns 0, or -EILSEQ when an answer is wrong: then these
 * arrays must never go live.
 */
int check_arrays(const struct generation *g, const struct owned *owned);

/*
 * Of arrays that came without their set, what they themselves must hold: a key in the roster gets through to it, and
 * is on the account of a list that is known. NULL, or what is wrong.
 */
const char *check_stored(const struct generation *g, const bool known[LABELS]);

/*
 * Without a roster: 0 when no allowed address is dropped by accident, -EAGAIN when one is, -E2BIG with the reason
 * recorded when there are too many to be sure.
 */
int check_allowed(const struct generation *g, const struct ranges *allowed);

#endif
