/* SPDX-License-Identifier: GPL-2.0-only */
/* One holder at a time. A record lock knows its holder, and goes with it however it ends. */
#ifndef LOCK_H
#define LOCK_H

#include <sys/types.h>

/*
 * Waits for it, at most `seconds` long. Returns a descriptor, which holds the lock until it is closed, or -errno with
 * the reason recorded; -EBUSY names the holder.
 */
int lock_take(const char *path, long seconds);

/* Who holds it: its process, or 0. */
pid_t lock_holder(int fd);

#endif
