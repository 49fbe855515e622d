/* SPDX-License-Identifier: GPL-2.0-only */
/* Dropped packets as they come: from the service, which hands its samples on (relay.h), otherwise from the ring. */
#ifndef OBSERVE_SAMPLES_H
#define OBSERVE_SAMPLES_H

#include "kernel/ring.h"

struct samples;

/* -EBUSY with the reason recorded where another reader than the service has the ring. */
int samples_open(const struct context *context, struct samples **samples, double per_second);
void samples_close(struct samples *samples);

/* As with the ring itself. samples_read() returns -EPIPE with the reason recorded where the service has gone. */
int samples_fd(const struct samples *samples);
int samples_read(struct samples *samples, void (*each)(void *arg, const struct sample *sample), void *arg);
int samples_refill(struct samples *samples);

#endif
