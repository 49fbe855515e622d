/* SPDX-License-Identifier: GPL-2.0-only */
/* The file: its head, and one after the other the arrays that the head counts. */
#ifndef SETS_NETWORKS_FILE_H
#define SETS_NETWORKS_FILE_H

#include "base/sha256.h"
#include "sets/networks.h"

#define NETWORKS_MAGIC "xdpbnet\1"

struct networks_head {
	char magic[8];
	char sum[SHA256_TEXT + 7]; /* of all that follows this */
	uint64_t n6, n4, names, text;
	struct networks_source source;
};

/*
 * Behind the head, each aligned as it needs: n6 addresses where something else begins (ip6), n4 (uint32_t), n6 and n4
 * numbers of what begins there (uint32_t; 0: nothing is known), the names from the first on, and their texts, the
 * empty one first and a NUL behind each.
 */
struct networks_name {
	uint32_t asn;
	char country[4];
	uint32_t text; /* where it begins among the texts */
};

_Static_assert(sizeof(struct networks_head) % sizeof(ip6) == 0, "what follows is aligned");
_Static_assert(sizeof(struct networks_name) == 12, "no padding");

#endif
