// SPDX-License-Identifier: GPL-2.0-only
#include "change/guard.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct own_check {
	guard_covering_fn *covering;
	const void *arg;
	const char *who; /* NULL: the prefix itself */
	bool (*banned_already)(struct addr addr);
	int err;
};

/* Does the set ban this address of ours? The first that it does is the one that is named. */
static void check_own(struct own_check *c, const char *text, const char *what)
{
	char host[PREFIX_TEXT_MAX], entry[PREFIX_TEXT_MAX];
	struct addr addr;
	int length, width;

	snprintf(host, sizeof(host), "%.*s", (int)strcspn(text, "%"), text);
	if (c->err || addr_parse(host, strlen(host), &addr))
		return;
	addr_unmap(&addr);
	length = c->covering(c->arg, addr);
	if (length < 0 || c->banned_already(addr))
		return;
	width = addr.family == 4 ? 32 : 128;
	addr.num = length ? addr.num >> (width - length) << (width - length) : 0;
	prefix_text(entry, addr, length);
	c->err = guard_because("%s bans %s, %s; --force bans it", c->who ? c->who : entry, host, what);
}

/* A machine without it has no such addresses; one that cannot say now is not to be shut out for that. */
static FILE *open_own(struct own_check *c, const char *path)
{
	FILE *file = fopen(path, "re");

	if (!file && errno != ENOENT && errno != EACCES && !c->err)
		c->err = because(-errno, "%s: %s, so the guard rails do not know what this machine needs", path,
				 strerror(errno));
	return file;
}

static void check_addresses(struct own_check *c)
{
	struct ifaddrs *list, *at;
	char text[INET6_ADDRSTRLEN];

	if (getifaddrs(&list)) {
		c->err =
			because(-errno, "the guard rails cannot ask for this machine's addresses: %s", strerror(errno));
		return;
	}
	for (at = list; at; at = at->ifa_next) {
		int family = at->ifa_addr ? at->ifa_addr->sa_family : AF_UNSPEC;

		if (at->ifa_flags & IFF_LOOPBACK) /* a bogon: that is asked separately */
			continue;
		if (family == AF_INET)
			inet_ntop(family, &((struct sockaddr_in *)at->ifa_addr)->sin_addr, text, sizeof(text));
		else if (family == AF_INET6)
			inet_ntop(family, &((struct sockaddr_in6 *)at->ifa_addr)->sin6_addr, text, sizeof(text));
		else
			continue;
		check_own(c, text, "an address of this machine");
	}
	freeifaddrs(list);
}

static void check_routes4(struct own_check *c)
{
	FILE *file = open_own(c, "/proc/net/route");
	char line[512], text[INET_ADDRSTRLEN];
	unsigned int gateway;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%*s %*x %x", &gateway) == 1 && gateway &&
		    inet_ntop(AF_INET, &gateway, text, sizeof(text)))
			check_own(c, text, "a gateway in use");
	}
	if (file)
		fclose(file);
}

static void check_routes6(struct own_check *c)
{
	FILE *file = open_own(c, "/proc/net/ipv6_route");
	char line[512], digits[33], text[INET6_ADDRSTRLEN];
	unsigned char bytes[16];

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%*s %*s %*s %*s %32s", digits) != 1)
			continue;
		for (int i = 0; i < 16; i++)
			if (sscanf(digits + 2 * i, "%2hhx", &bytes[i]) != 1)
				bytes[i] = 0;
		if (inet_ntop(AF_INET6, bytes, text, sizeof(text)) && strcmp(text, "::") != 0)
			check_own(c, text, "a gateway in use");
	}
	if (file)
		fclose(file);
}

static void check_name_servers(struct own_check *c)
{
	FILE *file = open_own(c, "/etc/resolv.conf");
	char line[512], text[64];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, " nameserver %63s", text) == 1)
			check_own(c, text, "a name server in use");
	if (file)
		fclose(file);
}

/* The first word of SSH_CONNECTION in an environment that is a file. */
static bool peer_in(const char *path, char *peer, size_t size)
{
	FILE *file = fopen(path, "re");
	bool found = false;
	char *entry = NULL;
	size_t room = 0;

	while (file && !found && getdelim(&entry, &room, '\0', file) > 0) {
		found = !strncmp(entry, "SSH_CONNECTION=", 15) && entry[15];
		if (found)
			snprintf(peer, size, "%.*s", (int)strcspn(entry + 15, " "), entry + 15);
	}
	free(entry);
	if (file)
		fclose(file);
	return found;
}

static int parent_of(int pid)
{
	char path[64], line[256];
	int parent = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file && !parent && fgets(line, sizeof(line), file))
		if (sscanf(line, "PPid: %d", &parent) != 1)
			parent = 0;
	if (file)
		fclose(file);
	return parent;
}

/* sudo and su take SSH_CONNECTION away: then a process above us still has it. */
static bool ssh_peer(char *peer, size_t size)
{
	const char *own = getenv("SSH_CONNECTION");
	char path[64];

	if (own && *own) {
		snprintf(peer, size, "%.*s", (int)strcspn(own, " "), own);
		return true;
	}
	for (int pid = getppid(); pid > 1; pid = parent_of(pid)) {
		snprintf(path, sizeof(path), "/proc/%d/environ", pid);
		if (peer_in(path, peer, size))
			return true;
	}
	return false;
}

int guard_own_by(guard_covering_fn *covering, const void *arg, const char *who,
		 bool (*banned_already)(struct addr addr))
{
	struct own_check c = { covering, arg, who, banned_already, 0 };
	char peer[64];

	check_addresses(&c);
	check_routes4(&c);
	check_routes6(&c);
	check_name_servers(&c);
	if (ssh_peer(peer, sizeof(peer)))
		check_own(&c, peer, "the peer of this SSH session");
	return c.err;
}

static int covering_set(const void *set, struct addr addr)
{
	return ranges_covering(set, addr);
}

int guard_own(const struct ranges *set, bool (*banned_already)(struct addr addr))
{
	return guard_own_by(covering_set, set, NULL, banned_already);
}
