/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's ring buffer of samples: dropped packets, and the budget that limits them, shared by the lists. */
#ifndef KERNEL_RING_H
#define KERNEL_RING_H

struct context;
struct ring;
struct sample;

/* A ring buffer has one reader at a time: -EBUSY with the reason recorded where there is one already. */
int ring_open(const struct context *context, struct ring **ring, double per_second);
void ring_close(struct ring *ring);

/* Poll it for reading, then call ring_read(). */
int ring_fd(const struct ring *ring);
int ring_read(struct ring *ring, void (*each)(void *arg, const struct sample *sample), void *arg);

/* Call it every RING_REFILL_MS; otherwise the budget is used up and no more samples come. */
#define RING_REFILL_MS 1000
int ring_refill(struct ring *ring);

#endif
