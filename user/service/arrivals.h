/* SPDX-License-Identifier: GPL-2.0-only */
/* Interfaces that the filter should be on, and is not yet: when one comes, or comes back, it is time for restore. */
#ifndef SERVICE_ARRIVALS_H
#define SERVICE_ARRIVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arrivals;
struct state;

/* 0 or -errno with the reason recorded. */
int arrivals_open(struct arrivals **arrivals);
void arrivals_close(struct arrivals *arrivals);
int arrivals_fd(const struct arrivals *arrivals);

/* Those that the state has. */
int arrivals_expect(struct arrivals *arrivals, struct state *state);
void arrivals_read(struct arrivals *arrivals);
/* Is one there that the filter is not on? Each is told once, and once more where it was left open. */
bool arrivals_came(struct arrivals *arrivals, int64_t now);
/* A restore has ended: is one there still that the filter is not on? Then it is told again, ever more rarely. */
bool arrivals_left_open(struct arrivals *arrivals, int64_t now);
/* When arrivals_came() has something to say by itself, in ms of CLOCK_MONOTONIC. */
int64_t arrivals_due(const struct arrivals *arrivals);

size_t arrivals_expected(const struct arrivals *arrivals);
size_t arrivals_attached(const struct arrivals *arrivals);

#endif
