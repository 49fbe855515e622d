// SPDX-License-Identifier: GPL-2.0-only
#include "change/ends.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "sets/prefixes.h"
#include "state/bans.h"

struct end_key end_key_of(struct addr first, unsigned int length)
{
	struct end_key key = { .bits = END_KEY_BITS(length), .family = (__u32)first.family };
	unsigned int words = first.family == 4 ? 1 : 4;

	for (unsigned int i = 0; i < words; i++)
		key.addr[i] = htobe32((__u32)(first.num >> 32 * (words - 1 - i)));
	return key;
}

static bool covers(const struct ban *wide, const struct ban *narrow)
{
	return wide->first.family == narrow->first.family && wide->length <= narrow->length &&
	       !((wide->first.num ^ narrow->first.num) & ~addr_mask(wide->first.family, wide->length));
}

int ends_read(struct ends *ends, struct state *state, const struct ranges *within)
{
	const struct ban *around[129]; /* each holds the next one */
	size_t n, depth = 0;
	struct ban *bans;
	int err = state_bans_ending(state, 0, within, &bans, &n); /* those too that have just ended */

	for (size_t i = 0; i < n && !err; i++) {
		if (!bans[i].due)
			continue; /* a command ends it */
		while (depth && !covers(around[depth - 1], &bans[i]))
			depth--;
		if (depth && around[depth - 1]->due > bans[i].due)
			bans[i].due = around[depth - 1]->due;
		around[depth++] = &bans[i];
		if (!GROW(ends->at, ends->n))
			err = -ENOMEM;
		else
			ends->at[ends->n++] = (struct end){ end_key_of(bans[i].first, bans[i].length),
							    bans[i].due > 0 ? (__u64)bans[i].due : 1 };
	}
	free(bans);
	return err;
}

static int by_key(const void *a, const void *b)
{
	return memcmp(&((const struct end *)a)->key, &((const struct end *)b)->key, sizeof(struct end_key));
}

int ends_drop(struct ends *ends, const struct prefixes *each)
{
	size_t n = ends->n;

	if (n)
		qsort(ends->at, n, sizeof(*ends->at), by_key);
	for (size_t i = 0; i < each->n; i++) {
		struct end gone = { end_key_of(each->at[i].first, each->at[i].length), 0 };

		if (n && bsearch(&gone, ends->at, n, sizeof(gone), by_key))
			continue;
		if (!GROW(ends->at, ends->n))
			return -ENOMEM;
		ends->at[ends->n++] = gone;
	}
	return 0;
}

void ends_free(struct ends *ends)
{
	free(ends->at);
	*ends = (struct ends){ 0 };
}
