/* SPDX-License-Identifier: GPL-2.0-only */
/* A roster of codes, which sets of half a million hosts and more have, for sets of any size. */
#ifndef IN_CODES_H
#define IN_CODES_H

#include "filter/roster_table.h"

/* Where nobody's account depends on a gate before it. False: it keeps addresses. */
__attribute__((unused)) static bool keep_codes(struct generation *g)
{
	if (!g->roster4 || g->minorities)
		return false;
	g->roster4_buckets = codes4_shape(131000);
	g->version = generation_version(g);
	return true;
}

#endif
