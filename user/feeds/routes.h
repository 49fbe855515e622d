/* SPDX-License-Identifier: GPL-2.0-only */
/* A route table of the kernel, which a routing daemon fills, as a list of its own. */
#ifndef FEEDS_ROUTES_H
#define FEEDS_ROUTES_H

#include <stdbool.h>
#include <stdint.h>

#include "feeds/route_source.h"

struct context;

struct routes_options {
	struct route_wish wish;
	const char *list; /* NULL: named by the table */
	bool shadow, wide;
	int64_t grace; /* ms */
};

/* Until SIGTERM or SIGINT. 0 or -errno with the reason recorded. */
int follow_routes(struct context *context, const struct routes_options *options);

#endif
