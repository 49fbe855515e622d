// SPDX-License-Identifier: GPL-2.0-only
#include "base/ports.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/grow.h"
#include "base/log.h"
#include "base/netlink.h"

struct links {
	struct port_of *all;
	size_t n;
	int err;
};

/* Of what is above: that of a driver, as hv_netvsc's of its VF, is of no kind. */
static bool is_bonded(const struct nlattr *info)
{
	const struct nlattr *attr;

	nl_each_nested (attr, info)
		if (nl_attr_type(attr) == IFLA_INFO_SLAVE_KIND)
			return nl_attr_is_text(attr) && !strcmp(nl_attr_text(attr), "bond");
	return true;
}

static void take(void *arg, const struct nlmsghdr *message)
{
	const struct ifinfomsg *link = nl_payload(message);
	struct port_of one = { .ifindex = (unsigned int)link->ifi_index, .hands_on = true };
	struct links *links = arg;
	const struct nlattr *attr;
	size_t i = 0;

	nl_each (attr, message, sizeof(*link)) {
		if (nl_attr_type(attr) == IFLA_IFNAME && nl_attr_is_text(attr))
			snprintf(one.name, sizeof(one.name), "%s", nl_attr_text(attr));
		else if (nl_attr_type(attr) == IFLA_MASTER)
			one.above = nl_attr_u32(attr);
		else if (nl_attr_type(attr) == IFLA_LINKINFO)
			one.hands_on = is_bonded(attr);
	}
	if (!one.above || !one.name[0])
		return;
	/* A dump that changed meanwhile comes twice. */
	while (i < links->n && links->all[i].ifindex != one.ifindex)
		i++;
	if (i == links->n && !GROW(links->all, links->n)) {
		links->err = -ENOMEM;
		return;
	}
	links->n += i == links->n;
	links->all[i] = one;
}

int ports_look(struct port_of **ports, size_t *n)
{
	struct links links = { 0 };
	struct nl_socket *socket = NULL;
	int err = netlink_open(&socket, NETLINK_ROUTE, 0, 0);

	*ports = NULL;
	*n = 0;
	err = err ?: netlink_links(socket, take, &links) ?: links.err;
	if (socket)
		nl_close(socket);
	for (size_t i = 0; i < links.n && !err; i++)
		if (if_indextoname(links.all[i].above, links.all[i].of))
			links.all[(*n)++] = links.all[i];
	if (err) {
		free(links.all);
		return because(err, "which interfaces are ports: %s", errno_text(err));
	}
	*ports = links.all;
	return 0;
}

bool ports_hand_on(const struct port_of *ports, size_t n, unsigned int from, unsigned int to)
{
	size_t steps = 0, i = 0;

	/* Of one bond in another each hands on to the next; a dump that changed meanwhile may have them in a circle. */
	while (i < n && steps < n) {
		if (ports[i].ifindex != from || !ports[i].hands_on) {
			i++;
			continue;
		}
		from = ports[i].above;
		if (from == to)
			return true;
		i = 0;
		steps++;
	}
	return false;
}

bool ports_may(const char *name)
{
	static const char *const kinds[] = { "bridge", "bond", "team", "vrf", NULL };
	unsigned int ifindex = if_nametoindex(name);
	char kind[NETLINK_KIND_MAX];
	bool may = false;

	if (!ifindex || netlink_kind(ifindex, kind))
		return false;
	for (size_t i = 0; kinds[i]; i++)
		may = may || !strcmp(kind, kinds[i]);
	return may;
}
