/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A descriptor of every part of the filter in the kernel: while a process holds them, no pin that is removed, no bpffs
 * that is unmounted opens the filter. It notices what is gone or changed, and makes it again from what it holds.
 */
#ifndef KERNEL_HELD_H
#define KERNEL_HELD_H

#include <stdbool.h>
#include <stddef.h>

#include "kernel/attachment.h"
#include "kernel/live.h"

struct context;
struct held;

/* -ENOMEM, or 0. Nothing is held before the first look. */
int held_open(struct held **held, const struct context *context);
void held_close(struct held *held);

/*
 * Takes over what commands have changed, and looks for what is gone, or another's: these bits. A command at work may
 * look the same for a moment; under the state's lock it does not.
 */
enum {
	HELD_GAP = 1,	   /* packets may pass: the slot, or the program of a link */
	HELD_PINS = 2,	   /* a pin is gone, or is another's */
	HELD_DETACHED = 4, /* an interface is not filtered any more, though it is there */
	HELD_TWICE = 8,	   /* one is, by XDP and by tc: it was to be in another mode */
	HELD_UNSEEN = 16,  /* there is no descriptor to look with: what is held stays, and nothing else is known */
};
unsigned int held_look(struct held *held);
/* Where the slot has no generation that is pinned, this one belongs there. */
void held_expect(struct held *held, struct committed committed);
/* What the last look found, for a message: "slot is gone; counters is map 17 'x' (hash), not ours". */
const char *held_faults(const struct held *held);

/* What does not wait for a lock: the slot and the links again as they were. 0 or -errno with the reason recorded. */
int held_close_gap(struct held *held);
/* The pins as well, under the lock. */
int held_repair(struct held *held);

/*
 * The n-th that was detached, or NULL. *by_force: not by the command detach, which takes the pin away, and leaves the
 * other ones. Those that may be detached are not named again after held_forget_detached().
 */
const struct attachment *held_detached(const struct held *held, size_t n, bool *by_force);
void held_forget_detached(struct held *held);

#endif
