/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's ring buffer of samples: dropped packets as they come, and the budget that keeps them few. */
#ifndef KERNEL_RING_H
#define KERNEL_RING_H

struct context;
struct ring;
struct sample;

/* A ring buffer has one reader at a time: -EBUSY with the reason recorded where there is one already. */
int ring_open(const struct context *context, struct ring **ring, double per_second);
void ring_close(struct ring *ring);

/* To poll for reading; then ring_read() hands on what is there. */
int ring_fd(const struct ring *ring);
int ring_read(struct ring *ring, void (*each)(void *arg, const struct sample *sample), void *arg);

/* To be called ten times a second (RING_REFILL_MS) while samples come: without it there are no more. */
#define RING_REFILL_MS 100
int ring_refill(struct ring *ring);

#endif
