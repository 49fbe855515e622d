/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lists whose last load was refused: a file for each beside the state, which nothing of a command that failed is
 * committed to. What is in force knows nothing of them; it is the version before.
 */
#ifndef STATE_FAILED_H
#define STATE_FAILED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sets/list.h"

struct context;

struct list_failure {
	char list[LIST_NAME_MAX];
	int64_t since, last; /* the first and the last time in a row */
	char why[512];
};

/* Neither fails: what cannot be written is only not shown. */
void list_failed(const struct context *context, const char *list, const char *why);
void list_succeeded(const struct context *context, const char *list);
/* Ordered by name; free() the array. What cannot be read is left out. */
void list_failures(const struct context *context, struct list_failure **failures, size_t *n);
/* NULL: there is none of that name. */
const struct list_failure *list_failure_of(const struct list_failure *failures, size_t n, const char *list);

#endif
