/* SPDX-License-Identifier: GPL-2.0-only */
/* Writes packets to a pcapng file, each with its interface and a comment. */
#ifndef OBSERVE_PCAPNG_H
#define OBSERVE_PCAPNG_H

#include <stddef.h>
#include <stdint.h>

struct pcapng;

/* "-" is standard output. All return 0 or -errno. */
int pcapng_open(struct pcapng **file, const char *path);
/* Takes the descriptor over, whatever comes of it. */
int pcapng_open_fd(struct pcapng **file, int fd);
int pcapng_close(struct pcapng *file);
int pcapng_flush(struct pcapng *file);

#define LINK_ETHERNET 1

/* link: as tcpdump.org/linktypes.html numbers them. comment: NULL for none. */
int pcapng_packet(struct pcapng *file, const char *interface, uint16_t link, uint64_t time_ns, const void *bytes,
		  size_t captured, size_t length, const char *comment);

#endif
