/* SPDX-License-Identifier: GPL-2.0-only */
/* What a packet's first bytes say, for people. Its source is read as the filter reads it (parse.h). */
#ifndef OBSERVE_PACKET_H
#define OBSERVE_PACKET_H

#include <stddef.h>
#include <stdint.h>

#include "sets/address.h"

struct packet {
	struct addr source, destination;   /* family 0: there is none */
	int protocol;			   /* of IP; -1: not seen */
	int source_port, destination_port; /* -1: there is none, or it was not captured */
};

/* The bytes begin two behind a multiple of four, so that addresses lie at one, as they do where packets arrive. */
void packet_read(struct packet *packet, const void *bytes, size_t n);
/* Of a sample, whose bytes lie anyhow. */
struct sample;
void packet_sampled(struct packet *packet, const struct sample *sample);

/* "tcp", "udp", "icmp", ... or the number. */
const char *packet_protocol(int protocol, char buf[16]);

#endif
