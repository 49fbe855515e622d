/* SPDX-License-Identifier: GPL-2.0-only */
/* A list that comes as what changes of it (sets/packed.h). */
#ifndef CHANGE_PACKED_CHANGE_H
#define CHANGE_PACKED_CHANGE_H

#include "base/context.h"
#include "base/sha256.h"
#include "sets/ranges.h"

struct packed_change {
	bool is;	       /* what is loaded is one */
	struct ranges read;    /* the version before, as it was read */
	struct ranges settled; /* as the state has it, without bogons */
};

/* Was the list that is in force packed? Then the sum of what was read. */
bool packed_change_sum(const struct context *context, const char *list, char sum[SHA256_TEXT]);
/* Looks at what is to be loaded, and for the list that it changes. 0 or -errno with the reason recorded. */
int packed_change_begin(struct packed_change *change, const struct context *context, const char *list, int text);
/* A file of the whole list, which stands for the change from now on: a descriptor, or -errno, with the reason. */
int packed_change_text(const struct ranges *set);
/* Under the lock: is the version before still that? 0 or -EBUSY with the reason recorded. */
int packed_change_still(const struct packed_change *change, const char *list, const struct ranges *now);
void packed_change_end(struct packed_change *change);

#endif
