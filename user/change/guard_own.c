// SPDX-License-Identifier: GPL-2.0-only
#include "change/guard.h"

#include <errno.h>
#include <stdlib.h>

#include "change/own_addresses.h"
#include "kernel/ask.h"

int guard_own_by(guard_covering_fn *covering, const void *arg, const char *who, const struct live *live)
{
	struct own_address *own;
	size_t n;
	int err = own_addresses(&own, &n);

	/* The first that it bans is the one that is named. */
	for (size_t i = 0; i < n && !err; i++) {
		char host[PREFIX_TEXT_MAX], entry[PREFIX_TEXT_MAX], what[OWN_TEXT_MAX];
		struct addr first = own[i].addr;
		int length = covering(arg, first);

		if (length < 0 || live_drops(live, first))
			continue;
		prefix_text(host, first, -1);
		first.num &= ~addr_mask(first.family, (unsigned int)length);
		err = guard_because("%s bans %s, %s; --force bans it", who ? who : prefix_text(entry, first, length),
				    host, own_text(what, &own[i]));
	}
	free(own);
	return err;
}

static int covering_set(const void *set, struct addr addr)
{
	return ranges_covering(set, addr);
}

int guard_own(const struct ranges *set, const struct live *live)
{
	return guard_own_by(covering_set, set, NULL, live);
}
