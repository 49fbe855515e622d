/* SPDX-License-Identifier: GPL-2.0-only */
/* Questions to rtnetlink. */
#ifndef BASE_NETLINK_H
#define BASE_NETLINK_H

#include <libmnl/libmnl.h>

/* A socket that gets the messages of these groups (RTMGRP_...; 0: none). Returns 0, or -errno with the reason recorded.
 */
int netlink_open(struct mnl_socket **socket, int flags, unsigned int groups);

/*
 * Asks for all objects of a kind, of every family (RTM_GETADDR and the like; `header` is the size of its header), and
 * calls `each` for every one. Returns 0 or -errno.
 */
typedef void netlink_each_fn(void *arg, const struct nlmsghdr *message);
int netlink_dump(struct mnl_socket *socket, uint16_t kind, size_t header, netlink_each_fn *each, void *arg);

#endif
