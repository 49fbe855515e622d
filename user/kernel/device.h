/* SPDX-License-Identifier: GPL-2.0-only */
/* What of its packets an interface does not show to a filter on it. */
#ifndef KERNEL_DEVICE_H
#define KERNEL_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "kernel/attachment.h"

#define DEVICE_TEXT_MAX 512

/*
 * "packets between its ports (eth0, eth1) are not seen here; attach to these for them". False where it sees all in that
 * mode, or where the kernel does not say.
 */
bool device_misses(const char *ifname, enum attach_mode mode, char text[DEVICE_TEXT_MAX]);
/*
 * Of these what others may send at will: whoever has the other end of a pair; and what a version before attached where
 * link_shows_outer(). In native mode nothing is asked.
 */
bool device_gone_round(const char *ifname, enum attach_mode mode, char text[DEVICE_TEXT_MAX]);

#endif
