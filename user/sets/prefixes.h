/* SPDX-License-Identifier: GPL-2.0-only */
/* The operands of verbs that take prefixes, from the command line and from standard input. */
#ifndef SETS_PREFIXES_H
#define SETS_PREFIXES_H

#include <stddef.h>

#include "sets/address.h"

struct context;

struct prefixes {
	struct prefix {
		struct addr first;
		unsigned int length;
	} * at;
	size_t n;
};

/* "-" stands for standard input, where comments begin with # or ;. */
int prefixes_read(const struct context *context, struct prefixes *prefixes, int n, char **operands);
/* Leaves out repetitions. */
int prefixes_once(struct prefixes *prefixes);
void prefixes_free(struct prefixes *prefixes);

#endif
