/* SPDX-License-Identifier: GPL-2.0-only */
/* Detaches from interfaces: from all that are named, or from none. */
#ifndef CHANGE_DETACH_H
#define CHANGE_DETACH_H

#include <stdbool.h>

#include "base/label.h"

struct context;

struct detach_what {
	bool comes_in, leaves;
	bool ports; /* those alone, and not the interface itself */
};
#define DETACH_LABELS 4

/* Is there any of these under that name, in the state or attached? */
bool detach_knows(const struct context *context, const char *name, const struct detach_what *what);

/* Those of its attachments that there are and that are wanted, or else one: how many. */
int detach_labels(const struct context *context, const char *name, const struct detach_what *what,
		  char labels[DETACH_LABELS][LABEL_MAX]);

/* By labels (base/label.h); without: all. *stopped: filtering has stopped; with -errno returned, it may come back
 * later. */
int detach_interfaces(const struct context *context, char *const *labels, int n, bool *stopped);

#endif
