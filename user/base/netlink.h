/* SPDX-License-Identifier: GPL-2.0-only */
/* Questions to the kernel over netlink. */
#ifndef BASE_NETLINK_H
#define BASE_NETLINK_H

#include "base/nl.h"
#include <stdbool.h>
#include <sys/types.h>

struct nl_socket;

/*
 * A socket of that family (NETLINK_ROUTE...) that gets the messages of these groups (RTMGRP_...; 0: none). Returns 0,
 * or -errno with the reason recorded.
 */
int netlink_open(struct nl_socket **socket, int family, int flags, unsigned int groups);
/* One that another process has opened and asked nothing yet; NULL: no memory. */
struct nl_socket *netlink_given(int fd);
void nl_close(struct nl_socket *socket);
int nl_fd(const struct nl_socket *socket);
/* As setsockopt(), sendto() the kernel and recv() are; a message that the room is too small for is EMSGSIZE. */
int nl_option(const struct nl_socket *socket, int option, const void *value, size_t size);
ssize_t nl_send(const struct nl_socket *socket, const void *bytes, size_t size);
ssize_t nl_receive(const struct nl_socket *socket, void *room, size_t size);

/*
 * Asks for all objects of a kind (RTM_GETADDR and the like; what follows the message's header is in `request`; NULL:
 * zeros, every family), and calls `each` for every one. Where the kernel says that they changed meanwhile, it is asked
 * again: then some come twice, and none is missed. Returns 0 or -errno.
 */
typedef void netlink_each_fn(void *arg, const struct nlmsghdr *message);
int netlink_dump(struct nl_socket *socket, uint16_t kind, const void *request, size_t size, netlink_each_fn *each,
		 void *arg);
/* Once. *whole: they did not change meanwhile. */
int netlink_dump_once(struct nl_socket *socket, uint16_t kind, const void *request, size_t size, netlink_each_fn *each,
		      void *arg, bool *whole);
/* The first `most` of them. *all: there were no more. Then the socket is good for nothing but to be closed. */
int netlink_dump_first(struct nl_socket *socket, uint16_t kind, const void *request, size_t size, size_t most,
		       netlink_each_fn *each, void *arg, bool *all);
/*
 * As many as come before it has taken that much of a CPU, and one message more. To go on, the kernel may begin at the
 * first of thousands, and it may be for others to say how many there are. *all as above.
 */
int netlink_dump_within(struct nl_socket *socket, uint16_t kind, const void *request, size_t size, unsigned int ms,
			netlink_each_fn *each, void *arg, bool *all);
/* Asks for one object; -errno where there is none. */
int netlink_one(struct nl_socket *socket, uint16_t kind, const void *request, size_t size, netlink_each_fn *each,
		void *arg);

/* As netlink_dump(), for all links, without their counters. */
int netlink_links(struct nl_socket *socket, netlink_each_fn *each, void *arg);
/* Asks for one link, by its number: of a thousand each would else be asked for with all others. -ENODEV: there is none.
 */
int netlink_link(unsigned int ifindex, netlink_each_fn *each, void *arg);

/*
 * Of what kind a link is, as `ip link` takes it: "wireguard"; "" for a device of a driver. To the kernel both tun and
 * tap are "tun": here the latter is "tap". Of IFLA_LINKINFO;
 */
#define NETLINK_KIND_MAX 16
void netlink_kind_in(const struct nlattr *info, char kind[NETLINK_KIND_MAX]);
/* or asked for, of one interface: 0 or -errno. */
int netlink_kind(unsigned int ifindex, char kind[NETLINK_KIND_MAX]);

#endif
