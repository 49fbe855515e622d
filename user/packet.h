/* SPDX-License-Identifier: GPL-2.0-only */
/* What a packet's first bytes say, for people. Its source is read as the filter reads it (parse.h). */
#ifndef PACKET_H
#define PACKET_H

#include <stddef.h>
#include <stdint.h>

#include "addr.h"

struct packet {
	struct addr source, destination;   /* family 0: there is none */
	int protocol;			   /* of IP; -1: not seen */
	int source_port, destination_port; /* -1: there is none, or it was not captured */
};

void packet_read(struct packet *packet, const void *bytes, size_t n);

/* "tcp", "udp", "icmp", ... or the number. */
const char *packet_protocol(int protocol, char buf[16]);

#endif
