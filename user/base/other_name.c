// SPDX-License-Identifier: GPL-2.0-only
#include "base/other_name.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/netlink.h"

struct named {
	const char *name;
	unsigned int ifindex; /* 0: none is called so */
};

static bool has(const struct nlattr *names, const char *name)
{
	const struct nlattr *attr;

	nl_each_nested (attr, names)
		if (nl_attr_type(attr) == IFLA_ALT_IFNAME && nl_attr_is_text(attr) && !strcmp(nl_attr_text(attr), name))
			return true;
	return false;
}

static void look(void *arg, const struct nlmsghdr *message)
{
	const struct ifinfomsg *link = nl_payload(message);
	struct named *named = arg;
	const struct nlattr *attr;

	nl_each (attr, message, sizeof(*link))
		if (nl_attr_type(attr) == IFLA_PROP_LIST && has(attr, named->name))
			named->ifindex = (unsigned int)link->ifi_index;
}

/* What if_nametoindex() has no room for. */
static unsigned int long_name(const char *name)
{
	struct named named = { .name = name };
	struct nl_socket *socket;
	int err = netlink_open(&socket, NETLINK_ROUTE, 0, 0);

	if (err)
		return 0;
	err = netlink_links(socket, look, &named);
	nl_close(socket);
	return err ? 0 : named.ifindex;
}

bool is_other_name(const char *name, char own[IF_NAMESIZE])
{
	size_t length = strlen(name);
	unsigned int ifindex = strchr(name, ':')	 ? 0 /* the kernel looks at what stands before it */
			       : length < IF_NAMESIZE	 ? if_nametoindex(name)
			       : length < OTHER_NAME_MAX ? long_name(name)
							 : 0;

	return ifindex && if_indextoname(ifindex, own) && strcmp(own, name) != 0;
}
