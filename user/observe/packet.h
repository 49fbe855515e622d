/* SPDX-License-Identifier: GPL-2.0-only */
/* What a packet's first bytes say, for people. Its source is read as the filter reads it (bpf/parse.h). */
#ifndef OBSERVE_PACKET_H
#define OBSERVE_PACKET_H

#include <stdbool.h>
#include <stddef.h>

#include "sets/address.h"

struct context;
struct sample;

struct packet {
	struct addr source, destination;   /* family 0: there is none */
	int protocol;			   /* of IP; -1: not captured */
	int source_port, destination_port; /* -1: there is none, or it was not captured */
	bool to;			   /* it was dropped for its destination */
	bool out;			   /* on its way out */
	bool inner;			   /* it is the packet within the one that was dropped */
};

/* The bytes must begin two after a multiple of four, as in received packets: then addresses are aligned. */
void packet_read(struct packet *packet, const void *bytes, size_t n);
/* The bytes of a sample may lie anywhere. */
void packet_sampled(struct packet *packet, const struct sample *sample);

/* "tcp", "udp", "icmp", ... or the number. */
const char *packet_protocol(int protocol, char buf[16]);

/* What the sample itself does not say. */
struct packet_origin {
	const char *interface, *list; /* list: NULL where it is not known */
	int64_t clock_ahead;	      /* what CLOCK_REALTIME is ahead of CLOCK_MONOTONIC, in ns */
	bool passed;		      /* no list and no stage dropped it */
};

/* A packet as a line of text, or as JSON. Returns the exit status. */
int packet_line(const struct context *context, const struct sample *sample, const struct packet_origin *from);

#endif
