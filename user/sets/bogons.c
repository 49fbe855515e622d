// SPDX-License-Identifier: GPL-2.0-only
#include "sets/bogons.h"

#include <string.h>

const struct bogon bogon_table[] = {
	{ "0.0.0.0/8", "this network" },
	{ "10.0.0.0/8", "private" },
	{ "100.64.0.0/10", "shared by carriers" },
	{ "127.0.0.0/8", "loopback" },
	{ "169.254.0.0/16", "link-local" },
	{ "172.16.0.0/12", "private" },
	{ "192.168.0.0/16", "private" },
	{ "224.0.0.0/4", "multicast" },
	{ "255.255.255.255", "broadcast" },
	{ "::", "unspecified" },
	{ "::1", "loopback" },
	{ "fc00::/7", "private" },
	{ "fe80::/10", "link-local" },
	{ "ff00::/8", "multicast" },
};
const size_t bogon_table_n = sizeof(bogon_table) / sizeof(bogon_table[0]);

const struct bogon *bogon_among(const struct bogon *table, size_t n, struct addr first, unsigned int length)
{
	for (size_t i = 0; i < n; i++) {
		const char *prefix = table[i].prefix;
		unsigned int width;
		struct addr bogon;

		if (!prefix_parse(prefix, strlen(prefix), &bogon, &width) && bogon.family == first.family &&
		    width <= length && (first.num & ~addr_mask(first.family, width)) == bogon.num)
			return &table[i];
	}
	return NULL;
}

const struct bogon *bogon_of(struct addr first, unsigned int length)
{
	return bogon_among(bogon_table, bogon_table_n, first, length);
}

bool source_is_nobodys(struct addr addr)
{
	return addr.family == 4 ? addr.num >> 24 == 0 || addr.num >> 24 == 127 : addr.num <= 1;
}

bool source_is_shared(struct addr addr)
{
	if (source_is_nobodys(addr))
		return true;
	return addr.family == 4 ? addr.num >> 28 == 0xe || addr.num == 0xffffffff
				: addr.num >> 120 == 0xff || addr.num >> 118 == 0xfe80 >> 6;
}
