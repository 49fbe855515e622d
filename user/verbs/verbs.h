/* SPDX-License-Identifier: GPL-2.0-only */
/* Every verb there is: what main() and batch run, and what --help shows. */
#ifndef VERBS_VERBS_H
#define VERBS_VERBS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/context.h"

struct verb {
	const char *name;
	int (*run)(struct context *context, int argc, char **argv);
	const char *args, *does;
	bool joins; /* it can be one change together with others (change_join()) */
};

extern const struct verb verbs[];
extern const size_t verbs_n;

/* NULL where there is none of that name. */
const struct verb *verb_find(const char *name);

struct words;

/*
 * Could this line of a file of commands be said? `files`: and is what it names there and right? 0, or 1 where it is
 * wrong, and has said why under the name of the place; -EAGAIN where nobody could look.
 */
int verb_check(const struct context *context, const struct words *line, const char *where, bool files);

#endif
