/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lines of the service's config file that fail, for whoever shows it: a file of the state while there are any: the word
 * of the service.
 */
#ifndef OBSERVE_LINES_DOWN_H
#define OBSERVE_LINES_DOWN_H

#include <stdbool.h>
#include <stddef.h>

struct context;

#define LINE_DOWN_MAX  256
#define LINES_DOWN_MAX 8

struct lines_down {
	char text[LINES_DOWN_MAX][LINE_DOWN_MAX]; /* what is wrong, one each */
	size_t n;
};

/* Does not fail: what cannot be written is only not shown. */
void lines_down_keep(const struct context *context, const struct lines_down *down);
/* served: a service runs; else there are none. */
void lines_down_take(struct lines_down *down, const struct context *context, bool served);

#endif
