/* SPDX-License-Identifier: GPL-2.0-only */
/* The frames that the traffic program sends: whose they are, what is in them, and how each is known when it arrives. */
#ifndef TRAFFIC_FRAMES_H
#define TRAFFIC_FRAMES_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/if_ether.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/udp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	FRAME_MAX = 256,
	HEAD_MAX = 192,
	TAGS_END = 72, /* Ethernet, tags and PPPoE leave room for IPv6, GRE, IPv6 and UDP */
	TROUBLE = 2,   /* exit status */
};

struct source {
	int family;
	uint8_t addr[16];
};

struct sources {
	struct source *at;
	size_t count, next;
	uint64_t left, sent, arrived, bytes;
};

/* The last bytes of every frame: tags are taken off the front on the way, this stays where it is. */
struct mark {
	uint64_t run, sequence;
	uint32_t source, banned;
};

struct head {
	uint8_t bytes[HEAD_MAX];
	size_t ip, length;
};

static _Noreturn void trouble(const char *what)
{
	fprintf(stderr, "traffic: %s: %s\n", what, strerror(errno));
	exit(TROUBLE);
}

static void read_sources(struct sources *s, const char *path)
{
	FILE *file = fopen(path, "r");
	char line[INET6_ADDRSTRLEN + 2];
	size_t room = 0;

	if (!file)
		trouble(path);
	while (fgets(line, sizeof(line), file)) {
		struct source *source;

		line[strcspn(line, "\n")] = '\0';
		if (s->count == room) {
			room = room ? 2 * room : 1024;
			s->at = realloc(s->at, room * sizeof(*s->at));
			if (!s->at)
				trouble(path);
		}
		source = &s->at[s->count++];
		source->family = strchr(line, ':') ? AF_INET6 : AF_INET;
		if (inet_pton(source->family, line, source->addr) != 1) {
			fprintf(stderr, "traffic: %s:%zu: '%s' is no address\n", path, s->count, line);
			exit(TROUBLE);
		}
	}
	if (ferror(file))
		trouble(path);
	fclose(file);
}

static void put16(struct head *h, uint16_t value)
{
	value = htons(value);
	memcpy(h->bytes + h->length, &value, sizeof(value));
	h->length += sizeof(value);
}

/* The addresses are destinations, and what else stands there is the source. */
static int as_destinations;

static uint16_t checksum(const uint8_t *header)
{
	uint16_t words[sizeof(struct iphdr) / 2];
	uint32_t sum = 0;

	memcpy(words, header, sizeof(words));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		sum += words[i];
	sum = (sum & 0xffff) + (sum >> 16);
	return ~(sum + (sum >> 16));
}

/* The header of a tunnel, between hosts that nobody bans. type: that of Ethernet or PPP for the packet within. */
static void put_outer(struct head *h, int family, int gre, int inner, uint16_t length, uint16_t type)
{
	const int protocol = gre ? IPPROTO_GRE : inner == AF_INET ? IPPROTO_IPIP : IPPROTO_IPV6;
	const int ppp = type < 0x100;

	length += gre ? 4 : 0;
	if (family == AF_INET) {
		struct iphdr ip = {
			.version = 4,
			.ihl = 5,
			.tot_len = htons(length + sizeof(ip)),
			.ttl = 64,
			.protocol = (uint8_t)protocol,
			.saddr = htonl(0xc6336403),
			.daddr = htonl(0xc6336402),
		};
		ip.check = checksum((const uint8_t *)&ip);
		put16(h, ppp ? 0x0021 : ETH_P_IP);
		memcpy(h->bytes + h->length, &ip, sizeof(ip));
		h->length += sizeof(ip);
	} else {
		struct ip6_hdr ip = {
			.ip6_flow = htonl(6U << 28),
			.ip6_plen = htons(length),
			.ip6_nxt = (uint8_t)protocol,
			.ip6_hlim = 64,
			.ip6_src.s6_addr = { 0x20, 0x01, 0x0d, 0xb8, [15] = 3 },
			.ip6_dst.s6_addr = { 0x20, 0x01, 0x0d, 0xb8, [15] = 2 },
		};
		put16(h, ppp ? 0x0057 : ETH_P_IPV6);
		memcpy(h->bytes + h->length, &ip, sizeof(ip));
		h->length += sizeof(ip);
	}
	if (!gre)
		return;
	put16(h, 0);
	put16(h, inner == AF_INET ? ETH_P_IP : ETH_P_IPV6);
}

/* Ethernet, the tags, then the IP and UDP headers; only source address and checksum are left to fill in. Returns
 * what is wrong with the tags, or NULL.
 */
static const char *make_head(struct head *h, int family, const char *tags)
{
	static const uint8_t macs[2 * ETH_ALEN] = { 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1 };
	const uint16_t udp_length = sizeof(struct udphdr) + sizeof(struct mark);
	const uint16_t ip_length = (family == AF_INET ? sizeof(struct iphdr) : sizeof(struct ip6_hdr)) + udp_length;
	uint16_t type = family == AF_INET ? ETH_P_IP : ETH_P_IPV6;
	struct udphdr udp = { .source = htons(9), .dest = htons(9), .len = htons(udp_length) };
	char words[64], *word, *rest = words, *outer = NULL;

	memset(h, 0, sizeof(*h));
	memcpy(h->bytes, macs, sizeof(macs));
	h->length = sizeof(macs);
	if (strlen(tags) >= sizeof(words))
		return "too many tags";
	strcpy(words, tags);
	while ((word = strsep(&rest, "+"))) {
		if (h->length > TAGS_END)
			return "too many tags";
		if (!strcmp(word, "vlan")) {
			put16(h, ETH_P_8021Q);
			put16(h, 10);
		} else if (!strcmp(word, "qinq")) {
			put16(h, ETH_P_8021AD);
			put16(h, 100);
			put16(h, ETH_P_8021Q);
			put16(h, 10);
		} else if (!strcmp(word, "pppoe")) {
			put16(h, ETH_P_PPP_SES);
			put16(h, 0x1100);
			put16(h, 7);
			put16(h, ip_length + 2);
			type = family == AF_INET ? 0x0021 : 0x0057;
		} else if (!strcmp(word, "in4") || !strcmp(word, "in6") || !strcmp(word, "gre4") ||
			   !strcmp(word, "gre6")) {
			outer = word;
		} else if (strcmp(word, "plain")) {
			return "unknown tag";
		}
	}
	if (outer)
		put_outer(h, strchr(outer, '6') ? AF_INET6 : AF_INET, *outer == 'g', family, ip_length, type);
	else
		put16(h, type);
	h->ip = h->length;
	if (family == AF_INET) {
		struct iphdr ip = {
			.version = 4,
			.ihl = 5,
			.tot_len = htons(ip_length),
			.ttl = 64,
			.protocol = IPPROTO_UDP,
			.daddr = htonl(0xc6336401), /* 198.51.100.1, for documentation */
		};
		memcpy(h->bytes + h->length, &ip, sizeof(ip));
		h->length += sizeof(ip);
	} else {
		struct ip6_hdr ip = {
			.ip6_flow = htonl(6U << 28),
			.ip6_plen = htons(udp_length),
			.ip6_nxt = IPPROTO_UDP,
			.ip6_hlim = 64,
			.ip6_dst.s6_addr = { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 },
		};
		memcpy(h->bytes + h->length, &ip, sizeof(ip));
		h->length += sizeof(ip);
	}
	memcpy(h->bytes + h->length, &udp, sizeof(udp));
	h->length += sizeof(udp);
	return NULL;
}

static size_t make_frame(uint8_t *frame, const struct head *h, const struct source *source, const struct mark *mark)
{
	uint8_t *ip = frame + h->ip;

	memcpy(frame, h->bytes, h->length);
	if (as_destinations && source->family == AF_INET)
		memcpy(ip + offsetof(struct iphdr, saddr), ip + offsetof(struct iphdr, daddr), 4);
	else if (as_destinations)
		memcpy(ip + offsetof(struct ip6_hdr, ip6_src), ip + offsetof(struct ip6_hdr, ip6_dst), 16);
	if (source->family == AF_INET) {
		uint16_t sum;

		memcpy(ip + (as_destinations ? offsetof(struct iphdr, daddr) : offsetof(struct iphdr, saddr)),
		       source->addr, 4);
		sum = checksum(ip);
		memcpy(ip + offsetof(struct iphdr, check), &sum, sizeof(sum));
	} else {
		memcpy(ip + (as_destinations ? offsetof(struct ip6_hdr, ip6_dst) : offsetof(struct ip6_hdr, ip6_src)),
		       source->addr, 16);
	}
	memcpy(frame + h->length, mark, sizeof(*mark));
	return h->length + sizeof(*mark);
}

#endif
