/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interfaces that the filter should be on and is not: when one comes, or comes back, restore has to run. And what the
 * detector knows of interfaces by their numbers follows their names.
 */
#ifndef SERVICE_ARRIVALS_H
#define SERVICE_ARRIVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arrivals;
struct context;
struct state;
struct unfiltered;

/* 0 or -errno with the reason recorded. */
int arrivals_open(struct arrivals **arrivals, const struct context *context);
void arrivals_close(struct arrivals *arrivals);
/* -1: not before arrivals_due(). */
int arrivals_fd(const struct arrivals *arrivals, int64_t now);

/* Expect the interfaces of the state from now on. */
int arrivals_expect(struct arrivals *arrivals, struct state *state);
void arrivals_read(struct arrivals *arrivals, int64_t now);
/* Is one there that the filter is not on? Each is reported once, and again if restore could not attach it. */
bool arrivals_came(struct arrivals *arrivals, int64_t now);
/*
 * A restore has ended: is one there that the filter is still not on, or that the guard rails were not asked about
 * (change/ahead.h)? It is reported again later, backing off.
 */
bool arrivals_left_open(struct arrivals *arrivals, int64_t now);
/* When to ask arrivals_fd(), and arrivals_came() even if nothing was read, in ms of CLOCK_MONOTONIC. */
int64_t arrivals_due(const struct arrivals *arrivals, int64_t now);

/* Those that are there and that a restore could not attach; free() them. 0 or -errno. */
int arrivals_unfiltered(const struct arrivals *arrivals, struct unfiltered **list, size_t *n);
/* How many are attached, of how many. */
size_t arrivals_attached(const struct arrivals *arrivals, size_t *expected);

#endif
