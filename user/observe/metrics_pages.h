/* SPDX-License-Identifier: GPL-2.0-only */
/* What the service's web server answers: /metrics and /healthz. */
#ifndef OBSERVE_METRICS_PAGES_H
#define OBSERVE_METRICS_PAGES_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "observe/web_server.h"

struct context;

/* What the service has found to be gone of the filter. */
struct faults {
	unsigned long long n; /* since it began */
	bool now;	      /* something still is */
	time_t last;
	char text[512]; /* the last */
};

struct metrics_pages {
	const struct context *context;
	struct faults faults;
	bool state_lost; /* it could not be read the last time; the filter /healthz checks itself */
	char *text;	 /* the last counters, and when that was */
	size_t size;
	int64_t at;
};

/* One of them; the argument is the pages. */
web_answer metrics_answer;
void metrics_forget(struct metrics_pages *pages);

#endif
