/* SPDX-License-Identifier: GPL-2.0-only */
/* What the program asks of lists with a scope, from the scopes: memory in, memory out. */
#ifndef FILTER_SCOPES_H
#define FILTER_SCOPES_H

#include "bpf/abi.h"
#include "sets/scope.h"

/* What counts on a label, and what it takes; in the order in which they are asked, those that only count last. */
struct scoped {
	struct scope scope;
	__u8 label;
	bool counts; /* a shadow list's: nothing is dropped */
};

/* All but `of`, which says what the labels of addresses stand for. -E2BIG with the reason recorded. */
int scopes_make(struct scopes *scopes, const struct scoped *scoped, size_t n);

#endif
