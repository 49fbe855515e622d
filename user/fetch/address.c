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

/* The IPv4 address that a gateway makes of an IPv6 one: NAT64 and 6to4. */
static bool embedded(struct addr addr, struct addr *within)
{
	if (addr.family != 6)
		return false;
	if (addr.num >> 32 == (ip6)0x0064ff9b << 64)
		*within = (struct addr){ (uint32_t)addr.num, 4 };
	else if (addr.num >> 112 == 0x2002)
		*within = (struct addr){ (uint32_t)(addr.num >> 80), 4 };
	else
		return false;
	return true;
}

const char *address_fault(struct addr addr, const struct own_addresses *own)
{
	const struct bogon *bogon;
	struct addr within;

	addr_unmap(&addr);
	bogon = bogon_of(addr, addr_width(addr.family));
	if (bogon)
		return bogon->what;
	for (size_t i = 0; i < own->n; i++)
		if (own->addrs[i].family == addr.family && own->addrs[i].num == addr.num)
			return "this machine's own";
	return embedded(addr, &within) ? address_fault(within, own) : NULL;
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
