/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes again what is gone of the filter, from what a process holds of it. */
#ifndef CHANGE_HEAL_H
#define CHANGE_HEAL_H

struct context;
struct held;

enum healed {
	HEAL_NOTHING, /* it was a command at work */
	HEAL_DONE,
	HEAL_LATER, /* a command holds the lock; the gap is closed, the pins are to be made */
};

/* One of these, or -errno with the reason recorded: something is still gone. */
int heal(const struct context *context, struct held *held);

#endif
