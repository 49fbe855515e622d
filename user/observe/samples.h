/* SPDX-License-Identifier: GPL-2.0-only */
/* Dropped packets as they come: from the service (relay.h) where it runs, otherwise from the ring. */
#ifndef OBSERVE_SAMPLES_H
#define OBSERVE_SAMPLES_H

#include "kernel/ring.h"

struct samples;

/* -EBUSY with the reason recorded where another command reads the ring. */
int samples_open(const struct context *context, struct samples **samples, double per_second);
void samples_close(struct samples *samples);

/* As for the ring. samples_read() returns -EPIPE with the reason recorded when the service has gone. */
int samples_fd(const struct samples *samples);
int samples_read(struct samples *samples, void (*each)(void *arg, const struct sample *sample), void *arg);
int samples_refill(struct samples *samples);

#endif
