/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EXACT_H
#define EXACT_H

#include <linux/types.h>

#define EXACT_KEYS	   1000000
#define EXACT_BITMAP_WORDS (1u << 26) /* a bit for each IPv4 address */

struct exact_run {
	__u64 state, rounds;
	__u64 asked, banned;
	__u64 wrong[2]; /* dropped though innocent; let through though banned */
	__u64 last_wrong;
};

#endif
