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
	size_t masked; /* how many have host bits, such as 8.8.8.8/8; the first of them: */
	struct addr masked_host;
	struct prefix masked_first;
};

/* "-" stands for standard input, where comments begin with # or ;. */
int prefixes_read(const struct context *context, struct prefixes *prefixes, int n, char **operands);
/* -EINVAL where one has host bits: `option` takes them for their networks. */
int prefixes_exact(const struct prefixes *prefixes, const char *option);
/* Warns of it. */
void prefixes_warn_masked(const struct prefixes *prefixes);
/* Leaves out repetitions. */
int prefixes_once(struct prefixes *prefixes);
/* By family, address and length: below 0, 0 or above, as qsort(3) has it. */
int prefix_order(const struct prefix *p, const struct prefix *q);
void prefixes_free(struct prefixes *prefixes);

#endif
