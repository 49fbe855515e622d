/* SPDX-License-Identifier: GPL-2.0-only */
/* Adding and deleting live bans within a change. 0 or -errno with the reason recorded. */
#ifndef CHANGE_BAN_H
#define CHANGE_BAN_H

#include "base/options.h"
#include "change/change.h"
#include "sets/prefixes.h"
#include "state/bans.h"

struct ban_options {
	struct number ttl;
	const char *reason;
	bool keep_longer, force, mask;
	struct number confirm;
};

/* The result of ban_add(). */
struct banned {
	size_t added, renewed, kept;
	struct ban *shortened; /* as they were before; free() them */
	size_t shortened_n;
	int64_t ends; /* when they end now */
};

int ban_add(struct change *change, const struct ban_options *options, const struct prefixes *prefixes,
	    struct banned *banned);
/* With a reason, only bans that have it. */
int ban_del(struct change *change, const struct prefixes *prefixes, const char *reason);

/* The list on whose account an answer drops; NULL if the arrays do not say. */
const char *ban_answer_list(const struct list_info *lists, size_t n, __u32 answer);

#endif
