// SPDX-License-Identifier: GPL-2.0-only
#include "fetch/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "sets/bogons.h"

bool address_of(struct addr *addr, const struct sockaddr *from)
{
	struct sockaddr_in6 in6;
	struct sockaddr_in in;

	if (from->sa_family == AF_INET) {
		memcpy(&in, from, sizeof(in));
		*addr = (struct addr){ ntohl(in.sin_addr.s_addr), 4 };
		return true;
	}
	if (from->sa_family != AF_INET6)
		return false;
	memcpy(&in6, from, sizeof(in6));
	*addr = (struct addr){ 0, 6 };
	for (size_t i = 0; i < sizeof(in6.sin6_addr); i++)
		addr->num = addr->num << 8 | in6.sin6_addr.s6_addr[i];
	addr_unmap(addr);
	return true;
}

int own_addresses_read(struct own_addresses *own)
{
	struct ifaddrs *all;
	int err = 0;

	*own = (struct own_addresses){ 0 };
	if (getifaddrs(&all))
		return -errno;
	for (const struct ifaddrs *a = all; a && !err; a = a->ifa_next) {
		if (!a->ifa_addr)
			continue;
		if (!GROW(own->addrs, own->n))
			err = -ENOMEM;
		else
			own->n += address_of(&own->addrs[own->n], a->ifa_addr);
	}
	freeifaddrs(all);
	return err;
}

/* What no list bans by mistake, and no server of the internet has. */
static const struct bogon more[] = {
	{ "192.0.0.0/24", "of protocols" }, { "198.18.0.0/15", "for benchmarks" },
	{ "240.0.0.0/4", "reserved" },	    { "64:ff9b:1::/48", "of a network's own NAT64" },
	{ "100::/64", "discarded" },	    { "5f00::/16", "of segment routing" },
	{ "fec0::/10", "site-local" },
};

#define WITHIN_MOST 2

/* The IPv4 addresses that a gateway makes of an IPv6 one; returns how many. */
static size_t embedded(struct addr addr, struct addr within[WITHIN_MOST])
{
	uint32_t last = (uint32_t)addr.num, id = (uint32_t)(addr.num >> 32);
	ip6 above = addr.num >> 32;

	if (addr.family != 6)
		return 0;
	within[0] = within[1] = (struct addr){ last, 4 };
	/* NAT64, IPv4-compatible, IPv4-translated, ISATAP. */
	if (above == (ip6)0x0064ff9b << 64 || !above || above == 0xffff0000 || (id & ~0x02000000U) == 0x00005efe)
		return 1;
	/* 6to4 */
	within[0].num = (uint32_t)(addr.num >> 80);
	if (addr.num >> 112 == 0x2002)
		return 1;
	/* Teredo: its server, and whom it is of. */
	within[0].num = (uint32_t)(addr.num >> 64);
	within[1].num = (uint32_t)~last;
	return addr.num >> 96 == 0x20010000 ? 2 : 0;
}

const char *address_fault(struct addr addr, const struct own_addresses *own)
{
	const struct bogon *bogon;
	struct addr within[WITHIN_MOST];
	const char *fault = NULL;
	size_t n;

	addr_unmap(&addr);
	bogon = bogon_of(addr, addr_width(addr.family))
			?: bogon_among(more, sizeof(more) / sizeof(*more), addr, addr_width(addr.family));
	if (bogon)
		return bogon->what;
	for (size_t i = 0; i < own->n; i++)
		if (own->addrs[i].family == addr.family && own->addrs[i].num == addr.num)
			return "this machine's own";
	n = embedded(addr, within);
	for (size_t i = 0; i < n && !fault; i++)
		fault = address_fault(within[i], own);
	return fault;
}

const char *host_fault(const char *host, const struct own_addresses *own)
{
	const char *bare = host + (*host == '[');
	size_t length = strcspn(bare, "]");
	char text[256]; /* no name is longer */
	struct in_addr number;
	struct addr addr;

	if (!addr_parse(bare, length, &addr))
		return address_fault(addr, own);
	/* What inet_aton() takes, such as 0x7f000001, proxies may take, too; and with a dot behind it. */
	length -= length && bare[length - 1] == '.';
	if (length >= sizeof(text))
		return NULL;
	memcpy(text, bare, length);
	text[length] = '\0';
	return inet_aton(text, &number) ? address_fault((struct addr){ ntohl(number.s_addr), 4 }, own) : NULL;
}
