/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What lies behind a packet's header of IP: its protocol, and where that one's header is. Asked by few, so it is read
 * by its place, whatever the packet is kept in; read_bytes() knows that. The same code on both sides.
 */
#ifndef BEHIND_H
#define BEHIND_H

#include "parse.h"

#ifndef __bpf__

struct packet_bytes {
	const __u8 *at;
	__u32 n;
};

#define PACKET const struct packet_bytes

inline_always int read_bytes(PACKET *from, __u64 at, void *to, __u32 size)
{
	if (at > from->n || from->n - at < size)
		return -1;
	__builtin_memcpy(to, from->at + at, size);
	return 0;
}

#endif

#define BEHIND_FRAGMENT 44
#define BEHIND_AH	51
/* What may lie between the header of IPv6 and what it carries: hop-by-hop, routing, fragment, AH, destination,
 * mobility. */
#define BEHIND_BETWEEN(protocol)                                                                            \
	((protocol) == 0 || (protocol) == 43 || (protocol) == BEHIND_FRAGMENT || (protocol) == BEHIND_AH || \
	 (protocol) == 60 || (protocol) == 135)
#define BEHIND_HEADERS 8 /* so many of them are looked through */

/* Protocol and place; protocol 256: it is not known. Place 0: it is elsewhere, in another fragment. */
#define BEHIND(protocol, at)	(((__u64)(protocol) << 16) | ((at)&0xffff))
#define BEHIND_PROTOCOL(behind) ((behind) >> 16 & 0x1ff)
#define BEHIND_AT(behind)	((behind)&0xffff)
#define BEHIND_UNKNOWN		BEHIND(256, 0)

/* Two bytes of the packet, wherever they are; -1: it ends before. */
inline_always __s64 read_two(PACKET *from, __u64 at)
{
	__u8 two[2] = { 0 };

	return read_bytes(from, at, two, sizeof(two)) ? -1 : (__s64)((__u64)two[0] << 8 | two[1]);
}

/* Behind IPv6's own header, which says protocol and ends at that place. */
inline_never __u64 behind_ipv6(PACKET *from, __u64 protocol, __u64 at)
{
	NOT_UNROLLED
	for (int i = 0; i < BEHIND_HEADERS; i++) {
		__s64 two, where;

		if (!BEHIND_BETWEEN(protocol))
			return BEHIND(protocol, at);
		two = read_two(from, at);
		if (two < 0)
			return BEHIND_UNKNOWN;
		if (protocol == BEHIND_FRAGMENT) {
			where = read_two(from, at + 2);
			if (where < 0)
				return BEHIND_UNKNOWN;
			if (where & 0xfff8) {
				protocol = two >> 8;
				return BEHIND(BEHIND_BETWEEN(protocol) ? 256 : protocol, 0);
			}
			at += 8;
		} else if (protocol == BEHIND_AH) {
			at += ((two & 0xff) + 2) * 4;
		} else {
			at += ((two & 0xff) + 1) * 8;
		}
		ANY_15_BITS(at, two);
		protocol = two >> 8;
	}
	return BEHIND_BETWEEN(protocol) ? BEHIND_UNKNOWN : BEHIND(protocol, at);
}

/* Behind a header of IPv4, which is at that place. */
inline_always __u64 behind_ipv4(const struct ipv4_header *ip, __u64 at)
{
	at += (ip->version_ihl & 15) * 4;
	return BEHIND(ip->rest[8], (ip->rest[5] << 8 | ip->rest[6]) & 0x1fff ? 0 : at);
}

/* Of a packet whose address was found: base is where its frame begins. */
inline_always __u64 behind_source(PACKET *from, const void *base, const struct source *source, int family)
{
	const char *ip = family == SOURCE_IPV4 ? source->ipv4_at
					       : (const char *)source->ipv6 - offsetof(struct ipv6_header, source);
	__u64 at = ip - (const char *)base;

	if (family == SOURCE_IPV4)
		return behind_ipv4(source->ipv4_at, at);
	return behind_ipv6(from, ((const struct ipv6_header *)(const void *)ip)->rest[5],
			   at + sizeof(struct ipv6_header));
}

#endif
