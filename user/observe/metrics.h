/* SPDX-License-Identifier: GPL-2.0-only */
/* What Prometheus reads: its text format, and the service's small web server. */
#ifndef OBSERVE_METRICS_H
#define OBSERVE_METRICS_H

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

struct context;

/* 0 or -errno with the reason recorded. */
int metrics_write(const struct context *context, FILE *out);

struct metrics_server;

/* where: ADDRESS:PORT, or PORT on 127.0.0.1. hosts: the names by which it is asked, besides its own; with commas. */
int metrics_listen(const struct context *context, struct metrics_server **server, const char *where, const char *hosts);
void metrics_close(struct metrics_server *server);
/* What the service has found to be gone of the filter. */
struct faults {
	unsigned long long n; /* since it began */
	bool now;	      /* something still is */
	time_t last;
	char text[512]; /* the last */
};
void metrics_faults(struct metrics_server *server, const struct faults *faults);
/* Can the state be read? /healthz reports it; the filter it checks itself. */
void metrics_state(struct metrics_server *server, bool readable);

/* What to poll; returns how many. When one is ready, or after metrics_timeout() ms (-1: forever), metrics_serve(). */
#define METRICS_CLIENTS 16
#define METRICS_FDS	(METRICS_CLIENTS + 2)
unsigned int metrics_fds(struct metrics_server *server, struct pollfd fds[METRICS_FDS]);
int metrics_timeout(struct metrics_server *server);
void metrics_serve(struct metrics_server *server);

#endif
