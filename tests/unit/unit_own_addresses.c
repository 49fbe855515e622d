// SPDX-License-Identifier: GPL-2.0-only
/* Which addresses this machine has: of a kernel that is made up, and where it or the memory says no. */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/if_packet.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/log.h"
#include "ktap.h"

#define MOST 8

static struct ifaddrs links[MOST];
static struct sockaddr_storage addresses[MOST];
static size_t n_links;
static int lists_err, given_back;
static size_t rooms; /* so many times there is memory; 0: always */

static int given_list(struct ifaddrs **all)
{
	errno = lists_err;
	if (lists_err)
		return -1;
	for (size_t i = 0; i < n_links; i++)
		links[i].ifa_next = i + 1 < n_links ? &links[i + 1] : NULL;
	*all = n_links ? links : NULL;
	return 0;
}

static void given_end(struct ifaddrs *all)
{
	CHECK(all == (n_links ? links : NULL), "another list");
	given_back++;
}

static void *given_grow(void *array, size_t n, size_t size)
{
	if (rooms && !--rooms)
		return NULL;
	return grow(array, n, size);
}

#define getifaddrs  given_list
#define freeifaddrs given_end
#define grow	    given_grow
#include "fetch/address.c"

static void has(int family, const char *text)
{
	struct sockaddr_storage *to = &addresses[n_links];

	memset(to, 0, sizeof(*to));
	to->ss_family = (sa_family_t)family;
	if (family == AF_INET)
		inet_pton(family, text, &((struct sockaddr_in *)to)->sin_addr);
	else if (family == AF_INET6)
		inet_pton(family, text, &((struct sockaddr_in6 *)to)->sin6_addr);
	links[n_links++].ifa_addr = family == AF_UNSPEC ? NULL : (struct sockaddr *)to;
}

/* Those that a list could be at; what has none is left out, wherever it stands. */
static void are_read(void)
{
	static const char *const expected[] = { "127.0.0.1", "2001:db8::7", "192.0.2.1", "192.0.2.9", "fe80::1" };
	struct own_addresses own = { .n = 5 };

	n_links = 0;
	given_back = 0;
	CHECK(!own_addresses_read(&own) && !own.n && !own.addrs && given_back == 1, "%zu of none", own.n);
	has(AF_UNSPEC, "");
	has(AF_INET, "127.0.0.1");
	has(AF_PACKET, "");
	has(AF_INET6, "2001:db8::7");
	has(AF_INET, "192.0.2.1");
	has(AF_UNSPEC, "");
	has(AF_INET6, "::ffff:192.0.2.9");
	has(AF_INET6, "fe80::1");
	CHECK(!own_addresses_read(&own) && own.n == 5 && given_back == 2, "%zu addresses", own.n);
	for (size_t i = 0; i < own.n; i++) {
		struct addr is = { 0 };

		CHECK(!addr_parse(expected[i], strlen(expected[i]), &is) && is.family == own.addrs[i].family &&
			      is.num == own.addrs[i].num,
		      "address %zu is not %s", i, expected[i]);
	}
	free(own.addrs);
}

static void are_not_read(void)
{
	struct own_addresses own = { .n = 5 };

	lists_err = EMFILE;
	given_back = 0;
	CHECK(err_is(own_addresses_read(&own), EMFILE) && !own.n && !own.addrs && !given_back, "%zu addresses", own.n);
	lists_err = 0;
	/* Room for the first, and none for the second. */
	rooms = 2;
	n_links = 0;
	has(AF_INET, "192.0.2.1");
	has(AF_INET, "192.0.2.2");
	has(AF_INET, "192.0.2.3");
	CHECK(err_is(own_addresses_read(&own), ENOMEM) && own.n == 1 && given_back == 1, "%zu addresses", own.n);
	free(own.addrs);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "are read", are_read },
		{ "are not read", are_not_read },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
