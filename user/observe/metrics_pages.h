/* SPDX-License-Identifier: GPL-2.0-only */
/* What the service's web server answers: the page and what it reads, /metrics and /healthz. */
#ifndef OBSERVE_METRICS_PAGES_H
#define OBSERVE_METRICS_PAGES_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "observe/fleet_view.h"
#include "observe/overdue.h"
#include "observe/page.h"
#include "observe/token.h"
#include "observe/web_server.h"

/* What the service has found to be gone of the filter. */
struct faults {
	unsigned long long n; /* since it began */
	bool now;	      /* something still is */
	time_t last;
	char text[512]; /* the last */
};

/* An answer, and when that was. */
struct answered {
	char *text;
	size_t size;
	int64_t at;
	unsigned int asked; /* since then */
};

struct metrics_pages {
	const struct context *context;
	const struct history *history;
	struct faults faults;
	bool state_lost;    /* it could not be read the last time; the filter /healthz checks itself */
	bool readable;	    /* it could, when this was last asked */
	int64_t read;	    /* then; 0: never */
	bool open;	    /* other machines may ask */
	bool shown;	    /* the page, without a token too: on this machine */
	struct token token; /* who asks has to know it; /healthz says without it how it is, not why */
	struct answered counters, now;
	struct page *page; /* NULL: nobody has asked for it */
	int64_t looked;	   /* when somebody asked for it at last, by clock_ms(); 0: never */
	struct page_passing passing;
	struct fresh *fresh; /* lists of servers, as they were when it was read */
	size_t fresh_n;
	struct fleet_view fleet;	/* the same */
	char overdue[OVERDUE_TEXT_MAX]; /* the same: what should have gone back */
};

/* One of them; the argument is the pages. */
web_answer metrics_answer;
void metrics_forget(struct metrics_pages *pages);

#endif
