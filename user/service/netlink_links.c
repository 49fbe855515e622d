// SPDX-License-Identifier: GPL-2.0-only
#include "service/netlink_links.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"

int links_open(void)
{
	struct sockaddr_nl all = { .nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

	if (fd < 0)
		return because(-errno, "netlink: %s", strerror(errno));
	if (!bind(fd, (struct sockaddr *)&all, sizeof(all)))
		return fd;
	close(fd);
	return because(-errno, "netlink: %s", strerror(errno));
}

static void tell_name(struct nlmsghdr *message, void (*seen)(void *arg, const char *name), void *arg)
{
	struct ifinfomsg *info = NLMSG_DATA(message);
	int left = (int)IFLA_PAYLOAD(message);

	for (struct rtattr *at = IFLA_RTA(info); RTA_OK(at, left); at = RTA_NEXT(at, left))
		if (at->rta_type == IFLA_IFNAME && RTA_PAYLOAD(at) && !((char *)RTA_DATA(at))[RTA_PAYLOAD(at) - 1])
			seen(arg, RTA_DATA(at));
}

void links_read(int fd, void (*seen)(void *arg, const char *name), void *arg)
{
	char buf[16384] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct sockaddr_nl from = { 0 };
	socklen_t size = sizeof(from);
	ssize_t got;

	while ((got = recvfrom(fd, buf, sizeof(buf), 0, (struct sockaddr *)&from, &size)) > 0 ||
	       (got < 0 && errno == ENOBUFS)) {
		if (got < 0)
			seen(arg, NULL);
		else if (!from.nl_pid) /* the kernel, and nobody else */
			for (struct nlmsghdr *m = (struct nlmsghdr *)buf; NLMSG_OK(m, (size_t)got);
			     m = NLMSG_NEXT(m, got))
				if (m->nlmsg_type == RTM_NEWLINK)
					tell_name(m, seen, arg);
		size = sizeof(from);
	}
}
