// SPDX-License-Identifier: GPL-2.0-only
#include "base/interfaces.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/log.h"
#include "base/netlink.h"

struct links {
	struct if_nameindex *all; /* as many as n, and its end */
	size_t n;
	int err;
};

static void take(void *arg, const struct nlmsghdr *message)
{
	const struct ifinfomsg *link = nl_payload(message);
	unsigned int ifindex = (unsigned int)link->ifi_index;
	struct links *links = arg;
	const struct nlattr *attr;
	char *name = NULL;
	size_t i = 0;

	/* A dump that changed meanwhile comes twice. */
	while (i < links->n && links->all[i].if_index != ifindex)
		i++;
	if (i < links->n || links->err)
		return;
	nl_each (attr, message, sizeof(*link))
		if (!name && nl_attr_type(attr) == IFLA_IFNAME && nl_attr_is_text(attr))
			name = strdup(nl_attr_text(attr));
	if (!name || !GROW(links->all, links->n + 1)) {
		free(name);
		links->err = -ENOMEM;
		return;
	}
	links->all[links->n++] = (struct if_nameindex){ ifindex, name };
	links->all[links->n] = (struct if_nameindex){ 0 };
}

struct if_nameindex *interfaces_all(void)
{
	struct links links = { 0 };
	struct nl_socket *socket = NULL;
	int err = netlink_open(&socket, NETLINK_ROUTE, 0, 0);

	err = err ?: netlink_links(socket, take, &links) ?: links.err;
	if (socket)
		nl_close(socket);
	if (!err)
		return links.all;
	interfaces_free(links.all);
	errno = error_number(err);
	return NULL;
}

void interfaces_free(struct if_nameindex *all)
{
	for (struct if_nameindex *i = all; i && i->if_index; i++)
		free(i->if_name);
	free(all);
}
