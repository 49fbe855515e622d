// SPDX-License-Identifier: GPL-2.0-only
#include "change/own_addresses.h"

#include <errno.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/log.h"
#include "base/netlink.h"

const char *own_text(char text[OWN_TEXT_MAX], const struct own_address *own)
{
	static const char *const texts[] = {
		[OWN_INTERFACE] = "an address of this machine (interface %s)",
		[OWN_ROUTE] = "a gateway in use (route table %s)",
		[OWN_NEXTHOP] = "a gateway in use (nexthop %s)",
		[OWN_RESOLVER] = "a name server in use (/etc/resolv.conf)",
		[OWN_SSH] = "the peer of this SSH session (environment of process %s)",
	};
	char name[IF_NAMESIZE];

	if (own->source != OWN_INTERFACE || !if_indextoname(own->number, name))
		snprintf(name, sizeof(name), "%u", own->number);
	snprintf(text, OWN_TEXT_MAX, texts[own->source], name);
	return text;
}

struct learned {
	struct own_address *at;
	size_t n;
	int err;
};

static void learn(struct learned *l, struct addr addr, enum own_source source, unsigned int number)
{
	addr_unmap(&addr);
	for (size_t i = 0; i < l->n; i++)
		if (l->at[i].addr.num == addr.num && l->at[i].addr.family == addr.family && l->at[i].source == source)
			return;
	if (GROW(l->at, l->n))
		l->at[l->n++] = (struct own_address){ addr, source, number };
	else
		l->err = -ENOMEM;
}

static void learn_text(struct learned *l, const char *text, enum own_source source, unsigned int number)
{
	struct addr addr;

	if (!addr_parse(text, strcspn(text, "% "), &addr))
		learn(l, addr, source, number);
}

/* Other families, and the address "any", are left out. */
static void learn_attr(struct learned *l, int family, const struct nlattr *at, enum own_source source,
		       unsigned int number)
{
	const unsigned char *bytes = mnl_attr_get_payload(at);
	size_t size = mnl_attr_get_payload_len(at);
	struct addr addr = { 0 };

	if (source == OWN_ROUTE && mnl_attr_get_type(at) == RTA_VIA && size > sizeof(struct rtvia)) {
		family = ((const struct rtvia *)bytes)->rtvia_family;
		bytes += sizeof(struct rtvia);
		size -= sizeof(struct rtvia);
	}
	addr.family = family == AF_INET ? 4 : family == AF_INET6 ? 6 : 0;
	for (size_t i = 0; addr.family && i < size && i < addr_width(addr.family) / 8; i++)
		addr.num = addr.num << 8 | bytes[i];
	if (addr.num)
		learn(l, addr, source, number);
}

static void on_address(void *arg, const struct nlmsghdr *message)
{
	const struct ifaddrmsg *header = mnl_nlmsg_get_payload(message);
	const struct nlattr *at, *ours = NULL;

	/* Where both are present, IFA_ADDRESS is the peer's. */
	mnl_attr_for_each(at, message, sizeof(*header)) if (mnl_attr_get_type(at) == IFA_LOCAL ||
							    (mnl_attr_get_type(at) == IFA_ADDRESS && !ours)) ours = at;
	/* 127.0.0.1 and ::1 are bogons, which have a guard rail of their own. */
	if (ours && header->ifa_scope != RT_SCOPE_HOST)
		learn_attr(arg, header->ifa_family, ours, OWN_INTERFACE, header->ifa_index);
}

static void on_gateway(struct learned *l, int family, const struct nlattr *at, unsigned int table)
{
	if (mnl_attr_get_type(at) == RTA_GATEWAY || mnl_attr_get_type(at) == RTA_VIA)
		learn_attr(l, family, at, OWN_ROUTE, table);
}

static void on_paths(struct learned *l, int family, const struct nlattr *paths, unsigned int table)
{
	const struct rtnexthop *path = mnl_attr_get_payload(paths);
	const struct nlattr *attr; /* the name that libmnl's macro takes */

	for (int left = mnl_attr_get_payload_len(paths); left > 0 && RTNH_OK(path, left); path = RTNH_NEXT(path)) {
		mnl_attr_for_each_payload((void *)RTNH_DATA(path), path->rtnh_len - sizeof(*path))
			on_gateway(l, family, attr, table);
		left -= RTNH_ALIGN(path->rtnh_len);
	}
}

static void on_route(void *arg, const struct nlmsghdr *message)
{
	const struct rtmsg *header = mnl_nlmsg_get_payload(message);
	unsigned int table = header->rtm_table;
	const struct nlattr *at;

	mnl_attr_for_each(at, message, sizeof(*header))
	{
		if (mnl_attr_get_type(at) == RTA_TABLE) /* it comes first */
			table = mnl_attr_get_u32(at);
		if (mnl_attr_get_type(at) == RTA_MULTIPATH)
			on_paths(arg, header->rtm_family, at, table);
		else
			on_gateway(arg, header->rtm_family, at, table);
	}
}

static void on_nexthop(void *arg, const struct nlmsghdr *message)
{
	const struct nhmsg *header = mnl_nlmsg_get_payload(message);
	const struct nlattr *at;
	unsigned int id = 0;

	mnl_attr_for_each(at, message, sizeof(*header))
	{
		if (mnl_attr_get_type(at) == NHA_ID) /* it comes first */
			id = mnl_attr_get_u32(at);
		if (mnl_attr_get_type(at) == NHA_GATEWAY)
			learn_attr(arg, header->nh_family, at, OWN_NEXTHOP, id);
	}
}

static int ask_kernel(struct learned *l)
{
	struct mnl_socket *socket;
	int err = netlink_open(&socket, 0, 0);

	if (err)
		return err;
	/* Nexthops came with 5.3. With net.ipv4.nexthop_compat_mode=0 routes do not show the gateways of theirs. */
	err = netlink_dump(socket, RTM_GETADDR, sizeof(struct ifaddrmsg), on_address, l) ?:
	      netlink_dump(socket, RTM_GETROUTE, sizeof(struct rtmsg), on_route, l) ?:
	      netlink_dump(socket, RTM_GETNEXTHOP, sizeof(struct nhmsg), on_nexthop, l);
	mnl_socket_close(socket);
	if (!err || err_is(err, EOPNOTSUPP))
		return 0;
	return because(err, "the guard rails cannot ask for this machine's addresses: %s", errno_text(err));
}

/* Is the peer of an SSH session in that process's environment? */
static bool ask_environment(struct learned *l, int pid)
{
	static const char name[] = "SSH_CONNECTION=";
	char path[64], *entry = NULL;
	bool found = false;
	size_t room = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	file = fopen(path, "re");
	while (file && !found && getdelim(&entry, &room, '\0', file) > 0)
		found = !strncmp(entry, name, strlen(name)) && entry[strlen(name)];
	if (found)
		learn_text(l, entry + strlen(name), OWN_SSH, (unsigned int)pid);
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

/* sudo and su remove SSH_CONNECTION, but a process above us still has it. */
static void ask_ssh(struct learned *l)
{
	const char *own = getenv("SSH_CONNECTION");
	int pid = getppid();

	if (own && *own)
		learn_text(l, own, OWN_SSH, (unsigned int)getpid());
	else
		while (pid > 1 && !ask_environment(l, pid))
			pid = parent_of(pid);
}

int own_addresses(struct own_address **list, size_t *n)
{
	struct learned l = { 0 };
	char line[512], text[64];
	FILE *file;
	int err = ask_kernel(&l);

	l.err = l.err ?: err;
	file = fopen("/etc/resolv.conf", "re");
	/* Without the file no name server is used. One that we may not read is no reason to refuse every ban. */
	if (!file && errno != ENOENT && errno != EACCES && !l.err)
		l.err = because(-errno, "/etc/resolv.conf: %s, so the guard rails do not know what this machine needs",
				strerror(errno));
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, " nameserver %63s", text) == 1)
			learn_text(&l, text, OWN_RESOLVER, 0);
	if (file)
		fclose(file);
	ask_ssh(&l);
	*list = l.at;
	*n = l.n;
	return l.err;
}
