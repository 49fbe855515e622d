/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Captured packets out of a file of pcap or pcapng, whoever wrote it: bytes in, packets out. Nothing in it is believed;
 * what it takes of memory does not depend on the file.
 */
#ifndef OBSERVE_CAPTURE_READ_H
#define OBSERVE_CAPTURE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CAPTURED_MAX	 (256u << 10) /* of a packet: what tcpdump and Wireshark take at most */
#define CAPTURE_TEXT_MAX 160

struct captured {
	uint64_t time; /* ns since the epoch */
	bool timed;    /* is it known? */
	uint16_t link; /* as tcpdump.org/linktypes.html numbers them */
	uint32_t interface;
	bool outgoing;	       /* the machine itself sent it, as far as the capture says so */
	uint32_t length, size; /* of the packet; and how much of it was captured */
	const uint8_t *bytes;
};

struct capture_calls {
	ssize_t (*read)(void *arg, void *buf, size_t size); /* as read(2) */
	int (*packet)(void *arg, const struct captured *packet);
	void *arg;
};

struct capture_end {
	uint64_t packets;
	bool cut;		      /* the file ends within a packet or a block */
	char error[CAPTURE_TEXT_MAX]; /* what is wrong with it, where something is */
};

/* 0, or -errno: -EPROTO for a file that is refused, or what one of the calls returned. */
int capture_read(const struct capture_calls *calls, struct capture_end *end);

/*
 * The beginning of a packet as it lies in memory when XDP sees it: with a header of Ethernet, whatever the capture has
 * in its place, and addresses aligned.
 */
#define FRAME_BYTES 144 /* as far as addresses of a packet within it lie */

struct frame {
	_Alignas(8) uint8_t room[2 + 6 + FRAME_BYTES];
	uint32_t n; /* of its bytes */
};

#define FRAME_AT(frame) ((frame)->room + 2)

/* Is that a link type that frames can be made of? */
bool frame_link_known(uint16_t link);
/* packet: of a link type that is known. */
void frame_make_of(struct frame *frame, const struct captured *packet);

#endif
