/* SPDX-License-Identifier: GPL-2.0-only */
/* Which source address? Plain pointers and no helpers, so that the same code runs under the sanitizers. */
#ifndef PARSE_H
#define PARSE_H

#include <linux/if_ether.h>

#include "constants.h"

#define PPP_IPV4 0x0021
#define PPP_IPV6 0x0057

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NET16(x) __builtin_bswap16(x)
#define NET32(x) __builtin_bswap32(x)
#define NET64(x) __builtin_bswap64(x)
#else
#define NET16(x) (x)
#define NET32(x) (x)
#define NET64(x) (x)
#endif

struct vlan_tag {
	__u16 tci;
	__u16 proto;
};

struct pppoe_session {
	__u8 version_type;
	__u8 code;
	__u16 session;
	__u16 length;
	__u16 proto; /* of PPP */
};

struct ipv4_header {
	__u8 version_ihl;
	__u8 rest[11];
	__u32 source;
	__u32 destination;
};

struct ipv6_header {
	__u8 version_class;
	__u8 rest[7];
	__u32 source[4];
	__u32 destination[4];
};

/* All that is ever looked at, and a multiple of eight. */
#define HEADERS_MAX 72

enum { SOURCE_NONE = 0, SOURCE_IPV4 = 4, SOURCE_IPV6 = 6 };

struct source {
	__u32 ipv4;	     /* in host order */
	const void *ipv4_at; /* its header; a program that does not ask for it does not have it */
	const __u32 *ipv6;   /* in the packet: read by source_ipv6(), in programs that ask for it */
};

/* One half of an IPv6 address in host order: 0 is the higher. Only four-byte alignment is certain. */
inline_always __u64 source_ipv6(const struct source *source, int half)
{
	return (__u64)NET32(source->ipv6[2 * half]) << 32 | NET32(source->ipv6[2 * half + 1]);
}

/* True when [at, at + size) lies within the packet. */
#define PARSE_FITS(at, size, end) ((const char *)(at) + (size) <= (const char *)(end))

inline_always int parse_ipv4(const void *at, const void *end, struct source *source)
{
	const struct ipv4_header *ip = at;

	if (!PARSE_FITS(ip, sizeof(*ip), end) || ip->version_ihl >> 4 != 4)
		return SOURCE_NONE;
	source->ipv4 = NET32(ip->source);
	source->ipv4_at = ip;
	return SOURCE_IPV4;
}

inline_always int parse_ipv6(const void *at, const void *end, struct source *source)
{
	const struct ipv6_header *ip = at;

	if (!PARSE_FITS(ip, sizeof(*ip), end) || ip->version_class >> 4 != 6)
		return SOURCE_NONE;
	source->ipv6 = ip->source;
	return SOURCE_IPV6;
}

#define PARSE_VLAN(proto) ((proto) == NET16(ETH_P_8021Q) || (proto) == NET16(ETH_P_8021AD))

/* Ethernet, up to two VLAN tags, a PPPoE session, IPv4 or IPv6: which of the two, or SOURCE_NONE. */
inline_always int parse_source(const void *data, const void *end, struct source *source)
{
	const struct ethhdr *eth = data;
	const void *at = eth + 1;
	__u16 proto;

	if (!PARSE_FITS(data, sizeof(*eth), end))
		return SOURCE_NONE;
	proto = eth->h_proto;
	if (proto == NET16(ETH_P_IP))
		return parse_ipv4(at, end, source);
	if (proto == NET16(ETH_P_IPV6))
		return parse_ipv6(at, end, source);

	UNROLL
	for (int tags = 0; tags < 2; tags++) {
		const struct vlan_tag *tag = at;

		if (!PARSE_VLAN(proto))
			break;
		if (!PARSE_FITS(tag, sizeof(*tag), end))
			return SOURCE_NONE;
		proto = tag->proto;
		at = tag + 1;
	}
	if (proto == NET16(ETH_P_PPP_SES)) {
		const struct pppoe_session *ppp = at;

		if (!PARSE_FITS(ppp, sizeof(*ppp), end) || ppp->version_type != 0x11 || ppp->code != 0)
			return SOURCE_NONE;
		at = ppp + 1;
		if (ppp->proto == NET16(PPP_IPV4))
			return parse_ipv4(at, end, source);
		if (ppp->proto == NET16(PPP_IPV6))
			return parse_ipv6(at, end, source);
		return SOURCE_NONE;
	}
	if (proto == NET16(ETH_P_IP))
		return parse_ipv4(at, end, source);
	if (proto == NET16(ETH_P_IPV6))
		return parse_ipv6(at, end, source);
	return SOURCE_NONE;
}

#endif
