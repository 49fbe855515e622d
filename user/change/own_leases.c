// SPDX-License-Identifier: GPL-2.0-only
/* A lease as dhcpcd keeps it: the server's answer (RFC 2131). */
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "change/own_scan.h"

/* Where the address is that was given, what marks options, and the first of them. */
#define YOURS	16
#define COOKIE	236
#define OPTIONS (COOKIE + 4)

enum { PAD = 0, ROUTER = 3, DNS = 6, NTP = 42, TIME = 51, SERVER = 54, END = 255 };

static const unsigned char *option(const unsigned char *message, size_t size, unsigned char kind, size_t *length)
{
	size_t step;

	for (size_t at = OPTIONS; at + 2 <= size && message[at] != END; at += step) {
		step = message[at] == PAD ? 1 : 2 + (size_t)message[at + 1];
		if (message[at] == kind && at + step <= size) {
			*length = message[at + 1];
			return message + at + 2;
		}
	}
	*length = 0;
	return NULL;
}

/* Where nobody knows, it is. */
static bool is_here(const unsigned char *address)
{
	struct ifaddrs *all = NULL;
	bool here = getifaddrs(&all) != 0;

	for (const struct ifaddrs *at = all; at && !here; at = at->ifa_next)
		here = at->ifa_addr && at->ifa_addr->sa_family == AF_INET &&
		       !memcmp(&((const struct sockaddr_in *)(const void *)at->ifa_addr)->sin_addr, address, 4);
	if (all)
		freeifaddrs(all);
	return here;
}

/*
 * dhcpcd counts by a clock that nobody sets, and takes the address away when the time is over. What was written at boot
 * before the clock was set looks older than it is.
 */
static bool has_expired(const unsigned char *message, size_t size, long long age)
{
	size_t length;
	const unsigned char *time = option(message, size, TIME, &length);
	uint32_t seconds = UINT32_MAX; /* for ever */

	if (length == sizeof(seconds))
		memcpy(&seconds, time, length);
	seconds = ntohl(seconds);
	return seconds != UINT32_MAX && age >= seconds && !is_here(message + YOURS);
}

size_t own_lease_text(char text[OWN_LEASE_TEXT_MAX], const void *message, size_t size, long long age)
{
	static const struct {
		unsigned char kind;
		const char *word;
	} says[] = { { SERVER, "SERVER_ADDRESS" }, { ROUTER, "ROUTER" }, { DNS, "DNS" }, { NTP, "NTP" } };
	size_t n = 0;

	if (size < OPTIONS || memcmp((const char *)message + COOKIE, "\x63\x82\x53\x63", OPTIONS - COOKIE) != 0 ||
	    has_expired(message, size, age))
		return 0;
	for (size_t i = 0; i < sizeof(says) / sizeof(says[0]); i++) {
		size_t length;
		const unsigned char *value = option(message, size, says[i].kind, &length);

		n += (size_t)snprintf(text + n, OWN_LEASE_TEXT_MAX - n, "%s=", says[i].word);
		for (size_t k = 0; k + 4 <= length; k += 4)
			n += (size_t)snprintf(text + n, OWN_LEASE_TEXT_MAX - n, "%d.%d.%d.%d ", value[k], value[k + 1],
					      value[k + 2], value[k + 3]);
		text[n++] = '\n';
	}
	return n;
}
