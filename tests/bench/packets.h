/* SPDX-License-Identifier: GPL-2.0-only */
/* What the generator of frames and its driver agree on. */
#ifndef PACKETS_H
#define PACKETS_H

#include <linux/types.h>

#define SOURCES (1u << 18) /* as many as are sent before it begins again */

/* A source and the header checksum that goes with it, as they stand in the frame. */
struct stamp {
	__u32 source;
	__u16 checksum;
	__u16 unused;
};

#endif
