/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keeps the filter whole: holds a descriptor of every part, looks four times a second whether all are in place, has
 * made again what is not, and says so: in the log, as an event, on /healthz and in the metrics. So it does of a state
 * that cannot be read, and of interfaces that cannot be filtered.
 */
#ifndef SERVICE_KEEPER_H
#define SERVICE_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct context;
struct keeper;
struct observer;
struct unfiltered;

/* 0 or -errno with the reason recorded. */
int keeper_open(struct keeper **keeper, const struct context *context, struct observer *observer);
void keeper_close(struct keeper *keeper);

/* Looks, if it is time to, and starts what heals, whatever other jobs run. True: the state is another file. */
bool keeper_turn(struct keeper *keeper, int64_t now);
/* A command has changed something: look at it soon. */
void keeper_look(struct keeper *keeper);
/* A process has ended. True if it was the one that heals, and what is filtered is to be looked at anew. */
bool keeper_ended(struct keeper *keeper);
/* Something is being healed. */
bool keeper_heals(const struct keeper *keeper);
/* When to call keeper_turn(), in ms of CLOCK_MONOTONIC. */
int64_t keeper_due(const struct keeper *keeper);

/* Why the state cannot be read; NULL: it can. */
void keeper_state(struct keeper *keeper, const char *why);
/* All that are to be filtered and could not be. It is said of those that are among them the next time, too. */
void keeper_unfiltered(struct keeper *keeper, const struct unfiltered *list, size_t n);
/* When to read the state again and say it the next time, in ms of CLOCK_MONOTONIC; INT64_MAX: nothing is in doubt. */
int64_t keeper_doubts(const struct keeper *keeper);
/* What is wrong now; "": nothing. */
const char *keeper_faulty(const struct keeper *keeper);

#endif
