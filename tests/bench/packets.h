/* SPDX-License-Identifier: GPL-2.0-only */
/* What the generator of frames and its driver agree on. */
#ifndef PACKETS_H
#define PACKETS_H

#include <linux/types.h>

#define SOURCES (1u << 18) /* as many as are sent before it begins again */

/* Source, destination, and the header checksum that goes with them, as they stand in the frame. */
struct stamp {
	__u32 source, destination;
	__u16 checksum;
	__u16 unused[3]; /* eight bytes or a multiple: so far apart the kernel has them */
};

#endif
