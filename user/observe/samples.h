/* SPDX-License-Identifier: GPL-2.0-only */
/* Dropped packets as they come: the reading end of the ring buffer, and the budget that keeps them few. */
#ifndef OBSERVE_SAMPLES_H
#define OBSERVE_SAMPLES_H

struct sample;
struct samples;

/*
 * The ring has one reader at a time: where that is the service, which hands samples on (relay.h), they come from it;
 * otherwise -EBUSY with the reason recorded.
 */
int samples_open(struct samples **samples, double per_second);
/* The ring itself, for the service. */
int samples_open_ring(struct samples **samples, double per_second);
void samples_close(struct samples *samples);

/* To poll for reading; then samples_read() hands on what is there. */
int samples_fd(const struct samples *samples);
/* -EPIPE with the reason recorded where the service that handed them on has gone. */
int samples_read(struct samples *samples, void (*each)(void *arg, const struct sample *sample), void *arg);

/* To be called ten times a second (SAMPLES_EVERY): without it, nothing comes any more. */
#define SAMPLES_EVERY 100 /* ms */
int samples_refill(struct samples *samples);

#endif
