/* SPDX-License-Identifier: GPL-2.0-only */
/* A dropped packet as a line of text, or as JSON. */
#ifndef OBSERVE_PACKET_LINE_H
#define OBSERVE_PACKET_LINE_H

#include <stdint.h>

struct context;
struct sample;

/* What the sample itself does not say. */
struct packet_origin {
	const char *interface, *list; /* list: NULL where nobody can say on whose account */
	int64_t clock_ahead;	      /* what CLOCK_REALTIME is ahead of CLOCK_MONOTONIC, in ns */
};

/* Returns the exit status. */
int packet_line(const struct context *context, const struct sample *sample, const struct packet_origin *from);

#endif
