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
	bool keep_longer, replace, force, mask;
	struct number confirm;
};

/* The result of ban_add(). */
struct banned {
	size_t added, renewed, kept;
	struct ban *shortened; /* as they were before */
	struct ban *longer;    /* their ends stay, later than what was asked for */
	struct ban *reasons;   /* their reasons stay, although another was given */
	size_t shortened_n, longer_n, reasons_n;
	int64_t ends; /* when those end now that became shorter */
};

int ban_add(struct change *change, const struct ban_options *options, const struct prefixes *prefixes,
	    struct banned *banned);
void banned_free(struct banned *banned);
/* With a reason, only bans that have it. */
int ban_del(struct change *change, const struct prefixes *prefixes, const char *reason);

/* The list on whose account an answer drops; NULL if the arrays do not say. */
const char *ban_answer_list(const struct list_info *lists, size_t n, __u32 answer);

#endif
