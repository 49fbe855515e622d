/* SPDX-License-Identifier: GPL-2.0-only */
/* How much others than the operator may ban in all: with what is banned by then, as much as a list may. */
#ifndef CHANGE_BAN_SUM_H
#define CHANGE_BAN_SUM_H

#include <stddef.h>

#include "change/ban.h"

/*
 * Where these orders would ban more, the widest of what is new in them is marked as too much, so that the rest fits;
 * `why` says how much they would. 0 or -errno with the reason recorded.
 */
int ban_sum(struct state *state, struct ban_order *orders, size_t n, char why[256]);

#endif
