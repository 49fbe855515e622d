// SPDX-License-Identifier: GPL-2.0-only
#include "observe/web_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

#define WAITING 4096

static int because_none(const char *where)
{
	return because(-EINVAL, "'%s' is not ADDRESS:PORT, [ADDRESS]:PORT or PORT", where);
}

int web_address(struct sockaddr_storage *address, const char *where)
{
	struct sockaddr_in *in = (struct sockaddr_in *)address;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)address;
	const char *colon = strrchr(where, ':'), *port = colon ? colon + 1 : where;
	size_t length = colon ? (size_t)(colon - where) : 0;
	char host[64] = "127.0.0.1", *end;
	const char *whole = where;
	unsigned long number = strtoul(port, &end, 10);

	memset(address, 0, sizeof(*address));
	if (*port < '0' || *port > '9' || *end || number < 1 || number > 65535 || length >= sizeof(host))
		return because_none(where);
	if (colon && where[0] == '[' && length > 2 && where[length - 1] == ']') {
		where++;
		length -= 2;
	}
	if (colon) {
		memcpy(host, where, length);
		host[length] = '\0';
	}
	if (inet_pton(AF_INET, host, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons((uint16_t)number);
		return 0;
	}
	/* Of musl's what was no address of IPv4 has its first bytes there, which are the other's flow. */
	in->sin_addr.s_addr = 0;
	if (inet_pton(AF_INET6, host, &in6->sin6_addr) != 1)
		return because_none(whole);
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons((uint16_t)number);
	return 0;
}

bool web_address_is_local(const struct sockaddr_storage *address)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;
	const struct sockaddr_in *in = (const struct sockaddr_in *)address;

	return address->ss_family == AF_INET ? ntohl(in->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET
					     : IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
}

int web_socket(const struct sockaddr_storage *address)
{
	static const int yes = 1, defer = 1; /* s: for the request, before the kernel hands the client over */
	int fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err = 0;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &defer, sizeof(defer));
	if (address->ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof(yes));
	if (bind(fd, (const struct sockaddr *)address, sizeof(*address)) || listen(fd, WAITING))
		err = -errno;
	if (!err)
		return fd;
	close(fd);
	return err;
}
