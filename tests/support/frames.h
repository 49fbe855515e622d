/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every header shape, as frames: what must be found in each, and from how many bytes on, is written down by hand, so
 * that it judges the parser instead of repeating it. For the parser in user space and for the program in the kernel.
 */
#ifndef FRAMES_H
#define FRAMES_H

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sets/address.h"
#include "ktap.h"

#define FRAME_MAX 128

enum { HIDDEN = 1 };

/*
 * The headers: eth:TYPE, tag:TYPE, ppp:VERSION+TYPE,CODE,PROTOCOL, ip4:FIRST BYTE, ip6:FIRST BYTE, all in hex. What is
 * not given is filled at random, and so is some payload behind.
 */
struct frame_shape {
	const char *name, *headers;
	int family;    /* whose source address is in it; 0: none to be found, HIDDEN: only the stack would find it */
	size_t needed; /* fewer bytes hold no source address */
};

static const struct frame_shape frame_shapes[] = {
	{ "IPv4", "eth:0800 ip4:45", 4, 34 },
	{ "IPv4 with options", "eth:0800 ip4:4f", 4, 34 },
	{ "IPv6", "eth:86dd ip6:60", 6, 54 },
	{ "IPv6 with a traffic class", "eth:86dd ip6:6f", 6, 54 },
	{ "PPPoE, IPv4", "eth:8864 ppp:11000021 ip4:45", 4, 42 },
	{ "PPPoE, IPv6", "eth:8864 ppp:11000057 ip6:60", 6, 62 },

	{ "802.1Q, IPv4", "eth:8100 tag:0800 ip4:45", 4, 38 },
	{ "802.1Q, IPv6", "eth:8100 tag:86dd ip6:60", 6, 58 },
	{ "802.1Q, PPPoE, IPv4", "eth:8100 tag:8864 ppp:11000021 ip4:45", 4, 46 },
	{ "802.1Q, PPPoE, IPv6", "eth:8100 tag:8864 ppp:11000057 ip6:60", 6, 66 },
	{ "802.1ad, IPv4", "eth:88a8 tag:0800 ip4:45", 4, 38 },
	{ "802.1ad, IPv6", "eth:88a8 tag:86dd ip6:60", 6, 58 },
	{ "802.1ad, PPPoE, IPv4", "eth:88a8 tag:8864 ppp:11000021 ip4:45", 4, 46 },
	{ "802.1ad, PPPoE, IPv6", "eth:88a8 tag:8864 ppp:11000057 ip6:60", 6, 66 },

	{ "802.1Q twice, IPv4", "eth:8100 tag:8100 tag:0800 ip4:45", 4, 42 },
	{ "802.1Q twice, IPv6", "eth:8100 tag:8100 tag:86dd ip6:60", 6, 62 },
	{ "802.1Q twice, PPPoE, IPv4", "eth:8100 tag:8100 tag:8864 ppp:11000021 ip4:45", 4, 50 },
	{ "802.1Q twice, PPPoE, IPv6", "eth:8100 tag:8100 tag:8864 ppp:11000057 ip6:60", 6, 70 },
	{ "802.1ad, 802.1Q, IPv4", "eth:88a8 tag:8100 tag:0800 ip4:45", 4, 42 },
	{ "802.1ad, 802.1Q, IPv6", "eth:88a8 tag:8100 tag:86dd ip6:60", 6, 62 },
	{ "802.1ad, 802.1Q, PPPoE, IPv4", "eth:88a8 tag:8100 tag:8864 ppp:11000021 ip4:45", 4, 50 },
	{ "802.1ad, 802.1Q, PPPoE, IPv6", "eth:88a8 tag:8100 tag:8864 ppp:11000057 ip6:60", 6, 70 },
	{ "802.1Q, 802.1ad, IPv4", "eth:8100 tag:88a8 tag:0800 ip4:45", 4, 42 },
	{ "802.1Q, 802.1ad, IPv6", "eth:8100 tag:88a8 tag:86dd ip6:60", 6, 62 },
	{ "802.1Q, 802.1ad, PPPoE, IPv4", "eth:8100 tag:88a8 tag:8864 ppp:11000021 ip4:45", 4, 50 },
	{ "802.1Q, 802.1ad, PPPoE, IPv6", "eth:8100 tag:88a8 tag:8864 ppp:11000057 ip6:60", 6, 70 },
	{ "802.1ad twice, IPv4", "eth:88a8 tag:88a8 tag:0800 ip4:45", 4, 42 },
	{ "802.1ad twice, IPv6", "eth:88a8 tag:88a8 tag:86dd ip6:60", 6, 62 },
	{ "802.1ad twice, PPPoE, IPv4", "eth:88a8 tag:88a8 tag:8864 ppp:11000021 ip4:45", 4, 50 },
	{ "802.1ad twice, PPPoE, IPv6", "eth:88a8 tag:88a8 tag:8864 ppp:11000057 ip6:60", 6, 70 },

	{ "three tags, IPv4", "eth:8100 tag:8100 tag:8100 tag:0800 ip4:45", 4, 46 },
	{ "three tags, IPv6", "eth:88a8 tag:8100 tag:8100 tag:86dd ip6:60", 6, 66 },
	{ "three tags, PPPoE", "eth:88a8 tag:88a8 tag:8100 tag:8864 ppp:11000021 ip4:45", 4, 54 },
	{ "four tags, IPv4", "eth:8100 tag:88a8 tag:8100 tag:88a8 tag:0800 ip4:45", 4, 50 },
	{ "four tags, IPv6", "eth:88a8 tag:88a8 tag:88a8 tag:88a8 tag:86dd ip6:60", 6, 70 },
	{ "four tags, PPPoE, IPv6", "eth:8100 tag:8100 tag:8100 tag:8100 tag:8864 ppp:11000057 ip6:60", 6, 78 },
	{ "four tags, ARP", "eth:8100 tag:8100 tag:8100 tag:8100 tag:0806 ip4:45", 0, 0 },
	{ "five tags", "eth:8100 tag:8100 tag:8100 tag:8100 tag:8100", HIDDEN, 30 },
	{ "five tags of the other type", "eth:88a8 tag:8100 tag:8100 tag:8100 tag:88a8", HIDDEN, 30 },
	{ "ARP", "eth:0806 ip4:00", 0, 0 },
	{ "802.1Q, ARP", "eth:8100 tag:0806 ip4:45", 0, 0 },
	{ "LLDP", "eth:88cc ip4:02", 0, 0 },
	{ "MPLS", "eth:8847 tag:0000 ip4:45", 0, 0 },
	{ "802.3 with a length", "eth:0040 ip4:45", 0, 0 },
	{ "a type in the other byte order", "eth:0008 ip4:45", 0, 0 },
	{ "a tag of a type of its own", "eth:9100 tag:0800 ip4:45", 0, 0 },
	{ "IPv4 that says version 6", "eth:0800 ip4:65", 4, 34 },
	{ "IPv4 that says version 5", "eth:0800 ip4:55", 4, 34 },
	{ "IPv4 that says version 0", "eth:0800 ip4:05", 4, 34 },
	{ "IPv6 that says version 4", "eth:86dd ip6:45", 6, 54 },
	{ "IPv6 that says version 7", "eth:86dd ip6:70", 6, 54 },
	{ "802.1Q, IPv6 that says version 4", "eth:8100 tag:86dd ip6:45", 6, 58 },
	{ "PPPoE discovery", "eth:8863 ppp:11090021 ip4:45", 0, 0 },
	{ "PPPoE discovery with a session's code", "eth:8863 ppp:11000021 ip4:45", 0, 0 },
	{ "PPPoE version 2", "eth:8864 ppp:21000021 ip4:45", 4, 42 },
	{ "PPPoE type 2", "eth:8864 ppp:12000021 ip4:45", 4, 42 },
	{ "PPPoE with a code", "eth:8864 ppp:11a70021 ip4:45", 4, 42 },
	{ "PPPoE, LCP", "eth:8864 ppp:1100c021 ip4:45", 0, 0 },
	{ "PPPoE, IPCP", "eth:8864 ppp:11008021 ip4:45", 0, 0 },
	{ "PPPoE, IPV6CP", "eth:8864 ppp:11008057 ip6:60", 0, 0 },
	{ "PPPoE, IPv4 in one byte", "eth:8864 ppp:11002145", HIDDEN, 22 },
	{ "PPPoE, IPv6 in one byte", "eth:8864 ppp:11005760", HIDDEN, 22 },
	{ "802.1Q, PPPoE, IPv4 in one byte", "eth:8100 tag:8864 ppp:11002145", HIDDEN, 26 },
	{ "PPPoE, an even protocol", "eth:8864 ppp:11002021 ip4:45", 0, 0 },
	{ "PPPoE, IPv4 that says version 6", "eth:8864 ppp:11000021 ip4:60", 4, 42 },
	{ "PPPoE, IPv6 that says version 4", "eth:8864 ppp:11000057 ip6:40", 6, 62 },
	{ "802.1Q, PPPoE discovery", "eth:8100 tag:8863 ppp:11070021 ip4:45", 0, 0 },
};

#define FRAME_SHAPES (sizeof(frame_shapes) / sizeof(*frame_shapes))

static size_t frame_put(uint8_t *frame, size_t at, uint64_t value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		frame[at + i] = (uint8_t)(value >> 8 * (bytes - 1 - i));
	return at + bytes;
}

/* Writes such a frame of FRAME_MAX bytes, random payload included, from that source. */
__attribute__((unused)) static void frame_make(uint8_t frame[FRAME_MAX], const struct frame_shape *shape, ip6 source)
{
	const char *header = shape->headers;
	size_t at = 0;

	for (size_t i = 0; i < FRAME_MAX; i++)
		frame[i] = (uint8_t)ktap_random();
	while (*header) {
		const char *name = header;
		char *end;
		uint64_t value = strtoull(header + 4, &end, 16);

		header = *end ? end + 1 : end;
		if (!strncmp(name, "eth:", 4)) {
			at = frame_put(frame, at + 12, value, 2);
		} else if (!strncmp(name, "tag:", 4)) {
			at = frame_put(frame, at + 2, value, 2);
		} else if (!strncmp(name, "ppp:", 4)) {
			frame_put(frame, at, value >> 16, 2);
			at = frame_put(frame, at + 6, value & 0xffff, 2);
		} else if (!strncmp(name, "ip4:", 4)) {
			frame_put(frame, at, value, 1);
			frame_put(frame, at + 12, (uint64_t)source, 4);
			at += 20;
		} else {
			assert(!strncmp(name, "ip6:", 4));
			frame_put(frame, at, value, 1);
			frame_put(frame, at + 8, (uint64_t)(source >> 64), 8);
			frame_put(frame, at + 16, (uint64_t)source, 8);
			at += 40;
		}
	}
	assert(at <= FRAME_MAX && (!shape->needed || shape->needed == at));
}

/* From any source of its family: returns it. */
__attribute__((unused)) static ip6 frame_make_random(uint8_t frame[FRAME_MAX], const struct frame_shape *shape)
{
	ip6 source = (ip6)ktap_random() << 64 | ktap_random();

	if (shape->family == 4)
		source = (uint32_t)source;
	frame_make(frame, shape, source);
	return source;
}

#endif
