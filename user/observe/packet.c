// SPDX-License-Identifier: GPL-2.0-only
#include "observe/packet.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "bpf/abi.h"
#include "bpf/inner.h"

/* Extension headers that a packet may have before what it carries; no legitimate sender uses more. */
#define EXTENSIONS_MAX 8

static ip6 read_ipv6(const uint8_t *at)
{
	ip6 num = 0;

	for (int i = 0; i < 16; i++)
		num = num << 8 | at[i];
	return num;
}

static void read_ports(struct packet *p, const uint8_t *at, const uint8_t *end)
{
	if (p->protocol != IPPROTO_TCP && p->protocol != IPPROTO_UDP && p->protocol != IPPROTO_SCTP &&
	    p->protocol != IPPROTO_DCCP && p->protocol != IPPROTO_UDPLITE)
		return;
	if (at > end || end - at < 4)
		return;
	p->source_port = at[0] << 8 | at[1];
	p->destination_port = at[2] << 8 | at[3];
}

static void read_ipv4(struct packet *p, const uint8_t *ip, const uint8_t *end)
{
	size_t header = (size_t)(ip[0] & 15) * 4;

	p->destination = (struct addr){ (uint32_t)ip[16] << 24 | ip[17] << 16 | ip[18] << 8 | ip[19], 4 };
	p->protocol = ip[9];
	/* Only the first fragment has ports. */
	if (header < 20 || (ip[6] & 0x1f) || ip[7] || (size_t)(end - ip) < header)
		return;
	read_ports(p, ip + header, end);
}

static void read_after_ipv6(struct packet *p, const uint8_t *ip, const uint8_t *end)
{
	const uint8_t *at = ip + 40;

	p->destination = (struct addr){ read_ipv6(ip + 24), 6 };
	p->protocol = ip[6];
	for (int i = 0; i < EXTENSIONS_MAX; i++) {
		size_t length;

		if (p->protocol != IPPROTO_HOPOPTS && p->protocol != IPPROTO_ROUTING &&
		    p->protocol != IPPROTO_DSTOPTS && p->protocol != IPPROTO_FRAGMENT)
			break;
		if (end - at < 8)
			return;
		length = p->protocol == IPPROTO_FRAGMENT ? 8 : ((size_t)at[1] + 1) * 8;
		if (p->protocol == IPPROTO_FRAGMENT && ((at[2] << 8 | at[3]) & 0xfff8)) {
			p->protocol = at[0];
			return;
		}
		p->protocol = at[0];
		if ((size_t)(end - at) < length)
			return;
		at += length;
	}
	read_ports(p, at, end);
}

/* From its own header on, of which that much is there. */
static void read_ip(struct packet *p, int family, const uint8_t *ip, const uint8_t *end)
{
	*p = (struct packet){ .protocol = -1, .source_port = -1, .destination_port = -1 };
	if (family == SOURCE_IPV4 && end - ip >= (long)sizeof(struct ipv4_header)) {
		p->source = (struct addr){ (uint32_t)ip[12] << 24 | ip[13] << 16 | ip[14] << 8 | ip[15], 4 };
		read_ipv4(p, ip, end);
	} else if (family == SOURCE_IPV6 && end - ip >= 24) {
		p->source = (struct addr){ read_ipv6(ip + 8), 6 };
		p->protocol = ip[6];
		if (end - ip >= (long)sizeof(struct ipv6_header))
			read_after_ipv6(p, ip, end);
	}
}

void packet_read(struct packet *p, const void *bytes, size_t n)
{
	const uint8_t *end = (const uint8_t *)bytes + n;
	struct source source = { 0 };
	int family = parse_source(bytes, end, &source);
	const uint8_t *ip = family == SOURCE_IPV4 ? source.ipv4_at : (const uint8_t *)source.ipv6;

	read_ip(p, family, family == SOURCE_IPV6 ? ip - offsetof(struct ipv6_header, source) : ip, end);
}

void packet_sampled(struct packet *p, const struct sample *s)
{
	_Alignas(4) uint8_t room[2 + SAMPLE_BYTES];
	size_t n = s->captured < SAMPLE_BYTES ? s->captured : SAMPLE_BYTES;

	memcpy(room + 2, s->bytes, n);
	packet_read(p, room + 2, n);
	if (s->answer & ANSWER_INNER) {
		const struct packet_bytes bytes = { room + 2, (__u32)n };
		__u64 where = find_inner(&bytes);

		if (where && INNER_AT(where) < n)
			read_ip(p, (int)INNER_FAMILY(where), room + 2 + INNER_AT(where), room + 2 + n);
	}
	p->inner = s->answer & ANSWER_INNER;
	p->to = s->answer & ANSWER_TO;
	p->out = s->answer & ANSWER_OUT;
}

const char *packet_protocol(int protocol, char buf[16])
{
	static const struct {
		int number;
		const char *name;
	} names[] = {
		{ IPPROTO_TCP, "tcp" },	     { IPPROTO_UDP, "udp" },   { IPPROTO_ICMP, "icmp" },
		{ IPPROTO_ICMPV6, "icmp6" }, { IPPROTO_GRE, "gre" },   { IPPROTO_ESP, "esp" },
		{ IPPROTO_SCTP, "sctp" },    { IPPROTO_IGMP, "igmp" }, { IPPROTO_IPIP, "ipip" },
		{ IPPROTO_IPV6, "ipv6" },    { IPPROTO_AH, "ah" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].number == protocol)
			return names[i].name;
	if (protocol < 0)
		return "-";
	snprintf(buf, 16, "%d", protocol);
	return buf;
}
