/* SPDX-License-Identifier: GPL-2.0-only */
/* Which source address? Plain pointers and no helpers, so that the same code runs under the sanitizers. */
#ifndef PARSE_H
#define PARSE_H

#include <linux/if_ether.h>

#include "constants.h"

#define PPP_IPV4 0x0021
#define PPP_IPV6 0x0057

/* The stack takes off any number of tags. No network uses more than three; more than two are read apart. */
#define TAGS_USUAL 2
#define TAGS_MAX   4

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NET16(x) __builtin_bswap16(x)
#define NET32(x) __builtin_bswap32(x)
#define NET64(x) __builtin_bswap64(x)
#else
#define NET16(x) (x)
#define NET32(x) (x)
#define NET64(x) (x)
#endif

/* The kernel's own is packed, so that its type would be read byte by byte. */
struct ethernet {
	__u16 addresses[6];
	__u16 proto;
};

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
#define HEADERS_MAX 80

/* Hidden: as no network sends it, but the stack would find a source there. */
enum { SOURCE_NONE, SOURCE_HIDDEN, SOURCE_IPV4 = 4, SOURCE_IPV6 = 6 };

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

/* ::ffff:a.b.c.d, which the stack hands on as a.b.c.d. Nearly all others differ in the first word asked. */
inline_always int source_mapped(const struct source *source)
{
	return source->ipv6[2] == NET32(0xffff) && !(source->ipv6[0] | source->ipv6[1]);
}

/* The destination in its place. */
inline_always void source_turn(struct source *source, int family)
{
	if (family == SOURCE_IPV4)
		source->ipv4 = NET32(((const struct ipv4_header *)source->ipv4_at)->destination);
	else if (family == SOURCE_IPV6)
		source->ipv6 += 4;
}

/* True when [at, at + size) lies within the packet. */
#define PARSE_FITS(at, size, end) ((const char *)(at) + (size) <= (const char *)(end))

/* Which version the header says is not asked: the stack throws away what has the wrong one, whatever its source. */
inline_always int parse_ipv4(const void *at, const void *end, struct source *source)
{
	const struct ipv4_header *ip = at;

	if (!PARSE_FITS(ip, sizeof(*ip), end))
		return SOURCE_NONE;
	source->ipv4 = NET32(ip->source);
	source->ipv4_at = ip;
	return SOURCE_IPV4;
}

inline_always int parse_ipv6(const void *at, const void *end, struct source *source)
{
	const struct ipv6_header *ip = at;

	if (!PARSE_FITS(ip, sizeof(*ip), end))
		return SOURCE_NONE;
	source->ipv6 = ip->source;
	return SOURCE_IPV6;
}

/* The kernel asks for neither version nor code, and takes a protocol in one byte, which no two sides agree on here. */
inline_always int parse_pppoe(const void *at, const void *end, struct source *source)
{
	const struct pppoe_session *ppp = at;

	if (!PARSE_FITS(ppp, sizeof(*ppp), end))
		return SOURCE_NONE;
	if (ppp->proto == NET16(PPP_IPV4))
		return parse_ipv4(ppp + 1, end, source);
	if (ppp->proto == NET16(PPP_IPV6))
		return parse_ipv6(ppp + 1, end, source);
	if ((ppp->proto & NET16(0xff00)) == NET16(PPP_IPV4 << 8) ||
	    (ppp->proto & NET16(0xff00)) == NET16(PPP_IPV6 << 8))
		return SOURCE_HIDDEN;
	return SOURCE_NONE;
}

#define PARSE_VLAN(proto) ((proto) == NET16(ETH_P_8021Q) || (proto) == NET16(ETH_P_8021AD))

/* The type that a frame would name, by the first byte of a packet that has none; 0: it is not IP. */
inline_always __u16 parse_version(const __u8 *at)
{
	return *at >> 4 == 4 ? NET16(ETH_P_IP) : (*at >> 4 & 15) == 6 ? NET16(ETH_P_IPV6) : 0;
}

/*
 * Does such a packet begin with a tag of no VLAN? GRE's type is what the sender says, and where that is a tag's the
 * stack takes the tag off. The same bytes may begin an IPv6 packet: one of 16 KiB and more, or with no payload.
 */
inline_always int parse_bare_tag(const void *at, const void *end)
{
	const struct vlan_tag *tag = at;
	const __u8 *behind = (const __u8 *)(tag + 1);

	if (!PARSE_FITS(tag, sizeof(*tag) + 1, end) || tag->tci & NET16(0x0fff))
		return 0;
	return PARSE_VLAN(tag->proto) || (tag->proto && tag->proto == parse_version(behind));
}

/* How many bytes the tags behind the usual ones take; 0: the packet ends within. (A pointer could be to the stack.) */
inline_never __u32 parse_deeper(const struct vlan_tag *tag, const void *end)
{
	__u32 bytes = 0;

	UNROLL
	for (int tags = TAGS_USUAL; tags < TAGS_MAX; tags++) {
		if (!PARSE_FITS(tag, sizeof(*tag), end))
			return 0;
		bytes += sizeof(*tag);
		if (!PARSE_VLAN(tag->proto))
			return bytes;
		tag++;
	}
	return bytes;
}

/* Ethernet, VLAN tags, a PPPoE session, IPv4 or IPv6: which of the two, or SOURCE_NONE or _HIDDEN. */
inline_always int parse_source(const void *data, const void *end, struct source *source)
{
	const struct ethernet *eth = data;
	const void *at = eth + 1;
	__u16 proto;

	if (!PARSE_FITS(eth, sizeof(*eth), end))
		return SOURCE_NONE;
	proto = eth->proto;
	if (proto == NET16(ETH_P_IP))
		return parse_ipv4(at, end, source);
	if (proto == NET16(ETH_P_IPV6))
		return parse_ipv6(at, end, source);

	UNROLL
	for (int tags = 0; tags < TAGS_USUAL; tags++) {
		const struct vlan_tag *tag = at;

		if (!PARSE_VLAN(proto))
			goto untagged;
		if (!PARSE_FITS(tag, sizeof(*tag), end))
			return SOURCE_NONE;
		proto = tag->proto;
		at = tag + 1;
	}
	if (PARSE_VLAN(proto)) {
		__u32 more = parse_deeper(at, end);

		if (!more)
			return SOURCE_NONE;
		at = (const char *)at + more;
		proto = ((const __u16 *)at)[-1];
		if (PARSE_VLAN(proto))
			return SOURCE_HIDDEN;
	}
untagged:
	if (proto == NET16(ETH_P_IP))
		return parse_ipv4(at, end, source);
	if (proto == NET16(ETH_P_IPV6))
		return parse_ipv6(at, end, source);
	if (proto == NET16(ETH_P_PPP_SES))
		return parse_pppoe(at, end, source);
	return SOURCE_NONE;
}

#endif
