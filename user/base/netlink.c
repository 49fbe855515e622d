// SPDX-License-Identifier: GPL-2.0-only
#include "base/netlink.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

/* Routes that change faster than that are found over so many dumps, each of which has most of them. */
#define DUMPS 8

int netlink_open(struct mnl_socket **socket, int family, int flags, unsigned int groups)
{
	int err;

	*socket = mnl_socket_open2(family, flags | SOCK_CLOEXEC);
	if (*socket && !mnl_socket_bind(*socket, groups, MNL_SOCKET_AUTOPID))
		return 0;
	err = because(-errno, "netlink: %s", strerror(errno));
	if (*socket)
		mnl_socket_close(*socket);
	*socket = NULL;
	return err;
}

int netlink_dump_once(struct mnl_socket *socket, uint16_t kind, const void *request, size_t size, netlink_each_fn *each,
		      void *arg, bool *whole)
{
	char buf[32768] __attribute__((aligned(NLMSG_ALIGNTO))); /* the kernel fills no more at once */
	struct nlmsghdr *m = mnl_nlmsg_put_header(buf);
	ssize_t got;
	void *extra;

	m->nlmsg_type = kind;
	m->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	extra = mnl_nlmsg_put_extra_header(m, size);
	if (request)
		memcpy(extra, request, size);
	*whole = true;
	if (mnl_socket_sendto(socket, m, m->nlmsg_len) < 0)
		return -errno;
	while ((got = mnl_socket_recvfrom(socket, buf, sizeof(buf))) >= 0) {
		int left = (int)got;

		for (m = (struct nlmsghdr *)buf; mnl_nlmsg_ok(m, left); m = mnl_nlmsg_next(m, &left)) {
			*whole = *whole && !(m->nlmsg_flags & NLM_F_DUMP_INTR);
			/* Both begin with 0 or -errno. */
			if (m->nlmsg_type == NLMSG_DONE || m->nlmsg_type == NLMSG_ERROR)
				return *(int *)mnl_nlmsg_get_payload(m);
			each(arg, m);
		}
	}
	return -errno;
}

int netlink_dump(struct mnl_socket *socket, uint16_t kind, const void *request, size_t size, netlink_each_fn *each,
		 void *arg)
{
	bool whole = false;
	int err = 0;

	for (int i = 0; i < DUMPS && !whole && !err; i++)
		err = netlink_dump_once(socket, kind, request, size, each, arg, &whole);
	return err;
}

void netlink_kind_in(const struct nlattr *info, char kind[NETLINK_KIND_MAX])
{
	const struct nlattr *attr;

	mnl_attr_for_each_nested(attr, info) if (mnl_attr_get_type(attr) == IFLA_INFO_KIND)
		snprintf(kind, NETLINK_KIND_MAX, "%.*s", (int)mnl_attr_get_payload_len(attr), mnl_attr_get_str(attr));
}

struct kind_of {
	unsigned int ifindex;
	char *kind;
};

static void look_for_kind(void *arg, const struct nlmsghdr *message)
{
	const struct ifinfomsg *link = mnl_nlmsg_get_payload(message);
	const struct kind_of *of = arg;
	const struct nlattr *attr;

	if ((unsigned int)link->ifi_index != of->ifindex)
		return;
	mnl_attr_for_each(attr, message, sizeof(*link)) if (mnl_attr_get_type(attr) == IFLA_LINKINFO)
		netlink_kind_in(attr, of->kind);
}

int netlink_kind(unsigned int ifindex, char kind[NETLINK_KIND_MAX])
{
	struct kind_of of = { ifindex, kind };
	struct mnl_socket *socket;
	int err = netlink_open(&socket, NETLINK_ROUTE, 0, 0);

	kind[0] = '\0';
	if (err)
		return err;
	err = netlink_dump(socket, RTM_GETLINK, NULL, sizeof(struct ifinfomsg), look_for_kind, &of);
	mnl_socket_close(socket);
	return err;
}
