/* SPDX-License-Identifier: GPL-2.0-only */
/* One holder at a time. The kernel knows the holder of a record lock, and releases it however that process ends. */
#ifndef BASE_LOCK_H
#define BASE_LOCK_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/state_path.h"

/*
 * Waits for it, at most `seconds` long. Returns a descriptor, which holds the lock until it is closed, or -errno with
 * the reason recorded; -EBUSY names the holder.
 */
int lock_take(const char *path, long seconds);

/* Called while lock_take() waits: before it does, and four times a second. It takes no lock. */
extern struct lock_meanwhile {
	void (*call)(void *arg); /* NULL: nothing is */
	void *arg;
} lock_meanwhile;

/* The process that holds that lock of a state directory; 0: no other one does. Asking releases a lock of our own. */
pid_t lock_holder(const char *directory, const char *name);
/* Does another process hold that lock of a state directory? Asking releases a lock of our own. */
bool lock_is_held(const char *directory, const char *name);

#endif
